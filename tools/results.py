#!/usr/bin/env python3
"""results.py - copies what tools/evidence.py measured to results/, and makes the archive of former results.

    results.py collect EVIDENCE DEVICE [OUT]    EVIDENCE is evidence.py's OUT or a copy of it, which OUT then names; DEVICE is a
                                                folder of results/, say h200. What was not measured stays as it was.
    results.py archive FILE.tar.xz              results/ of commit 2b9a2ab5, as results/README.md describes it
"""
import gzip
import hashlib
import json
import lzma
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
WHOLE_RUNS = ("mission", "long", "suite-mission", "suite-mission-contiguous", "suite-decode")  # Tests and examples read these.
RECORDED = ("spaces", "kernels", "mission")  # The recorded device answers with the candidates of these runs.
KINDS = {"fp8-": "fp8-rivals", "sanitize-": "sanitize"}  # Documents that go into a folder.
ARCHIVED = "2b9a2ab5"


def without_checksum(line):
    return re.sub(r',"crc":"[0-9a-f]{8}"}$', "}", line)


def named(line, folder):
    """Names warm starts as seen from the evidence's folder; a line that changes loses its checksum."""
    changed = line.replace(folder, "")
    return line if changed == line else without_checksum(changed)


def journal(run, folder):
    with gzip.open(run / "journal.jsonl.gz", "rt") as lines:
        return [named(line, folder) for line in lines]


def write_journal(target, lines):
    with open(target, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
        packed.writelines(line.encode() for line in lines)


def collect_recording(evidence, device, folder):
    """Writes the recorded device: the last run's journal, whose header and final phase count, behind the candidates of the others.

    Its lines have no checksums, because tests and users edit copies of it.
    """
    *others, last = (journal(evidence / name, folder) for name in RECORDED)
    candidates = [line for lines in others for line in lines if line.startswith('{"t":"candidate"')]
    lines = map(without_checksum, (last[0], *candidates, *last[1:]))
    write_journal(ROOT / f"configs/recorded/{device}-mission.jsonl.gz", lines)


def collect_run(run, results, device, folder):
    name, target = run.name, results / run.name
    if (run / "suite.json").exists():
        shutil.copy(run / "suite.json", results / f"{name}.json")
    if name not in (*WHOLE_RUNS, "kernels"):
        return
    target.mkdir(parents=True, exist_ok=True)
    best = (run / "best.json").read_text().replace(folder, "")
    (target / "best.json").write_text(best)
    (target / "command.txt").write_text(json.loads(best)["command"] + "\n")
    if name not in WHOLE_RUNS:
        return
    write_journal(target / "journal.jsonl.gz", journal(run, folder))
    lines = [line.rstrip().replace(f" {name}/", f" runs/{name}/") for line in run.with_suffix(".txt").read_text().splitlines()]
    (target / "report.txt").write_text("\n".join(lines) + "\n")


def collect(evidence, device, out=None):
    evidence, results = pathlib.Path(evidence), ROOT / "results" / device
    folder = (out or str(evidence.resolve())).rstrip("/") + "/"
    for best in sorted(evidence.glob("*/best.json")):
        if not best.parent.name.startswith("seed-"):
            collect_run(best.parent, results, device, folder)
    if all((evidence / name).exists() for name in RECORDED):
        collect_recording(evidence, device, folder)
    for document in sorted(evidence.glob("*.json")):
        kind = next((kind for kind in KINDS if document.name.startswith(kind)), None)
        if document.name.endswith(".bench.json") or document.name == "winners.json":
            continue
        target = results / KINDS[kind] / document.name.removeprefix(kind) if kind else results / document.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(document, target)


def archive(file):
    tar = subprocess.run(["git", "-C", ROOT, "archive", "--format=tar", ARCHIVED, "results"], check=True, capture_output=True).stdout
    with lzma.open(file, "wb") as packed:
        packed.write(tar)
    print(f"{hashlib.sha256(tar).hexdigest()}  results-{ARCHIVED}.tar")


def main():
    commands = {"collect": (collect, (2, 3)), "archive": (archive, (1,))}
    command, counts = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, ()))
    if len(sys.argv) - 2 not in counts:
        sys.exit(__doc__)
    command(*sys.argv[2:])


if __name__ == "__main__":
    main()
