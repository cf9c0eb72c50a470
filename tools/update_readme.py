#!/usr/bin/env python3
"""Fills the measured parts of README.md from results/, between `<!-- begin NAME -->` and `<!-- end NAME -->`.

    update_readme.py            writes README.md
    update_readme.py --check    exit 1 when README.md says something that results/ does not
"""
import gzip
import json

from filled_page import ROOT, fill

RESULTS = ROOT / "results" / "h200"
NAMES = {"cudnn": "cuDNN, heuristic plan", "cudnn:best": "cuDNN, fastest of its plans", "cublas": "cuBLAS, softmax, cuBLAS",
         "torch:flash": "PyTorch, FlashAttention-2", "torch:cudnn": "PyTorch, cuDNN", "torch:efficient": "PyTorch, efficient",
         "torch:math": "PyTorch, math", "external:fa3": "FlashAttention-3 (external)", "hybrid_qkt": "cuBLAS for QKᵀ, own softmax·V",
         "hybrid_pv": "own softmax(QKᵀ), cuBLAS for ·V"}


def load(*parts):
    return json.loads(RESULTS.joinpath(*parts).read_text())


def against_rival(run):
    """Our time with its interval against the fastest baseline of the same rounds."""
    best = load(run, "best.json")
    hot, gate = best["best"]["hot"], best["gate"]
    rival = next(row for row in best["baselines"] if row["impl"] == gate["baseline"])
    low, high = hot["ci95_us"]
    return best, (f"**{hot['median_us']:.2f} µs** (95 % interval {low:.2f} to {high:.2f}), {NAMES[rival['impl']]} "
                  f"{rival['hot']['median_us']:.2f} µs: {gate['ratio']:.2f} of its time")


def headline():
    mission, short = against_rival("mission")
    _, long = against_rival("long")
    day = (RESULTS / "date.txt").read_text().strip()
    return (f"> Attention in f16 on one {mission['device']['name']}, hot. Batch 4, 8 heads, 512 tokens, head dim 64: {short}. Batch 1, 8 heads, 4096 tokens: {long}.\n"
            f"> Measured {day}, driver {mission['device']['driver']}, by `{mission['command']}` ([results/h200](results/h200)), everybody in the same interleaved rounds.")


def suite_row(row):
    best, rival = row["best"], row["baselines"][row["best_baseline"]]
    low, high = row["ci95"]
    problem = row["problem"]
    shape = ",".join(str(problem[key]) for key in ("batch", "heads", "seq_q", "head_dim"))
    return (f"| {row['name']} | {shape} | `{best['kernel']}` | {best['hot_us']:.2f} | {NAMES[row['best_baseline']]} | {rival['hot_us']:.2f} | "
            f"{row['ratio']:.2f} | {low:.2f} to {high:.2f} | {row['verdict']} |")


def suites():
    mission, fa3 = load("suite-mission.json"), load("suite-fa3.json")
    text = ["| problem | shape | kernel | hot, µs | best of all others | hot, µs | ratio | 95 % interval | verdict |", "|---|---|---|---:|---|---:|---:|---|---|"]
    text += [suite_row(row) for row in mission["rows"]]
    ratios = sorted((row["ratio"], row["name"]) for row in fa3["rows"])
    slower = sum(ratio > 1 for ratio, _ in ratios)
    alone = load("mission", "best.json")["best"]["hot"]["median_us"]
    here = next(row for row in mission["rows"] if row["name"] == "mission")["best"]["hot_us"]
    text += ["", f"Each row is a search of its own, and searches vary: this one of mission ended at {here:.2f} µs, the one above at {alone:.2f}.",
             f"Geometric mean of the ratios: {mission['geomean_ratio']:.2f}. f16, by `{mission['command']}` ([suite-mission.json](results/h200/suite-mission.json)); "
             "the others are cuDNN by two plans, PyTorch's four backends, FlashAttention-3, cuBLAS and two hybrids.",
             f"On the {len(ratios)} problems of FlashAttention-3's table ([suite-fa3.json](results/h200/suite-fa3.json)): {fa3['geomean_ratio']:.2f}, from {ratios[0][0]:.2f} "
             f"(`{ratios[0][1]}`) to {ratios[-1][0]:.2f} (`{ratios[-1][1]}`), {slower} of them above 1, by `{fa3['command']}`."]
    decode = load("suite-decode.json")
    text += [f"Decoding, {len(decode['rows'])} problems of 1 to 16 queries and 4096 to 32768 keys ([suite-decode.json](results/h200/suite-decode.json)): "
             f"{decode['geomean_ratio']:.2f} of the better of cuDNN and PyTorch's flash, by `{decode['command']}`.{without_time(decode)}"]
    return "\n".join(text)


