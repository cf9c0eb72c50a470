#!/usr/bin/env python3
"""Runs the command-line cases beside this file and compares their output exactly.

    run_golden.py --fatune PATH [--approve] [NAME ...]

A case is `cases/NAME.case`: the shell line after `$ `, the exit code, then what stdout and stderr have. The line runs in an
empty folder with an empty cache and without colours; `$DATA` is tests/data and `$FAKE` this folder. What differs from run to
run is replaced before the comparison: the folder by `.`, durations, dates and the version of fatune. JSON that fits into a
line is written into one. --approve writes what was printed.
Each case is a ctest of its own, "golden: NAME". Exit code 77 is a skip: the
cases NAME_without_driver need a machine without one.
"""
import argparse
import concurrent.futures
import ctypes
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
REPLACEMENTS = [
    (re.compile(r"\d{8}-\d{6}"), "DATE-TIME"),
    (re.compile(r"\b\d+(\.\d+)? (s|ms|min \d\d s)\b(?! limit)"), "TIME"),
    (re.compile(r'"(seconds|gpu_waited_s|at_s)": ?[0-9.e+-]+'), r'"\1": TIME'),
    (re.compile(r"fatune \d+\.\d+\.\d+"), "fatune VERSION"),
    (re.compile(r'(?m)^(\.TH \S+ 1) "\d{4}-\d\d-\d\d"'), r'\1 "DATE"'),
    (re.compile(r'"fatune": "\d+\.\d+\.\d+"'), '"fatune": "VERSION"'),
    (re.compile(r'("name":"fatune","version":)"\d+\.\d+\.\d+"'), r'\1"VERSION"'),
]


OPENED = re.compile(r'\s*("[^"]*": )?[\[{]')
COLUMNS = 100


def line_of(case):
    return case.read_text().splitlines()[0].removeprefix("$ ")


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def normalise(text, folder, extra):
    for path, name in extra:
        text = text.replace(path, name)
    text = text.replace(str(folder), ".")
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def folded(text):
    """Fills the lines of JSON objects and lists, and joins each that fits into a line."""
    lines, begun = [], []
    for line in text.splitlines():
        if OPENED.fullmatch(line):
            begun.append(len(lines))
        elif line.strip(" ,") in ("}", "]") and begun:
            first = begun.pop()
            joined = " ".join([lines[first], *map(str.strip, lines[first + 1:] + [line])])
            if len(joined) <= COLUMNS:
                del lines[first:]
                line = joined
        if begun and begun[-1] < len(lines) - 1 and follows(lines[-1], line):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)


def follows(before, line):
    """Whether a line of JSON has room behind the one before it."""
    alone = before.strip() in ("},", "],") or OPENED.fullmatch(line)
    return before.endswith(",") and not alone and len(before) + 1 + len(line.strip()) <= COLUMNS


def run(line, fatune):
    with tempfile.TemporaryDirectory() as folder:
        env = {
            "PATH": f"{pathlib.Path(fatune).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": folder, "XDG_CACHE_HOME": folder + "/cache", "NO_COLOR": "1", "COLUMNS": "80", "LC_ALL": "C.UTF-8",
            "DATA": str(HERE.parent / "data"), "FAKE": str(HERE),
        }
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, check=False)
        names = [(env["DATA"], "$DATA"), (str(HERE.parent.parent), "$SOURCE")]
        text = f"$ {line}\nexit {done.returncode}\n"
        for name, said in (("stdout", folded(normalise(done.stdout, folder, names))),
                           ("stderr", normalise(done.stderr, folder, names))):
            text += f"--- {name}\n{said}\n" if said else ""
        return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    parser.add_argument("--approve", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    cases = sorted((HERE / "cases").glob("*.case"))
    cases = [case for case in cases if not args.names or case.stem in args.names]
    if not cases:
        sys.exit("no case of that name")
    if has_driver():  # without a driver the system words these messages
        cases = [case for case in cases if not case.stem.endswith("_without_driver")]
    if not cases:
        print("skipped: there is a driver here")
        sys.exit(SKIPPED)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(lambda case: run(line_of(case), os.path.abspath(args.fatune)), cases))
    failed = 0
    for case, got in zip(cases, outputs):
        expected = case.read_text()
        if got == expected:
            continue
        if args.approve:
            case.write_text(got)
            print("approved", case.stem)
            continue
        failed += 1
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), got.splitlines(True), f"{case.name} expected", "got"))
    print(f"{len(cases)} cases, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
