#!/usr/bin/env python3
"""Copies what tools/evidence.sh measured to where it is committed; names what it did not measure, which stays as it was.

    collect_results.py EVIDENCE DEVICE [OUT]     EVIDENCE: evidence.sh's OUT, or a copy of it, which then is named, too; DEVICE: the folder's name below results/, say h200
"""
import gzip
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = {"mission": "mission", "long": "long", "exhaustive": "kernels", "suite-mission": "suite-mission", "suite-mission-contiguous": "suite-mission-contiguous", "suite-mission-60": "suite-mission-60",
        "suite-fa3-bshd": "suite-fa3-bshd", "suite-fa3": "suite-fa3", "suite-decode": "suite-decode", "suite-models": "suite-models",
        "suite-fp8": "suite-fp8"}
RUNS |= {f"exhaustive-{name}": f"space-{name}" for name in ("single", "wide", "small", "long", "stress")}
RECORDED = "exhaustive"  # whose journal stands in for a GPU
DOCUMENTS = ["selftest.json", "gate-1.json", "gate-2.json", "gate-tie-1.json", "gate-tie-2.json", "bench-1.json", "bench-2.json", "profile-mission.json",
             "profile-long.json", "profile-hybrid.json", "sanitize.json", "scores.json", "times.txt", "date.txt"]


def copy_journal(source, target, folder):
    """Sources of warm starts are named as seen from the evidence's folder; a line that changes has no checksum any more."""
    with gzip.open(source, "rt") as old, open(target, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as new:
        for line in old:
            named = line.replace(folder, "")
            new.write((line if named == line else re.sub(r',"crc":"[0-9a-f]{8}"}$', "}", named)).encode())


def copy_run(source, target, text, folder):
    target.mkdir(parents=True, exist_ok=True)
    text_of_best = (source / "best.json").read_text()
    (target / "best.json").write_text(text_of_best.replace(folder, ""))
    best = json.loads((target / "best.json").read_text())
    (target / "command.txt").write_text(best["command"] + "\n")
    lines = [line.rstrip().replace(f" {source.name}/", f" runs/{target.name}/") for line in text.read_text().splitlines()]
    (target / "report.txt").write_text("\n".join(lines) + "\n")


def collect_run(source, results, name, device, folder):
    copy_run(source, results / name, source.with_suffix(".txt"), folder)
    journal = ROOT / "configs" / "recorded" / f"{device}-mission.jsonl.gz" if source.name == RECORDED else results / name / "journal.jsonl.gz"
    copy_journal(source / "journal.jsonl.gz", journal, folder)
    if (source / "suite.json").exists():
        shutil.copy(source / "suite.json", results / f"{name}.json")


def main():
    evidence, device = pathlib.Path(sys.argv[1]), sys.argv[2]
    results = ROOT / "results" / device
    folder = sys.argv[3].rstrip("/") + "/" if len(sys.argv) > 3 else str(evidence.resolve()) + "/"
    missing = [run for run in RUNS if not (evidence / run / "best.json").exists()] + [document for document in DOCUMENTS if not (evidence / document).exists()]
    for run in RUNS:
        if run not in missing:
            collect_run(evidence / run, results, RUNS[run], device, folder)
    for document in DOCUMENTS:
        if document not in missing:
            shutil.copy(evidence / document, results / document)
    for suite in sorted(evidence.glob("suite-mission-60-*/suite.json")):
        shutil.copy(suite, results / f"{suite.parent.name}.json")
    for kind in ("sanitize", "optimum"):
        (results / kind).mkdir(exist_ok=True)
        for verdict in sorted(evidence.glob(f"{kind}-*.json")):
            shutil.copy(verdict, results / kind / verdict.name.removeprefix(f"{kind}-"))
    if missing:
        print("not measured this time: " + ", ".join(missing))


if __name__ == "__main__":
    main()