def without_time(suite):
    """Which baselines have no time in some rows, and why, so that nobody takes them for beaten there."""
    reasons = {}
    for row in suite["rows"]:
        for name, baseline in row["baselines"].items():
            if "hot_us" not in baseline:
                reasons.setdefault((NAMES[name], baseline["reason"].split(":")[0]), []).append(baseline["reason"].split(": ", 1)[1].split(",")[0])
    return "".join(f" {name}: no time in {len(found)} of the rows, by the gate `{gate}` (say, {found[0]})." for (name, gate), found in reasons.items())


def sweep():
    lines = (RESULTS / "mission" / "report.txt").read_text().splitlines()
    cut = [line if len(line) <= 132 else line[:131] + "…" for line in lines]
    return "```\n$ ./fatune sweep --shape 4,8,512,64\n" + "\n".join(cut) + "\n```"


def table():
    best = load("kernels", "best.json")
    rows, seen = [], set()
    for row in [best["best"], *best["finalists"], *best["baselines"]]:
        name = f"`{row['kernel']}`" if row["impl"].startswith("fatune:") else NAMES.get(row["impl"], f"`{row['impl']}`")
        if row.get("role") == "default" or name in seen or "hot" not in row:
            continue
        seen.add(name)
        low, high = row["hot"]["ci95_us"]
        cold = f"{row['cold']['median_us']:.1f}" if "cold" in row else ""
        rows.append((row["hot"]["median_us"], f"| {name} | {row['hot']['median_us']:.2f} | {low:.2f} to {high:.2f} | {cold} |"))
    text = ["| implementation | hot, µs | 95 % interval | cold, µs |", "|---|---:|---|---:|", *(line for _, line in sorted(rows)), ""]
    text.append(f"4,8,512,64, f16, full mask, one {best['device']['name']}, one final phase: each kernel's best config of its whole space, and the others as they come, by\n"
                f"`{best['command']}`\n([results/h200/kernels](results/h200/kernels); the journal is the recorded device, `configs/recorded/h200-mission.jsonl.gz`).\n"
                "Hot is the median over rounds of CUDA graphs of back-to-back launches; cold that of single launches after an L2 flush.")
    return "\n".join(text)


def journal():
    """A line of the journal, with what the names do not say."""
    with gzip.open(RESULTS / "mission" / "journal.jsonl.gz", "rt") as lines:
        first = next(record for record in map(json.loads, lines) if record.get("t") == "candidate")
    hot, verify, spent = first["hot"], first["verify"], first["spent"]
    return f"""```
{{"t":"candidate","kernel":"{first['kernel']}","config":{{"BLOCK_M":{first['config']['BLOCK_M']},...}},"outcome":"{first['outcome']}",
 "hot":{{"median_us":{hot['median_us']:.2f},"sem_relative":{hot['sem_relative']:.4f},"samples":{hot['samples']},...}},     microseconds a launch; standard error of the median
 "verify":{{"passed":{json.dumps(verify['passed'])},"margin":{verify['margin']:.2f},"seeds":{verify['seeds']},"gates":[...]}},     worst accuracy figure over its limit
 "resources":{{"registers":{first['resources']['registers']},"blocks_per_sm":{first['resources']['blocks_per_sm']},...}},"conditions":{{"sm_clock_mhz_min":{first['conditions']['sm_clock_mhz_min']},...}},
 "spent":{{"compile_s":{spent['compile_s']:.3f},"verify_s":{spent['verify_s']:.3f},"timing_s":{spent['timing_s']:.3f},"gpu_wait_s":{spent['gpu_wait_s']:.3f}}},"at_s":{first['at_s']:.2f}}}
```"""


def main():
    fill("README.md", (("headline", headline), ("sweep", sweep), ("suites", suites), ("table", table), ("journal", journal)))


if __name__ == "__main__":
    main()
