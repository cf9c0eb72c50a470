#!/usr/bin/env python3
"""Sweeps over every kernel that misbehaves, with one honest kernel among them: each must get its own outcome.

    faults_test.py --fatune PATH [--out faults.json]
"""
import json
import pathlib
import tempfile

from gpu_support import Checks, arguments, run_json

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
HONEST = "fa_rows"


def expectations():
    found = {}
    for path in sorted((KERNELS / "faults").glob("*.json")):
        manifest = json.loads(path.read_text())
        if manifest.get("role") == "fault":
            found[manifest["name"]] = manifest["expected_outcome"]
    return found


def outcomes(journal):
    """Outcome and reason by kernel, the first candidate of each."""
    found = {}
    for line in journal.read_text().splitlines():
        record = json.loads(line)
        if record.get("t") == "candidate":
            found.setdefault(record["kernel"], (record["outcome"], record.get("reason", "")))
    return found


def main():
    args = arguments(__doc__.splitlines()[0], out="write the table as JSON")
    expected = expectations()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        words = ["sweep", "--shape", "1,2,128,64", "--kernel", ",".join([*expected, HONEST]), "--budget", str(2 * len(expected) + 8),
                 "--out", str(run)]
        code, best, stderr = run_json(args.fatune, *words)
        checks.expect(code == 0, f"the sweep ended with {code}, not 0: {stderr[-2000:]}")
        seen = outcomes(run / "journal.jsonl")
    rows = []
    for kernel, wanted in [*expected.items(), (HONEST, "measured")]:
        outcome, reason = seen.get(kernel, ("absent", ""))
        checks.expect(outcome == wanted, f"{kernel}: {outcome} ({reason}), expected {wanted}")
        rows.append({"kernel": kernel, "expected": wanted, "outcome": outcome, "reason": reason, "right": outcome == wanted})
        print(f"{kernel:28} {outcome:14} {reason[:90]}")
    if args.out:
        document = {"schema": "fatune.faults/1", "command": "fatune " + " ".join(words[:-2]),
                    "device": (best or {}).get("device"), "rows": rows}
        pathlib.Path(args.out).write_text(json.dumps(document, indent=2) + "\n")
    checks.finish()


if __name__ == "__main__":
    main()
