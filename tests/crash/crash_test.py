#!/usr/bin/env python3
"""Kills a sweep, or lets its disk fail, at random instants and file operations; resumes it; checks what it kept.

    crash_test.py --fatune PATH --faults libfatune_faults.so [--kills N] [--seed S]

A run on the recorded device is ended again and again until it comes to its end. The checker shares no code with fatune: it
reads the journal by its description (docs/journal.md). Nothing that was journalled may be lost or stand twice, and checksums must
fit. Results and the best config must be those of an undisturbed run. Every error is one sentence that names a file, with exit
code 4. The last line is a summary. Exit code 1: something did not hold.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

SWEEP = ["--shape", "4,8,512,64", "--no-warm-start", "--kernel", "fa_wmma,fa_rows", "--strategy", "random", "--quiet"]
OPERATION_KINDS = ["kill-before", "kill-after", "kill-within"]
DISK_KINDS = ["enospc", "enospc-half", "enospc-on", "eio"]
HARMLESS_KINDS = ["eintr", "clock"]
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP, "SIGINT": signal.SIGINT}
KINDS = [*SIGNALS, *OPERATION_KINDS, *DISK_KINDS, *HARMLESS_KINDS, "second writer"]


class Broken(Exception):
    pass


def want(held, what):
    if not held:
        raise Broken(what)


def lines_of(journal):
    """The whole lines; a last one without its end is a crash's trace."""
    data = journal.read_bytes() if journal.exists() else b""
    return data.split(b"\n")[:-1]


def read(journal):
    records = []
    for number, line in enumerate(lines_of(journal), 1):
        record = json.loads(line)
        body, crc = line[:-len(b',"crc":"01234567"}')] + b"}", record.pop("crc")
        want(f"{zlib.crc32(body):08x}" == crc, f"line {number}: the checksum does not fit")
        want(number == 1 or "t" in record, f"line {number}: is no record")
        records.append(record)
    return records


def results(records):
    """By key: what was found out. No key twice."""
    found = {}
    for record in records:
        if record.get("t") != "candidate":
            continue
        want(record["key"] not in found, f"{record['key']} stands twice")
        found[record["key"]] = (record["outcome"], record.get("hot", {}).get("median_us"), record.get("cubin"))
    return found


def branded(records):
    """Keys of candidates that are `crashed` since the run ended twice while they were on the device."""
    started = collections.defaultdict(list)
    rightly = set()
    for record in records[1:]:
        if record["t"] == "started":
            started[record["key"]].append(record.get("again", False))
        elif record["t"] == "candidate" and "the run ended twice" in record.get("reason", ""):
            want(started[record["key"]][:2] == [False, True], f"{record['key']} is crashed after {started[record['key']]}")
            rightly.add(record["key"])
    return rightly


def best_of(folder):
    best = json.loads((folder / "best.json").read_text())["problems"][0]["best"]
    return best["kernel"], best["config"], best["hot"]["median_us"]


def is_refused(code, said):
    return code == 4 and ("another sweep" in said or "holds a journal" in said)


