#!/usr/bin/env python3
"""Copies what tools/evidence.sh measured to where it is committed.

    collect_results.py EVIDENCE DEVICE       EVIDENCE: evidence.sh's OUT; DEVICE: the folder's name below results/, say h200
"""
import json
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = {"mission": "mission", "long": "long", "exhaustive": "kernels"}


def copy_run(source, target, text):
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "best.json", target / "best.json")
    best = json.loads((target / "best.json").read_text())
    (target / "command.txt").write_text(best["command"] + "\n")
    report = text.read_text().replace(str(source), "runs/" + target.name)
    lines = [line.rstrip() for line in report.splitlines()]
    (target / "report.txt").write_text("\n".join("Best:    runs/" + target.name + "/best.json" if line.startswith("Best: ") else
                                                 "Journal: runs/" + target.name + "/journal.jsonl" if line.startswith("Journal: ") else line
                                                 for line in lines) + "\n")


def main():
    evidence, device = pathlib.Path(sys.argv[1]), sys.argv[2]
    results = ROOT / "results" / device
    for run, name in RUNS.items():
        copy_run(evidence / run, results / name, evidence / (run + ".txt"))
        if run != "exhaustive":
            shutil.copy(evidence / run / "journal.jsonl.gz", results / name / "journal.jsonl.gz")
    recorded = ROOT / "configs" / "recorded"
    recorded.mkdir(parents=True, exist_ok=True)
    shutil.copy(evidence / "exhaustive" / "journal.jsonl.gz", recorded / f"{device}-mission.jsonl.gz")
    shutil.copy(evidence / "faults.json", results / "faults.json")
    for note in ("times.txt", "date.txt"):
        shutil.copy(evidence / note, results / note)
    for peers in evidence.glob("peers-*.json"):
        shutil.copy(peers, results / peers.name)


if __name__ == "__main__":
    main()
