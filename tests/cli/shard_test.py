#!/usr/bin/env python3
"""Sweeps a suite whole and in shards on a recorded device, kills shards midway, merges, and compares.

    shard_test.py --fatune PATH [--seed S]

The test starts 1, 2 and 4 shards of the decoding suite side by side, as a scheduler would. They must merge to the best.json of one
run (but for seconds), with the same candidates and finals in the journal. One sweep on two and three devices must do so, too;
its journal has the problems in turns. A shard that is killed again and again, and resumed, changes nothing; nor do kills of a sweep on
several devices, resumed on several or on one. Everything runs on this machine's processor: no GPU takes part.
"""
import argparse
import difflib
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results/h200/suite-decode"
SWEEP = ["sweep", "--suite", "decode", "--no-warm-start", "--budget", "20", "--device", f"recorded:{RESULTS}", "--quiet"]
SECONDS = re.compile(r'"(seconds|gpu_waited_s|at_s)": ?[0-9.e+-]+')


class Broken(Exception):
    pass


def want(held, what):
    if not held:
        raise Broken(what)


def fatune(program, words, **variables):
    return subprocess.Popen([program, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "NO_COLOR": "1", **variables})


def finish(process, code=0):
    """stderr of the finished process."""
    try:
        _, said = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Broken(f"it did not end within 600 s: {process.communicate()[1]}") from None
    want(process.returncode == code, f"exit {process.returncode} in place of {code}: {said}")
    return said


def until(condition, what, limit=60):
    """Waits until the condition is true, and returns its value."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise Broken(f"{what}: not within {limit} s")


def run_test(main):
    """Prints a failed expectation and makes the exit code 1."""
    try:
        main()
    except Broken as broken:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {broken}")


def best_of(folder):
    best = json.loads((folder / "best.json").read_text())
    for when in ("ranks", "fleet"):
        best.pop(when, None)
    return SECONDS.sub(r'"\1": 0', json.dumps(best, indent=2))


def results_of(folder):
    """Results in the journal, in order and without times of day.

    A kill between the records of a final phase has the phase written again: its last records count.
    """
    kept, contestants = [], []
    for line in (folder / "journal.jsonl").read_text().splitlines()[1:]:
        record = json.loads(line)
        if record["t"] not in ("candidate", "final"):
            continue
        kept.append(json.dumps({k: v for k, v in record.items() if k not in ("at_s", "spent", "crc")}))
        contestants.append(json.dumps([record.get(k) for k in ("problem", "impl", "role", "id")]) if record["t"] == "final" else None)
    return [text for i, (text, who) in enumerate(zip(kept, contestants)) if who is None or who not in contestants[i + 1:]]


def by_problem(results):
    """Results grouped by problem, each in order, because several devices take turns."""
    return sorted(results, key=lambda text: json.dumps(json.loads(text)["problem"], sort_keys=True))


def sweep_in_shards(program, of, folder):
    """Starts shards like a Slurm array: all at once, distinguished by their variables only."""
    runs = [folder / f"of-{of}-{task}" for task in range(of)]
    shard = "auto" if of > 1 else "auto/1"
    processes = [fatune(program, [*SWEEP, "--shard", shard, "--out", run], SLURM_ARRAY_TASK_ID=str(task),
                        SLURM_ARRAY_TASK_COUNT=str(of), SLURM_ARRAY_TASK_MIN="0") for task, run in enumerate(runs)]
    for process in processes:
        finish(process)
    return runs


def difference(lines, expected):
    """First differing lines, shortened."""
    changed = difflib.unified_diff(expected, lines, lineterm="", n=0)
    return "\n".join(line[:300] for line in itertools.islice(changed, 12))


def check_same(run, expected, order=list):
    said = difference(best_of(run).splitlines(), best_of(expected).splitlines())
    want(not said, f"{run.name}: best.json differs from that of one run:\n{said}")
    said = difference(order(results_of(run)), order(results_of(expected)))
    want(not said, f"{run.name}: the journal's results differ from those of one run:\n{said}")


def check_merge(program, runs, merged, expected):
    finish(fatune(program, ["merge", *runs, "--out", merged]))
    check_same(merged, expected)


def records_in(journals):
    return sum(journal.read_bytes().count(b"\n") for journal in journals)


def wait_for_records(process, folder, journals, records):
    """Waits until the journals have this many records, or the sweep has ended."""
    while process.poll() is None and records_in(folder.glob(journals)) < records:
        time.sleep(0.005)


def kill_after(process, folder, journals, records):
    """Kills the sweep once its journals have this many records. Returns whether it still ran."""
    wait_for_records(process, folder, journals, records)
    process.kill()
    return process.wait() < 0


def kill_and_resume(program, run, records, chance):
    """Kills and resumes a sweep of this many records until it ends. Returns the number of kills.

    A candidate that is on the device at two kills counts as crashed: between two of them a few records are written.
    """
    kills, least = 0, 0
    while True:
        again = (run / "journal.jsonl").exists()
        words = ["resume", run, *SWEEP[-3:]] if again else [*SWEEP, "--shard", "2/4", "--out", run]
        process = fatune(program, words)
        if kills < 6:
            there = records_in(run.glob("journal.jsonl"))
            kills += kill_after(process, run, "journal.jsonl", there + least + chance.randrange(records // 6))
            least = 4
        if process.wait() == 0:
            return kills
        if process.returncode < 0:
            continue
        # A sweep ends only if its header was cut off, that is, before any measurement.
        said = process.stderr.read()
        want("header is cut off" in said, f"exit {process.returncode}: {said}")
        (run / "journal.jsonl").unlink()


def interrupt(program, folder):
    """Interrupts a sweep and resumes it with the printed command. Returns the finished run."""
    for attempt in range(5):  # the sweep may end before the signal
        run = folder / f"interrupted-{attempt}"
        process = fatune(program, [*SWEEP, "--shard", "1/1", "--out", run])
        wait_for_records(process, run, "journal.jsonl", 3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=600)
        if process.returncode == 0:
            continue
        command = re.search(r"continue with: fatune (.*)", said)
        want(process.returncode == 130 and command, f"interrupted, it does not say how it goes on: {said}")
        finish(fatune(program, shlex.split(command[1])))
        return run
    raise Broken("no sweep was interrupted")


def on_devices(recordings, out):
    words = [*SWEEP, "--out", out]
    words[words.index("--device") + 1] = ",".join(f"recorded:{each}" for each in recordings)
    return words


def children_of(process):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in listed.stdout.split()]


def resume_on(recordings, out, *words):
    return ["resume", out, "--device", ",".join(f"recorded:{each}" for each in recordings), *words]


def sweep_on_several_devices(program, folder, expected, chance):
    for count in (2, 3):
        finish(fatune(program, on_devices([RESULTS] * count, folder / f"devices-{count}")))
        check_same(folder / f"devices-{count}", expected, by_problem)
    records, all_kills = records_in([folder / "devices-2/journal.jsonl"]), 0
    for goes_on in (1, 2, 3):
        out = folder / f"killed-goes-on-with-{goes_on}"
        process = fatune(program, on_devices([RESULTS] * 2, out))
        kills = int(kill_after(process, out, "journal.jsonl", 2 + chance.randrange(records - 2)))
        all_kills += kills
        for _ in range(kills * 2):
            process = fatune(program, resume_on([RESULTS] * goes_on, out))
            there = records_in(out.glob("journal.jsonl"))
            kill_after(process, out, "journal.jsonl", there + 4 + chance.randrange(records // 6))
        finish(fatune(program, resume_on([RESULTS] * goes_on, out)))
        check_same(out, expected, by_problem)
    want(all_kills, "no kill of a sweep on two devices came before its end")
    said = finish(fatune(program, on_devices([RESULTS] * 2, out)), 4)
    want("holds a journal already" in said, f"a second run in its folder: {said}")


def sweep_in_one_folder(program, folder):
    """A second sweep refuses the first one's folder, and `resume` an option that would change the plan."""
    out = folder / "devices-shared"
    command = on_devices([RESULTS] * 2, out)
    process = fatune(program, command)
    wait_for_records(process, out, "journal.jsonl", 1)
    want(process.poll() is None, "it ended before a second sweep could begin")
    process.send_signal(signal.SIGSTOP)
    said = finish(fatune(program, command), 4)
    want("another sweep is writing into this folder" in said, f"two sweeps in one folder: {said}")
    process.kill()
    process.wait()
    said = finish(fatune(program, resume_on([RESULTS] * 2, out, "--seed", "7")), 2)
    want("--seed is an option of" in said, f"another plan in its folder: {said}")


