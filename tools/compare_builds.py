#!/usr/bin/env python3
"""compare_builds.py - measures the same configs with two builds of fatune, in turns, to a table of ratios.

Usage: compare_builds.py BEFORE AFTER CONFIG... [--turns 4] [--rounds 40] [--problems FROM:TO] [--impl naive]
                         [--limit 1.005] [--out FILE]
BEFORE and AFTER are programs; each CONFIG is a best.json that both can read. A turn is one `bench` of each build, the
order changing from turn to turn (A B B A ...). The time of a problem is the median over turns of the median of rounds.
--problems: only these of each CONFIG, counted from 0. --impl: what else takes part in the rounds.
Exit 1: some problem takes more than --limit times as long after as before.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def part_of(config, problems, folder):
    """A copy of a best.json that holds only problems FROM:TO of it."""
    if not problems:
        return config
    document = json.loads(pathlib.Path(config).read_text())
    document["problems"] = document["problems"][slice(*map(int, problems.split(":")))]
    part = pathlib.Path(folder) / pathlib.Path(config).parent.name / "best.json"
    part.parent.mkdir()
    part.write_text(json.dumps(document))
    return part


def bench(program, config, impl, rounds, out):
    """One `bench` as {problem: hot median in us} of the candidate itself."""
    command = [program, "bench", "--config", config, "--impl", impl, "--rounds", str(rounds), "--quiet", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    times = {}
    for problem in json.loads(pathlib.Path(out).read_text())["problems"]:
        own = [row for row in problem.get("rows", []) if row["impl"].startswith("fatune:") and row.get("hot")]
        name = problem.get("name") or json.dumps(problem["problem"])
        if own:
            times[name] = own[0]["hot"]["median_us"]
    return times


def measure(args):
    """{problem: {"before": [us a turn], "after": [...]}}"""
    programs = {"before": args.before, "after": args.after}
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "bench.json"
        configs = [part_of(config, args.problems, folder) for config in args.config]
        for turn in range(args.turns):
            for which in ("before", "after") if turn % 2 == 0 else ("after", "before"):
                for config in configs:
                    for name, us in bench(programs[which], config, args.impl, args.rounds, out).items():
                        key = f"{pathlib.Path(config).parent.name}/{name}"
                        times.setdefault(key, {"before": [], "after": []})[which].append(us)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("config", nargs="+")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--problems")
    parser.add_argument("--impl", default="naive")
    parser.add_argument("--limit", type=float, default=1.005)
    parser.add_argument("--out")
    args = parser.parse_args()
    times = measure(args)
    print(f"{'problem':34} {'before us':>10} {'after us':>10} {'ratio':>7}")
    worst = 0.0
    for name, each in times.items():
        before, after = statistics.median(each["before"]), statistics.median(each["after"])
        worst = max(worst, after / before)
        print(f"{name:34} {before:10.3f} {after:10.3f} {after / before:7.4f}")
    print(f"worst ratio {worst:.4f}, limit {args.limit}")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(times, indent=1) + "\n")
    return 1 if worst > args.limit else 0


if __name__ == "__main__":
    sys.exit(main())
