#!/usr/bin/env python3
"""Sweeps a suite of thousands of problems on a recorded device in one process, watches the process, checks every answer.

    soak_test.py --fatune PATH [--problems N]

The recording is made here: for each problem the configs of `naive`, with times of which one is the fastest. Descriptors, child
processes and temporary files must not become more; memory may grow by what the answer holds of each problem. The journal must
hold every candidate once and best.json the fastest. The last lines are a summary. Exit code 1: something did not hold.
"""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/gpu"))
from gpu_support import recorded_key  # pylint: disable=wrong-import-position
SIZES = [(tile, rows) for tile in (16, 32) for rows in (1, 4, 8)]
MOST_KB_A_PROBLEM = 160  # chosen; 90 were seen: six candidates, six finals, and best.json, which is made in memory


def problem(number):
    """No two the same."""
    return {"batch": 1 + number % 10, "heads": 1 + number // 10 % 10, "kv_heads": 1 + number // 10 % 10,
            "seq_q": 64 + number // 100, "seq_kv": 64 + number // 100, "head_dim": 64, "dtype": "f16", "mask": "none"}


def time_of(number, place):
    return 10.0 + (number * 7 + place * 5) % len(SIZES)


def write_recording(path, problems):
    header, *lines = gzip.decompress((ROOT / "configs/recorded/h200-mission.jsonl.gz").read_bytes()).splitlines()
    header = {key: value for key, value in json.loads(header).items() if key != "crc"}
    record = next(each for each in map(json.loads, lines) if each.get("outcome") == "measured" and each["t"] == "candidate")
    del record["in_layer"]  # Candidates are then ranked by their hot time.
    with path.open("w") as file:
        print(json.dumps(header), file=file)
        for number in range(problems):
            record["problem"] = problem(number)
            for place, (tile, rows) in enumerate(SIZES):
                us = time_of(number, place)
                config = {"TILE": tile, "ROW_WARPS": rows}
                record |= {"id": f"{number:08x}{place:08x}", "key": recorded_key("naive", problem(number), config),
                           "kernel": "naive", "config": config, "cubin": f"{number * 8 + place:064x}"}
                record["hot"] |= {"median_us": us, "iqr_us": [us, us], "min_us": us}
                print(json.dumps(record), file=file)


def write_suite(path, problems):
    rows = []
    for number in range(problems):
        each = problem(number)
        rows.append({"name": f"p{number}", "shape": f"{each['batch']},{each['heads']},{each['seq_q']},64"})
    path.write_text(json.dumps({"schema": "fatune.problems/1", "name": "soak", "summary": "Small", "problems": rows}))


class Watch:
    """Resources of the process, each time with how many problems are done."""

    def __init__(self, process, journal, scratch):
        self.process, self.journal, self.scratch = process, journal, scratch
        self.rows = []
        self.read, self.done = 0, 0

    def problems_done(self):
        if self.journal.exists():
            with self.journal.open("rb") as file:
                file.seek(self.read)
                text = file.read()
            whole = text.rfind(b"\n") + 1
            self.read += whole
            self.done += text[:whole].count(b'"t":"final"') // len(SIZES)
        return self.done

    def look(self):
        own = pathlib.Path("/proc") / str(self.process.pid)
        try:
            kilobytes = int((own / "status").read_text().split("VmRSS:")[1].split()[0])
            children = sum(len((task / "children").read_text().split()) for task in (own / "task").iterdir())
            row = (self.problems_done(), kilobytes, len(list((own / "fd").iterdir())), children, len(list(self.scratch.rglob("*"))))
        except (OSError, IndexError):  # it has ended
            return
        self.rows.append(row)


def check_answers(run, problems):
    faults = []
    keys = set()
    for line in (run / "journal.jsonl").open():
        record = json.loads(line)
        if record.get("t") == "candidate":
            if record["key"] in keys:
                faults.append(f"{record['key']} stands twice")
            keys.add(record["key"])
    if len(keys) != problems * len(SIZES):
        faults.append(f"{len(keys)} candidates, not {problems * len(SIZES)}")
    rows = json.loads((run / "best.json").read_text())["problems"]
    for number, row in enumerate(rows):
        fastest = min(range(len(SIZES)), key=lambda place: time_of(number, place))
        best = row["best"]["config"]
        if (best["TILE"], best["ROW_WARPS"]) != SIZES[fastest]:
            faults.append(f"problem {number}: the best is {best}")
    if len(rows) != problems:
        faults.append(f"best.json has {len(rows)} problems")
    return faults


def check_growth(rows):
    """From a tenth of the problems on: caches are filled, the heap has its pattern."""
    faults = []
    last = rows[-1]
    first = next(row for row in rows if row[0] >= last[0] // 10)
    for place, what in ((2, "descriptors"), (3, "child processes"), (4, "temporary files")):
        most = max(row[place] for row in rows if row[0] >= first[0])
        if most > first[place] + 2:  # best.json and suite.json, while they are written
            faults.append(f"{what}: {first[place]} became {most}")
    grown = (last[1] - first[1]) / max(1, last[0] - first[0])
    if grown > MOST_KB_A_PROBLEM:
        faults.append(f"memory grows by {grown:.0f} kB a problem")
    return faults, grown


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", type=pathlib.Path, required=True)
    parser.add_argument("--problems", type=int, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run, scratch = folder / "run", folder / "scratch"
        scratch.mkdir()
        write_recording(folder / "recording.jsonl", args.problems)
        write_suite(folder / "suite.json", args.problems)
        command = [args.fatune.resolve(), "sweep", "--suite", folder / "suite.json", "--kernel", "naive",
                   "--no-warm-start", "--strategy", "exhaustive", "--objective", "hot", "--baselines", "none",
                   "--device", f"recorded:{folder}/recording.jsonl", "--out", run, "--quiet"]
        environment = {"PATH": os.environ["PATH"], "HOME": name, "TMPDIR": str(scratch), "NO_COLOR": "1"}
        begin = time.monotonic()
        with (folder / "said").open("w+") as said:
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            watch = Watch(process, run / "journal.jsonl", scratch)
            pause = 0.02 if args.problems < 1000 else 1
            while process.poll() is None:
                watch.look()
                time.sleep(pause)
            seconds = time.monotonic() - begin
            said.seek(0)
            if process.returncode != 0:
                sys.exit(f"soak_test: exit {process.returncode}: {said.read()[-2000:]}")
        rows = [row for row in watch.rows if row[0] > 0]
        faults, grown = check_growth(rows)
        faults += check_answers(run, args.problems)
        left = sorted(path.name for path in folder.rglob("*.tmp")) + sorted(path.name for path in scratch.iterdir())
        faults += [f"left behind: {each}" for each in left]
    print(f"{'problems':>10} {'MB':>8} {'descriptors':>12} {'children':>9} {'temporary':>10}")
    for tenth in range(1, 11):
        row = next((row for row in rows if row[0] >= rows[-1][0] * tenth // 10), rows[-1])
        print(f"{row[0]:>10} {row[1] / 1024:>8.1f} {row[2]:>12} {row[3]:>9} {row[4]:>10}")
    print(f"{args.problems} problems, {args.problems * len(SIZES)} candidates in {seconds:.0f} s; {grown:.1f} kB of memory a problem")
    for fault in faults[:20]:
        print(f"soak_test: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
