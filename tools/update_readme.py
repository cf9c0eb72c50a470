#!/usr/bin/env python3
"""Fills the measured parts of README.md from results/, between `<!-- begin NAME -->` and `<!-- end NAME -->`.

    update_readme.py            writes README.md
    update_readme.py --check    exit 1 when README.md says something that results/ does not
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "h200"
BACKENDS = {"cudnn": "PyTorch SDPA, cuDNN", "flash": "PyTorch SDPA, FlashAttention-2", "math": "PyTorch SDPA, math"}


def load(*parts):
    return json.loads(RESULTS.joinpath(*parts).read_text())


def peers_of(problem):
    """By backend the lower of its two measurements, before and after ours, in microseconds: {"graph_us": hot, "cold_us"}."""
    shape = [problem["batch"], problem["heads"], problem["seq_q"], problem["head_dim"]]
    found = {}
    for name in ("peers-before.json", "peers-after.json"):
        for row in load(name)["rows"]:
            if row["shape"] != shape or row["dtype"] != "float16" or row["causal"] != (problem["mask"] == "causal"):
                continue
            for backend in BACKENDS:
                kept = found.setdefault(backend, dict(row[backend]))
                for figure in ("graph_us", "cold_us"):
                    kept[figure] = min(kept[figure], row[backend][figure])
    return found


def against_peers(run):
    """Our time with its interval, the fastest of PyTorch's backends, and the ratio."""
    best = load(run, "best.json")
    hot, peers = best["best"]["hot"], peers_of(best["problem"])
    rival = min(BACKENDS, key=lambda name: peers[name]["graph_us"])
    rival_us = peers[rival]["graph_us"]
    low, high = hot["ci95_us"]
    return best, (f"**{hot['median_us']:.2f} µs** (95 % interval {low:.2f} to {high:.2f}), {BACKENDS[rival].split(', ')[1]} in PyTorch's SDPA "
                  f"{rival_us:.2f} µs: {hot['median_us'] / rival_us:.2f} of its time")


def headline():
    mission, short = against_peers("mission")
    _, long = against_peers("long")
    day = (RESULTS / "date.txt").read_text().strip()
    return (f"> Attention in f16 on one {mission['device']['name']}, hot. Batch 4, 8 heads, 512 tokens, head dim 64: {short}. Batch 1, 8 heads, 4096 tokens: {long}.\n"
            f"> Measured {day}, driver {mission['device']['driver']}, by `{mission['command']}` ([results/h200](results/h200)); PyTorch's figures, "
            "the fastest of its backends, by PyTorch itself in the same run, in graphs of 20 launches, the lower of one before and one after.")


def sweep():
    lines = (RESULTS / "mission" / "report.txt").read_text().splitlines()
    cut = [line if len(line) <= 132 else line[:131] + "…" for line in lines]
    return "```\n$ ./fatune sweep --shape 4,8,512,64\n" + "\n".join(cut) + "\n```"


def table():
    best = load("kernels", "best.json")
    peers = peers_of(best["problem"])
    rows, seen = [], set()
    for row in [best["best"], *best["finalists"], *best["baselines"]]:
        name = row.get("kernel") if row["impl"].startswith("fatune:") else row["impl"]
        if row.get("role") == "default" or name in seen or "hot" not in row:
            continue
        seen.add(name)
        low, high = row["hot"]["ci95_us"]
        rows.append((row["hot"]["median_us"], f"`{name}`", f"{low:.2f} to {high:.2f}", f"{row['cold']['median_us']:.1f}", "fatune"))
    for backend, name in BACKENDS.items():
        rows.append((peers[backend]["graph_us"], name, "", f"{peers[backend]['cold_us']:.1f}", "PyTorch"))
    text = ["| implementation | hot, µs | 95 % interval | cold, µs | measured by |", "|---|---:|---|---:|---|"]
    text += [f"| {name} | {hot:.2f} | {interval} | {cold} | {by} |" for hot, name, interval, cold, by in sorted(rows)]
    text.append("")
    text.append(f"4,8,512,64, f16, full mask, one {best['device']['name']}, one run: each kernel's best config of its whole space, by\n`{best['command']}`\n"
                "([results/h200/kernels](results/h200/kernels); the journal is the recorded device, `configs/recorded/h200-mission.jsonl.gz`), "
                "and PyTorch's backends, the lower of a measurement [before](results/h200/peers-before.json) and one [after](results/h200/peers-after.json).\nBoth hot columns are medians over replays of CUDA graphs of back-to-back launches; cold ones are single launches after an L2 flush.")
    return "\n".join(text)


def main():
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, make in (("headline", headline), ("sweep", sweep), ("table", table)):
        block = f"<!-- begin {name} -->\n{make()}\n<!-- end {name} -->"
        text, found = re.subn(rf"<!-- begin {name} -->.*?<!-- end {name} -->", lambda _: block, text, flags=re.S)
        if found != 1:
            sys.exit(f"README.md: no block {name}")
    if "--check" not in sys.argv:
        readme.write_text(text)
    elif text != readme.read_text():
        sys.exit("README.md is stale: run tools/update_readme.py")


if __name__ == "__main__":
    main()
