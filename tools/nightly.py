#!/usr/bin/env python3
"""nightly.py - runs the checks that are too slow for each commit and writes build/nightly/nightly.md: step, seconds, result, commit.

    nightly.py [STEP ...]

All steps run, whatever fails; their output goes to build/nightly/STEP.log. Exit code 1: a step failed. With STEPs named only
these run, and the table is printed and not written. The option --parse-alone FOLDER is a part of the step `alone`. It parses
each source of FOLDER/compile_commands.json without the sources that FATUNE_UNITY would put beside it.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "nightly"
# Files of each test program whose tests start threads or processes.
CONCURRENT = {
    "core": ["channel", "child", "interrupt", "line_process", "parallel", "run_program"],
    "search": ["runs"],
    "tune": ["final_phase", "pipeline", "pool", "preparation", "service"],
    "report": ["live_server"],
    "runtime": ["wisdom"],
}


def tsan_tests():
    for wing, files in CONCURRENT.items():
        tags = ",".join(f"[#{name}_test]" for name in files)
        yield f"build/tsan/tests/unit/{wing}/test_{wing} --filenames-as-tags '{tags}'"


STEPS = {
    "asan": ("all unit tests under the address and undefined-behaviour sanitizers",
             ["cmake --preset asan", "cmake --build --preset asan", "ctest --preset asan -L unit"]),
    "tsan": ("concurrent unit tests under the thread sanitizer",
             ["cmake --preset tsan", "cmake --build --preset tsan", *tsan_tests()]),
    "fuzz": ("every reader fuzzed for half an hour under both sanitizers",
             ["cmake --workflow --preset fuzz", "tools/fuzz.py --seconds 1800"]),
    "tidy": ("clang-tidy, each finding an error", ["cmake --workflow --preset tidy"]),
    "alone": ("each source parsed on its own", ["cmake --preset alone", "tools/nightly.py --parse-alone build/alone"]),
    "crash": ("a sweep on the recorded device, killed or with a failing disk 1,000 times",
              ["cmake --preset dev", "cmake --build --preset dev --target fatune fatune_faults",
               "tests/crash/crash_test.py --fatune build/dev/fatune --faults build/dev/tests/crash/libfatune_faults.so "
               "--kills 1000"]),
    "clang": ("the program built by clang", ["cmake --workflow --preset clang"]),
    "portable": ("wheel and archive of the portable build, installed and used",
                 ["tools/wheel.sh", "tests/install/wheel_test.py --build build/portable --venv .deps/wheel",
                  "tests/install/archive_test.py --build build/portable"]),
}


def run_step(name, commands):
    """(seconds, whether all went well)"""
    start = time.monotonic()
    with open(LOGS / f"{name}.log", "w") as log:
        for command in commands:
            print(f"$ {command}", file=log, flush=True)
            if subprocess.run(command, shell=True, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False).returncode != 0:
                return time.monotonic() - start, False
    return time.monotonic() - start, True


def output_of(*command):
    """The first line that it prints. A program that is not here costs its step, not the table of a night."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return f"no {command[0]}"


def table_of(rows, commit):
    lines = ["# Nightly checks", "",
             f"`make nightly` (tools/nightly.py) on {datetime.date.today()}, {os.cpu_count()} processors, {platform.machine()}, "
             f"{output_of('g++', '--version')}, {output_of('clang++', '--version')}.", "",
             "| step | what | seconds | result | commit |", "|---|---|---:|---|---|"]
    lines += [f"| {name} | {STEPS[name][0]} | {seconds:.0f} | {'passed' if good else '**failed**'} | {commit} |"
              for name, seconds, good in rows]
    return "\n".join(lines) + "\n"


def parse(entry):
    done = subprocess.run(entry["command"] + " -fsyntax-only", shell=True, cwd=entry["directory"], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stderr


def parse_alone(folder):
    """Parses each source by itself. Files that the build makes (embedded files, precompiled headers) are left out."""
    entries = json.loads((folder / "compile_commands.json").read_text())
    entries = [entry for entry in entries if pathlib.Path(entry["file"]).is_relative_to(ROOT)
               and not pathlib.Path(entry["file"]).is_relative_to(folder.resolve())]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(parse, entries))
    failed = 0
    for code, errors in results:
        if code != 0:
            failed += 1
            print(errors)
    print(f"{len(entries)} sources, {failed} failed")
    return 1 if failed or not entries else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--parse-alone", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    if args.parse_alone:
        return parse_alone(args.parse_alone)
    for unknown in set(args.steps) - set(STEPS):
        parser.error(f"no step {unknown}: {', '.join(STEPS)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    commit = output_of("git", "describe", "--always", "--dirty", "--abbrev=12")
    rows = []
    for name in args.steps or STEPS:
        seconds, good = run_step(name, STEPS[name][1])
        rows.append((name, seconds, good))
        print(f"nightly: {name}: {seconds:.0f} s, {'passed' if good else f'failed (build/nightly/{name}.log)'}", flush=True)
    table = table_of(rows, commit)
    if args.steps:
        print(table, end="")
    else:
        (LOGS / "nightly.md").write_text(table)
    return 0 if all(good for _, _, good in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