class Tester:
    def __init__(self, args, folder):
        self.fatune, self.faults, self.folder = str(args.fatune.resolve()), str(args.faults.resolve()), folder
        self.random = random.Random(args.seed)
        self.sweep = [*SWEEP, "--budget", str(args.budget)]
        self.device = "recorded"
        self.counts = collections.Counter()
        self.operations = 0
        self.seconds = 0.0

    def command(self, run):
        resume = bool(lines_of(run / "journal.jsonl"))
        words = ["resume", str(run), "--quiet"] if resume else ["sweep", *self.sweep, "--out", str(run)]
        return [self.fatune, *words, "--device", self.device]

    def start(self, run, fault=None):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "NO_COLOR": "1"}
        if fault:
            env |= {"LD_PRELOAD": self.faults, "FATUNE_FAULT": f"{fault[0]}:{fault[1]}:{run}"}
        return subprocess.Popen(self.command(run), env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def undisturbed(self):
        """Makes the expected result, on a recording of its own, which is short and so quickly read."""
        recording = self.folder / "recording"
        _, said = self.start(recording).communicate(timeout=120)
        want((recording / "best.json").exists(), said)
        self.device = f"recorded:{recording}/journal.jsonl"
        run = self.folder / "undisturbed"
        begin = time.monotonic()
        process = self.start(run, ("count", 0))
        _, said = process.communicate(timeout=120)
        want(process.returncode == 0, said)
        self.seconds = time.monotonic() - begin
        self.operations = int(pathlib.Path(f"{run}.count").read_text())
        self.expected, self.best = results(read(run / "journal.jsonl")), best_of(run)
        want(len(self.expected) >= 8 and self.operations > 30, "the run is too short to be worth killing")

    def without_locks(self):
        """As on some networks' file systems: a warning, and the same run."""
        run = self.folder / "without-locks"
        _, said = self.start(run, ("no-locks", 0)).communicate(timeout=120)
        want("no locks" in said and str(run) in said, f"no warning: {said}")
        self.check_end(run)

    def disturb(self, run):
        """One end of the run, or a fault in it; whether it came to its end all the same."""
        kind = self.random.choice(KINDS)
        number = self.random.randint(1, self.operations)
        self.counts[kind] += 1
        faulty = kind not in SIGNALS and kind != "second writer"
        process = self.start(run, (kind, number) if faulty else None)
        if not faulty:
            try:
                process.wait(self.random.uniform(0, self.seconds))
            except subprocess.TimeoutExpired:
                if kind in SIGNALS:
                    process.send_signal(SIGNALS[kind])
                else:
                    self.write_beside(run, process)
        _, said = process.communicate(timeout=120)
        return self.judge(run, kind, f"{kind} at {number}", process.returncode, said)

    def judge(self, run, kind, where, code, said):
        if code == 0:
            return True
        if kind in DISK_KINDS:
            want(code == 4, f"{where}: exit {code}: {said}")
            want(str(run) in said and said.count("\n") == 1, f"{where}: no sentence that names a file: {said}")
            self.counts["errors with a sentence"] += 1
        elif kind in SIGNALS:  # 130 once there is a handler
            want(code in (130, -SIGNALS[kind]), f"{where}: exit {code}: {said}")
        elif kind == "second writer":  # which was the first to lock
            want(is_refused(code, said), f"{where}: exit {code}: {said}")
        else:
            want(kind in OPERATION_KINDS and code == -signal.SIGKILL, f"{where}: exit {code}: {said}")
        return False

    def write_beside(self, run, process):
        """A second sweep into the folder is refused with words, unless the first has just ended."""
        second = self.start(run)
        _, said = second.communicate(timeout=120)
        if second.returncode == 0:
            process.wait(timeout=120)
            return
        want(is_refused(second.returncode, said), f"second writer: exit {second.returncode}: {said}")

    def one_run(self, run, most):
        """Disturbs a run up to `most` times, then lets it end."""
        journal = run / "journal.jsonl"
        done = 0
        for _ in range(most):
            if journal.exists() and not lines_of(journal):
                journal.unlink()  # not even its header was whole; the message says to remove it
            before = results(read(journal))
            finished = self.disturb(run)
            done += 1
            after = results(read(journal))
            lost = before.keys() - after.keys()
            want(not lost, f"lost: {lost}")
            want(all(after[key] == value for key, value in before.items()), "a result has changed")
            if finished:
                break
        if journal.exists() and not lines_of(journal):
            journal.unlink()
        process = self.start(run)
        _, said = process.communicate(timeout=120)
        want(process.returncode == 0, f"the last resume: exit {process.returncode}: {said}")
        self.check_end(run)
        return done

    def check_end(self, run):
        records = read(run / "journal.jsonl")
        found, rightly = results(records), branded(records)
        self.counts["crashed, after two ends"] += len(rightly)
        want(records[-1].get("status") == "complete", "the run has no end")
        different = {key for key, value in found.items() if self.expected.get(key) != value} - rightly
        if not rightly:
            want(found.keys() == self.expected.keys(), f"other candidates: {found.keys() ^ self.expected.keys()}")
            want(best_of(run) == self.best, f"another best: {best_of(run)}, not {self.best}")
        want(not different or rightly, f"other results: {different}")
        self.counts["runs"] += 1

    def leavings(self):
        return sorted(path.name for path in self.folder.rglob("*.tmp"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", type=pathlib.Path, required=True)
    parser.add_argument("--faults", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--budget", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tester = Tester(args, pathlib.Path(name))
        done = number = 0
        try:
            tester.undisturbed()
            tester.without_locks()
            while done < args.kills:
                number += 1
                run = tester.folder / f"run{number}"
                done += tester.one_run(run, min(6, args.kills - done))
                want(not tester.leavings(), f"temporary files stay: {tester.leavings()}")
                shutil.rmtree(run)
        except Broken as broken:
            kept = pathlib.Path(tempfile.mkdtemp(prefix="crash-")) / f"run{number}"
            if (tester.folder / f"run{number}").exists():
                shutil.copytree(tester.folder / f"run{number}", kept)
            print(f"crash_test: seed {args.seed}, run {number}: {broken}\nits folder is kept: {kept}", file=sys.stderr)
            return 1
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(tester.counts.items()))
        print(f"{done} ends and faults in {number} runs of {args.budget} candidates and {tester.operations} file operations: "
              f"nothing lost, nothing twice, same best ({kinds})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
