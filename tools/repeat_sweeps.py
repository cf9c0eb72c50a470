#!/usr/bin/env python3
"""How often a sweep of few candidates finds the best of a whole space: sweeps on recorded journals, each with another seed.

    repeat_sweeps.py FATUNE NAME=JOURNAL... [--budget N|default] [--repeats N] [--noise SHARE] [--out FILE]     JOURNAL: of a sweep with --strategy exhaustive, relative to the project

Needs no GPU. Kernels, shape and mask are those of the journal but for baselines of our own; nothing known starts the search. With --noise each
candidate's time is off by a share that is drawn anew for each sweep, with this standard deviation. What a sweep finds is the best of its eight
fastest, the finalists, by the times without noise. Writes `fatune.sweeps/1` to FILE or stdout.
"""
import argparse
import gzip
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Those that the whole spaces of all problems have; the recordings say fa_wgmma for the last two.
KERNELS = ("fa_mma", "fa_wgmma", "fa_wgmma_interleaved")
FINALISTS = 8  # of a final phase, at least


def lines_of(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as lines:
        return [json.loads(line) for line in lines]


def times_of(lines):
    """Hot medians of correct candidates of KERNELS by their ids, in microseconds."""
    return {line["id"]: line["hot"]["median_us"] for line in lines if line.get("outcome") == "measured" and "spent" in line and line["kernel"] in KERNELS}


def write_noisy(lines, noise, seed, path):
    """A journal whose candidates take longer or less long than they do; a line that changes has no checksum any more."""
    rng = random.Random(seed)
    with open(path, "w") as out:
        for line in lines:
            if "hot" in line:
                factor = math.exp(rng.gauss(0, noise))
                hot = {name: [each * factor for each in value] if name in ("ci95_us", "iqr_us") else value * factor if name in ("median_us", "min_us") else value
                       for name, value in line["hot"].items()}
                line = {name: value for name, value in line.items() if name != "crc"} | {"hot": hot}
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


def options_of(problem):
    shape = ",".join(str(problem[name]) for name in ("batch", "heads", "seq_q", "head_dim"))
    return ["--shape", shape, "--dtype", problem["dtype"], *(["--causal"] if problem["mask"] == "causal" else []),
            *(["--layout", problem["layout"]] if "layout" in problem else [])]


def one_sweep(fatune, journal, options, out):
    """Its candidates' times, and how many it tried."""
    command = [fatune, "sweep", *options, "--device", f"recorded:{journal}", "--out", out, "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    lines = lines_of(pathlib.Path(out) / "journal.jsonl")
    return times_of(lines), sum(line.get("t") == "candidate" for line in lines)


def repeat(fatune, name, journal, budget, repeats, noise):
    path = ROOT / journal
    lines = lines_of(path)
    times = times_of(lines)
    problem = lines[0]["plan"]["problems"][0]["problem"]
    options = [*options_of(problem), "--kernel", ",".join(KERNELS), "--baselines", "none", "--no-warm-start", *([] if budget == "default" else ["--budget", budget])]
    best = min(times.values())
    ratios, tried = [], []
    for seed in range(1, repeats + 1):
        with tempfile.TemporaryDirectory() as folder:
            recorded = path
            if noise:
                recorded = f"{folder}/noisy.jsonl"
                write_noisy(lines, noise, seed, recorded)
            found, evaluations = one_sweep(fatune, recorded, [*options, "--seed", str(seed)], f"{folder}/run")
            finalists = sorted(found, key=found.get)[:FINALISTS]
            ratios.append(min(times[each] for each in finalists) / best)
            tried.append(evaluations)
    ratios.sort()
    return {"problem": name, "journal": journal, **({"noise": noise} if noise else {}), "command": " ".join(["fatune", "sweep", *options, "--device", f"recorded:{journal}", "--seed", f"1..{repeats}"]), "best_us": best,
            "repeats": repeats, "mean": sum(ratios) / repeats, "within1": sum(ratio <= 1.01 for ratio in ratios) / repeats, "within2": sum(ratio <= 1.02 for ratio in ratios) / repeats, "evaluations": sum(tried) / repeats, "median": ratios[repeats // 2], "worst": ratios[-1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fatune")
    parser.add_argument("journals", nargs="+", metavar="NAME=JOURNAL")
    parser.add_argument("--budget", default="60")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--noise", type=float, default=0)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    rows = [repeat(args.fatune, *word.split("=", 1), args.budget, args.repeats, args.noise) for word in args.journals]
    text = json.dumps({"schema": "fatune.sweeps/1", "budget": args.budget if args.budget == "default" else int(args.budget), "rows": rows}, indent=2) + "\n"
    args.out.write_text(text) if args.out else print(text, end="")


if __name__ == "__main__":
    main()
