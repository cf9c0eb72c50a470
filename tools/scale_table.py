#!/usr/bin/env python3
"""The table of what tools/scale_evidence.sh measured.

    scale_table.py FOLDER
"""
import gzip
import json
import pathlib
import sys


def records_of(run):
    plain, packed = run / "journal.jsonl", run / "journal.jsonl.gz"
    text = plain.read_text() if plain.exists() else gzip.decompress(packed.read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines() if line]


def cost_of(record):
    timing = record.get("in_layer") or record.get("hot")
    return timing["median_us"] if timing and record["outcome"] == "measured" else None


def seconds_to(records, best_us):
    """Until a candidate was within 2 % of best_us; None: none was."""
    near = [record["at_s"] for record in records if (cost_of(record) or 1e9) <= 1.02 * best_us]
    return min(near) if near else None


def candidates_of(run):
    return [record for record in records_of(run) if record.get("t") == "candidate"]


def problem_rows(folder, names):
    """Searches of one problem. Their times are of different GPUs: what is near the best of all may be far from a run's own."""
    runs = {name: candidates_of(folder / name) for name in names if (folder / name / "best.json").exists()}
    if not runs:
        return []
    best_us = min(cost for records in runs.values() for cost in map(cost_of, records) if cost)
    rows = []
    for name, records in runs.items():
        ends = max(record["at_s"] for record in records)
        near = seconds_to(records, best_us)
        own = seconds_to(records, min(filter(None, map(cost_of, records))))
        elsewhere = sum(1 for record in records if "measured_on" in record)
        whole = json.loads((folder / name / "best.json").read_text())["seconds"]
        rows.append(f"| {name} | {len(records)} | {elsewhere} | {ends:.1f} | " +
                    (f"{near:.1f}" if near is not None else "-") + f" | {own:.1f} | {whole:.1f} |")
    return ["| run | candidates | of them on another GPU | search, s | to within 2 % of the best, s | of its own best | whole, s |",
            "|---|---|---|---|---|---|---|", *rows]


def config_of(row):
    return row["kernel"] + " " + " ".join(f"{name}={value}" for name, value in row["config"].items())


def beside(problem, other):
    """How another run's winner did in this one's final phase."""
    if config_of(problem["best"]) == config_of(other["best"]):
        return "same winner"
    own_us = cost_of({**problem["best"], "outcome": "measured"})
    for finalist in problem["finalists"]:
        if finalist["outcome"] == "measured" and config_of(finalist) == config_of(other["best"]):
            return f"another winner; that of one GPU takes {cost_of(finalist) / own_us:.3f} of its time here"
    return "another winner; that of one GPU was no finalist"


def suite_rows(folder):
    """Winners of one GPU, of two and of all, and of the final phases that each GPU had."""
    files = {name: folder / name / "best.json" for name in ("suite-one", "suite-two", "suite-all", "confirm")}
    runs = {name: json.loads(path.read_text()) for name, path in files.items() if path.exists()}
    lines = []
    for name, run in runs.items():
        lines.append(f"{name}: {run['seconds']:.1f} s")
        for worker in run.get("fleet", {}).get("workers", []):
            lines.append(f"  {worker['name']} busy {worker['busy_s']:.1f} s of {run['fleet']['seconds']:.1f}")
    for name in ("suite-two", "suite-all"):
        if "suite-one" in runs and name in runs:
            for one, several in zip(runs["suite-one"]["problems"], runs[name]["problems"]):
                lines.append(f"{name}, {one['name']}: {beside(several, one)}")
    for problem in runs.get("confirm", {}).get("problems", []):
        winner = problem.get("fleet_winner")
        if winner:
            alone = {gpu["winner"] for gpu in winner["gpus"]}
            lines.append(f"{problem['name']}: {len(alone)} winners alone, spread {100 * winner['spread']:.2f} %, "
                         f"worst {winner['worst']:.4f}")
    return lines


def main():
    folder = pathlib.Path(sys.argv[1])
    times = folder / "times.txt"
    if times.exists():
        print(times.read_text())
    print("\n".join(problem_rows(folder, ["problem-one", "problem-one-all-cores", "problem-two", "problem-all"])))
    print("\n".join(problem_rows(folder, ["stress-one", "stress-all"])))
    print("\n".join(problem_rows(folder, ["compile-one", "compile-jobs", "compile-ranks"])))
    print("\n".join(suite_rows(folder)))


if __name__ == "__main__":
    main()
