#!/usr/bin/env python3
"""Copies what tools/evidence.sh measured to where it is committed.

    collect_results.py EVIDENCE DEVICE       EVIDENCE: evidence.sh's OUT; DEVICE: the folder's name below results/, say h200
"""
import json
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = {"mission": "mission", "long": "long", "exhaustive": "kernels", "suite-mission": "suite-mission", "suite-fa3": "suite-fa3", "suite-decode": "suite-decode"}
RECORDED = "exhaustive"  # whose journal stands in for a GPU
DOCUMENTS = ["selftest.json", "gate-1.json", "gate-2.json", "gate-tie-1.json", "gate-tie-2.json", "bench-1.json", "bench-2.json", "profile-mission.json",
             "profile-long.json", "profile-hybrid.json", "sanitize.json", "times.txt", "date.txt"]


def copy_run(source, target, text):
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "best.json", target / "best.json")
    best = json.loads((target / "best.json").read_text())
    (target / "command.txt").write_text(best["command"] + "\n")
    lines = [line.rstrip().replace(f" {source.name}/", f" runs/{target.name}/") for line in text.read_text().splitlines()]
    (target / "report.txt").write_text("\n".join(lines) + "\n")


def main():
    evidence, device = pathlib.Path(sys.argv[1]), sys.argv[2]
    results = ROOT / "results" / device
    for run, name in RUNS.items():
        copy_run(evidence / run, results / name, evidence / (run + ".txt"))
        journal = ROOT / "configs" / "recorded" / f"{device}-mission.jsonl.gz" if run == RECORDED else results / name / "journal.jsonl.gz"
        shutil.copy(evidence / run / "journal.jsonl.gz", journal)
        if (evidence / run / "suite.json").exists():
            shutil.copy(evidence / run / "suite.json", results / f"{name}.json")
    for document in DOCUMENTS:
        shutil.copy(evidence / document, results / document)


if __name__ == "__main__":
    main()
