#!/usr/bin/env python3
"""sweep_test.py: Checks a small sweep: correct best, consistent numbers, no repetition on resume.

    sweep_test.py --fatune PATH
"""
import json
import pathlib
import tempfile

from gpu_support import Checks, arguments, run_json


def count_candidates(run):
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    return sum(line.get("t") == "candidate" for line in lines)


def main():
    args = arguments(__doc__.splitlines()[0])
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        code, best, stderr = run_json(args.fatune, "sweep", "--shape", "2,4,256,64", "--budget", "24", "--out", str(run), quiet=False)
        checks.expect(code == 0 and best is not None, f"sweep ended with {code}: {stderr[-2000:]}")
        if best is None:
            checks.finish()
        problem = best["problems"][0]
        hot = problem["best"]["hot"]
        checks.expect(best["schema"] == "fatune.best/1", "schema")
        checks.expect(best["recorded"] is False, "recorded must be false on a GPU")
        checks.expect(hot["ci95_us"][0] <= hot["median_us"] <= hot["ci95_us"][1], f"interval around the median: {hot}")
        checks.expect(problem["best"]["verify"]["margin"] < 1, "margin below 1")
        gates = [gate["name"] for gate in problem["best"]["verify"]["gates"]]
        checks.expect("carry_over" in gates, f"the winner leaves the cache to others: {gates}, not run {problem['best']['verify'].get('not_run')}")
        checks.expect("in_layer" not in gates or "; edges: " in stderr, "the edges of the layers' graphs are told")
        checks.expect(problem["gate"]["ratio"] < 1, "faster than the naive reference")
        before = count_candidates(run)
        code, again, stderr = run_json(args.fatune, "resume", str(run))
        checks.expect(code == 0, f"resume ended with {code}: {stderr[-1000:]}")
        checks.expect(count_candidates(run) == before, "a resumed complete run measures nothing again")
    checks.finish()


if __name__ == "__main__":
    main()
