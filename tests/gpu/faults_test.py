#!/usr/bin/env python3
"""faults_test.py: Checks that its gate catches each faulty kernel and honest kernels pass.

    faults_test.py --fatune PATH [--out selftest.json]
"""
import json
import pathlib

from gpu_support import Checks, arguments, run_json

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"


def fixtures():
    manifest = json.loads((KERNELS / "faults/faults.json").read_text())
    return {fault["value"]: fault for fault in manifest["parameters"][0]["values"]}


def main():
    args = arguments(__doc__.splitlines()[0], out="write the result as JSON")
    checks = Checks()
    code, document, stderr = run_json(args.fatune, "verify", "--selftest")
    checks.expect(code == 0, f"the self-test ended with {code}: {stderr[-2000:]}")
    rows = {row["kernel"]: row for row in (document or {}).get("rows", [])}
    for name, fault in fixtures().items():
        row = rows.get(name, {"outcome": "absent", "reason": "", "gate": "", "caught": False})
        checks.expect(row["caught"] or row["outcome"] == "not_run",
                      f"{name}: {row['outcome']} ({row['reason']}), expected {fault['outcome']} from {fault['gate']}")
        print(f"{name:28} {row['gate']:14} {row['outcome']:14} {row['reason'][:90]}")
    for row in (document or {}).get("honest", []):
        checks.expect(row["passed"] or row["outcome"] == "not_run", f"{row['kernel']}: {row['outcome']} ({row.get('reason')})")
    if args.out and document:
        pathlib.Path(args.out).write_text(json.dumps(document, indent=2) + "\n")
    checks.finish()


if __name__ == "__main__":
    main()