def sweep_at_once_without_out(program, folder):
    words = on_devices([RESULTS] * 2, folder)
    at = words.index("--out")
    del words[at:at + 2]
    processes = [fatune("env", ["-C", folder, program, *words]) for _ in range(2)]
    while len(runs := list((folder / "runs").glob("*"))) < 2:
        want(all(each.poll() is None for each in processes), "two sweeps without --out are not in two folders")
        time.sleep(0.02)
    for process in processes:
        process.kill()
        process.wait()
    want(len(runs) == 2, f"two sweeps without --out: {runs}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (one,) = sweep_in_shards(args.fatune, 1, folder)
        for of in (2, 4):
            check_merge(args.fatune, sweep_in_shards(args.fatune, of, folder), folder / f"merged-{of}", one)
        runs = [folder / f"of-4-{task}" for task in range(4)]
        records = records_in([runs[1] / "journal.jsonl"])
        kills = kill_and_resume(args.fatune, folder / "killed", records, random.Random(args.seed))
        want(kills, "no kill of a shard came before its end")
        runs[1] = folder / "killed"
        check_merge(args.fatune, runs, folder / "merged-killed", one)
        check_same(interrupt(args.fatune, folder), one)
        # After the loss of a shard, the other shards are merged, and a sweep of the merged run completes it.
        finish(fatune(args.fatune, ["merge", *runs[:1], *runs[2:], "--partial", "--out", folder / "part"]))
        finish(fatune(args.fatune, ["resume", folder / "part", *SWEEP[-3:]]))
        want(best_of(folder / "part") == best_of(one), "a lost shard, run after the merge, changes the result")
        sweep_on_several_devices(args.fatune, folder, one, random.Random(args.seed))
        sweep_in_one_folder(args.fatune, folder)
        sweep_at_once_without_out(pathlib.Path(args.fatune).resolve(), folder)
        print(f"shards: 1, 2 and 4 merge to one result, 2 and 3 devices find it, too; {kills} kills of a shard change nothing")


if __name__ == "__main__":
    run_test(main)
