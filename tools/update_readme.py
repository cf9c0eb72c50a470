#!/usr/bin/env python3
"""Fills the measured parts of README.md, docs/*.md and kernels/*/notes.md from results/ and the recorded device, between
`<!-- begin NAME -->` and `<!-- end NAME -->`.

    update_readme.py            writes the pages
    update_readme.py --check    exit 1 when a page says something that results/ does not, or README.md outgrew its limits
"""
import collections
import gzip
import json
import math
import os
import pathlib
import sys
import textwrap

from documents import load as load_document
from filled_page import ROOT, fill
from parameter_effects import table as effects

RESULTS = ROOT / "results" / "h200"
TWO_H100 = ROOT / "results" / "h100x2"
FOUR_H100 = ROOT / "results" / "h100x4"
H100 = ROOT / "results" / "h100"
README_LINES, README_COLUMNS = 150, 100
SHARE_TARGET = 0.9  # of a predicted saving: less is in bold
NAMES = {"cudnn": "cuDNN, heuristic plan", "cudnn:best": "cuDNN, fastest of its plans",
         "cublas": "cuBLAS, softmax, cuBLAS", "cutensor": "cuTENSOR, softmax, cuTENSOR",
         "flashinfer": "FlashInfer", "fa3": "FlashAttention-3", "fa4": "FlashAttention-4", "sage": "SageAttention",
         "torch:flash": "PyTorch, FlashAttention-2", "torch:cudnn": "PyTorch, cuDNN",
         "torch:efficient": "PyTorch, efficient", "torch:math": "PyTorch, math",
         "hybrid_qkt": "cuBLAS for QKᵀ, own softmax·V",
         "hybrid_pv": "own softmax(QKᵀ), cuBLAS for ·V"}
EXAMPLES = {"bert": "BERT base, 32 x 128", "layers": "12 layers of 512, 4 x 512", "vit": "ViT-L/16, 64 images",
            "gpt2": "GPT-2 medium, 4 x 1024", "llama": "Llama 3 8B, 8 layers, 2048", "video": "blocks on a video, 14,296",
            "whisper": "Whisper large, 8 layers, 8 x 30 s"}
BACKENDS = {"pytorch": "the choice", "flash": "flash", "cudnn": "cuDNN", "efficient": "efficient"}
# In a layer: of a problem that was measured twice the first of these runs counts, which is the newest.
LAYER_RUNS = ("suite-mission.json",)
CONTIGUOUS_RUNS = ("suite-mission-contiguous.json",)
MODEL_RUNS = ("suite-models.json",)
OTHER_TIMES = {"in_layer": ("plain", "cold"), "plain": ("cold",)}  # beside the one that ranks a table
FA3_RUNS = ("suite-fa3-bshd.json",)  # as its authors measure
NEWEST = "fa4"  # the baseline that earlier runs lack
RECORDING = ROOT / "configs" / "recorded" / "h200-mission.jsonl.gz"
RECORDED_KERNELS = ("fa_mma", "fa_rows", "fa_tiled", "fa_wmma")  # whose notes have its table
FP8_RUNS = ("suite-fp8", "suite-fp8-rest", "suite-fp8-linear")  # of a problem the first counts
FP8_H100_RUNS = ("suite-fp8-long", "suite-fp8")


def load(*parts, folder=RESULTS):
    return load_document(folder.joinpath(*parts))


def shell(command, width=118):
    """A block with one command, continued over lines that fit; lists break behind a comma."""
    lines, line = [], ""
    for word in command.replace(",", ",\0").replace(" ", " \0").split("\0"):
        if line and len(line) + len(word.rstrip()) > width:
            lines.append(line)
            line = ""
        line += word
    lines.append(line)
    text = "".join(part.rstrip() + (" \\\n  " if part.endswith(" ") else "\\\n") for part in lines[:-1]) + lines[-1]
    return f"```sh\n{text}\n```"


def interval(pair, decimals=2):
    return f"{pair[0]:.{decimals}f} to {pair[1]:.{decimals}f}"


def warm_source(document):
    """Where the winner's config came from, if the search did not find it but started with it."""
    best = document["best"]
    starts = document["search"].get("warm_starts", [])
    return next((start["source"] for start in starts
                 if (start["kernel"], start["config"]) == (best["kernel"], best["config"])), None)


def headline():
    """The README's one number: what a program gets."""
    rows, first = layer_rows(LAYER_RUNS), load(LAYER_RUNS[0])
    row = rows[0][1]
    rival = fastest_rival(row)
    timed, models = ([each["ratio"] for _, each in of if each["time"] == "in_layer"] for of in (rows, layer_rows(MODEL_RUNS)))
    plain, cold = (rival_at(row, time) for time in ("plain", "cold"))
    lines = [
        f"**{row['best']['in_layer']['median_us']:.2f} µs** against {rival['in_layer']['median_us']:.2f} µs for {rival['detail'].split(',')[0]}: a ratio of "
        f"**{row['ratio']:.2f}** (95 % interval {interval(row['ci95'], 3)}). Attention in a layer, as a program gets it: between its two matrix products, "
        "batch 4, 8 heads, 512 tokens, head dim 64, f16, q, k and v packed.",
        f"Geometric mean of {'' if len(timed) == len(rows) else f'{len(timed)} of '}the mission suite's {len(rows)} problems: "
        f"**{geomean(timed):.2f}**, the worst {max(timed):.2f} "
        "([table](docs/results.md#in-a-layer)). By itself, launched plainly, the kernel takes "
        f"{row['best']['plain']['median_us']:.2f} µs against {plain:.2f} of the fastest baseline, and behind an L2 flush "
        f"{row['best']['cold']['median_us']:.2f} against {cold:.2f}.",
        f"Of real models, {len(models)} problems in a layer: **{geomean(models):.2f}** in the mean, the worst {max(models):.2f} "
        "([table](docs/results.md#real-models-in-a-layer)).",
        f"{first['device']['name']}, driver {first['device']['driver']}, {first['date']}, by `{first['command']}`: "
        "nothing known before, all in the same interleaved rounds."]
    return "\n>\n".join("> " + line for line in lines)


def sweep():
    """A dozen lines of what a sweep prints."""
    best = load("mission", "best.json")
    lines = (RESULTS / "mission" / "report.txt").read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("Finalists"))
    table = lines[first + 1:lines.index("", first)]
    gate, out, journal = (next(line for line in lines if line.startswith(word)) for word in ("Gate", "Best:", "Journal:"))
    command = best["command"].replace("fatune", "./fatune", 1).replace(" --seed 42", "") + " --out " + out.split()[1].removesuffix("/best.json")
    shown = ["$ " + command, lines[0], "", *table[:7],
             *(row for row in table if row.split()[0] == "-"), "", gate, out, journal]
    return "```\n" + "\n".join(shown) + "\n```"


def warm():
    """How many searches began with their winner, and what searches found without."""
    problems = [document for name in ("suite-fa3", "suite-decode") for document in load(name, "best.json")["problems"]]
    sources = [warm_source(document) for document in problems]
    same_run = sources.count("this run")
    earlier = len(problems) - sources.count(None) - same_run
    replayed = {budget: json.loads((ROOT / "results" / "replay" / f"sweeps-{budget}.json").read_text())["rows"] for budget in (60, 150)}
    gates = [load("optimum", path.name) for path in sorted((RESULTS / "optimum").glob("mission*.json"), key=lambda path: (len(path.stem), path.stem))]
    ratios = ", ".join(f"{gate['problems'][0]['baselines'][0]['ratio']:.3f}" for gate in gates)
    lines = [f"- The suites *fa3*, hot, and *decode*: of {len(problems)} winners {earlier} came from earlier runs, and {same_run} from another problem "
             "of the same run (column *warm* below).",
             f"- Without warm starts, on an H200: five searches of 60 candidates for *mission* ended at {ratios} of the time of the "
             "best config of the whole space, measured in the same rounds ([search.md](search.md#sixty-evaluations-a-problem-on-the-gpu)).",
             "- Without warm starts, on the recorded device: " + ", ".join(
                 f"of {rows[0]['repeats']} sweeps of {budget} candidates for each of {len(rows)} problems {min(row['within2'] for row in rows):.0%} "
                 f"to {max(row['within2'] for row in rows):.0%}" for budget, rows in replayed.items()).replace("%", " %")
             + " ended within 2 % of the best ([search.md](search.md#sweeps-of-several-kernels))."]
    return "\n".join(lines)


def suite_row(row, problems):
    best, rival, problem = row["best"], row["baselines"][row["best_baseline"]], row["problem"]
    shape = ",".join(str(problem[key]) for key in ("batch", "heads", "seq_q", "head_dim"))
    searched = next((each for each in problems if each["best"]["id"] == best["id"]), None)
    source = warm_source(searched) if searched else None
    warm_start = {None: "", "this run": "same run"}.get(source, "yes")
    return (f"| {row['name']} | {shape} | `{best['kernel']}` | {best['config']['LAUNCH']} | {warm_start} | {best['hot_us']:.2f} "
            f"| {NAMES[row['best_baseline']]} | {rival['hot_us']:.2f} | {row['ratio']:.2f} | {interval(row['ci95'])} | {row['verdict']} |")


def suite_table(name):
    problems = load(name, "best.json")["problems"]
    head = ["| problem | shape | kernel | launch | warm | hot, µs | best baseline | hot, µs | ratio | 95 % interval | verdict |",
            "|---|---|---|---|---|---:|---|---:|---:|---|---|"]
    return "\n".join(head + [suite_row(row, problems) for row in load(f"{name}.json")["rows"]])


def suite(name):
    """A suite's rows, its geometric mean, and the command."""
    document = load(f"{name}.json")
    ratios = sorted((row["ratio"], row["name"]) for row in document["rows"])
    slower = sum(ratio > 1 for ratio, _ in ratios)
    mean = geomean(ratio for ratio, _ in ratios)
    assert abs(mean - document["geomean_ratio"]) < 0.005, f"{name}: the geometric mean is not that of its rows"
    return (
        f"{suite_table(name)}\n\nGeometric mean **{document['geomean_ratio']:.2f}**, from {ratios[0][0]:.2f} "
        f"(`{ratios[0][1]}`) to {ratios[-1][0]:.2f} (`{ratios[-1][1]}`); {slower} of {len(ratios)} above 1. [{name}.json](../results/h200/{name}.json), by"
        f"{without_time(document)}\n\n{shell(document['command'])}")


def layer_rows(runs, folder=RESULTS):
    """(number of the run, row) of every problem of the last run; of one that was measured twice the first run's."""
    rows = {}
    for number, name in enumerate(runs):
        for each in load(name, folder=folder)["problems"]:
            if each["best"]:
                rows.setdefault(each["name"], (number, each))
    places = [each["name"] for each in load(runs[-1], folder=folder)["problems"]]
    return sorted(rows.values(), key=lambda numbered: places.index(numbered[1]["name"]))


def baseline_of(row, impl):
    return next(each for each in row["baselines"] if each["impl"] == impl)


def fastest_rival(row):
    return baseline_of(row, row["best_baseline"])


def rival_at(row, time, without=None):
    """Of the baseline that is fastest at this time, microseconds."""
    return min(other[time]["median_us"] for other in row["baselines"] if time in other and other["impl"] != without)


def geomean(ratios):
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs))


def layer_cells(row, ratios, by):
    best, rival = row["best"], fastest_rival(row)
    if row["time"] == by:
        assert abs(ratios[by] - row["ratio"]) < 0.005, row["label"]
        cells = [f"{best[by]['median_us']:.2f}", NAMES[row["best_baseline"]], f"{rival[by]['median_us']:.2f}", f"{row['ratio']:.3f}", interval(row["ci95"], 3)]
    else:
        cells = ["", "", "", "", "too few steady rounds"]
    return [f"`{best['kernel']}`", best["config"]["LAUNCH"], *cells, *(f"{ratios[time]:.3f}" for time in OTHER_TIMES[by])]


def layer_ratios(row, without=None):
    """Of its three times; in a layer where that is what it is ranked by: where too few rounds were steady it is not."""
    times = [time for time in ("in_layer", "plain", "cold") if time in row["best"] and (time != "in_layer" or row["time"] == time)]
    return {time: row["best"][time]["median_us"] / rival_at(row, time, without) for time in times}


def layer_means(rows, without=None):
    found = collections.defaultdict(list)
    for row in rows:
        for time, ratio in layer_ratios(row, without).items():
            found[time].append(ratio)
    return ", ".join(f"{time.replace('_', ' ')} **{geomean(ratios):.3f}** ({len(ratios)} rows, worst {max(ratios):.3f})" for time, ratios in found.items())


def link(folder, name):
    """From a page of docs/ to a file that is named as seen from this folder of results/."""
    return "../" + os.path.normpath(pathlib.PurePath("results", folder.name, name))


def layer(runs, folder=RESULTS, by="in_layer"):
    """A suite ranked by this time, in a layer or plain: each time beside that of the best baseline at this time."""
    others = OTHER_TIMES[by]
    text = [f"| problem | kernel | launch | {by.replace('in_', 'in a ')}, µs | best baseline | µs | ratio | 95 % interval | {' | '.join(f'ratio, {time}' for time in others)} | run |",
            f"|---|---|---|---:|---|---:|---:|---|{'---:|' * len(others)}---:|"]
    numbered = layer_rows(runs, folder)
    rows = [row for _, row in numbered]
    for number, row in numbered:
        text.append("| " + " | ".join([row["label"], *layer_cells(row, layer_ratios(row), by), str(number + 1)]) + " |")
    means = layer_means(rows)
    if any(other["impl"] == NEWEST for row in rows for other in row["baselines"]):
        means += f". Without {NAMES[NEWEST]}: {layer_means(rows, without=NEWEST)}"
    runs = "\n\n".join(f"{number}. [{pathlib.PurePath(name).name}]({link(folder, name)}), by\n\n{shell(load(name, folder=folder)['command'])}" for number, name in enumerate(runs, 1))
    return "\n".join(text) + f"\n\nGeometric means: {means}.\n\n{runs}"


def fp8_row(number, row, before):
    best, gate, error = row["best"], row.get("gate"), row["best"]["verify"]
    time = "in_layer" if "in_layer" in best else "plain"
    beside = [NAMES[gate["baseline"]], f"{baseline_of(row, gate['baseline'])[time]['median_us']:,.2f}", f"{gate['ratio']:.3f} ({interval(gate['ci95'], 3)})"] if gate else ["", "", ""]
    cells = [row["label"], f"`{best['kernel']}`", time.replace("_", " "), f"{best[time]['median_us']:,.2f}", before.get(row["name"], ""), *beside,
             ", ".join(f"{error[key]:.3f}" for key in ("relative_l2", "method_l2") if key in error), str(number)]
    return "| " + " | ".join(cells) + " |"


def fp8(runs, folder, title, before):
    """Problems of fp8 by several runs, beside other times of the same name, and the commands."""
    documents, rows = {name: load(name, "best.json", folder=folder) for name in runs}, {}
    for number, document in enumerate(documents.values(), 1):
        for row in document["problems"]:
            if row.get("best"):
                rows.setdefault(json.dumps(row["problem"]), (number, row))
    commands = "\n\n".join(f"{number}. [{name}](../results/{folder.name}/{name}), by\n\n{shell(document['command'])}"
                           for number, (name, document) in enumerate(documents.items(), 1))
    return "\n".join([f"| problem | kernel | time | µs | {title}, µs | rival | µs | ratio (95 %) | own error, of the method | run |", "|---|---|---|---:|---:|---|---:|---|---|---:|",
                      *(fp8_row(number, row, before) for number, row in rows.values())]) + f"\n\n{commands}"


def fp8_h200():
    f16 = {row["name"]: f"{row['best']['plain']['median_us']:.2f}" for row in load(CONTIGUOUS_RUNS[0])["problems"]}
    return fp8(FP8_RUNS, RESULTS, "our f16", f16)


def fp8_h100():
    """With S in f16, beside the plain times, in a layer those, of the winners before."""
    before = {}
    for path in (H100 / "fp8-rivals").glob("*.json"):
        problem = load(path.name, folder=H100 / "fp8-rivals")["problems"][0]
        ours = problem["candidate"] if "candidate" in problem else problem["rows"][0]
        before[path.stem] = f"{middle(ours, 'in_layer') or middle(ours, 'plain'):,.2f}"
    return fp8(FP8_H100_RUNS, H100, "before", before)


def middle(side, time):
    return side[time]["median_us"] if side and time in side else None


def beside(own_us, other_us):
    """A rival's time, and ours over it."""
    return [f"{other_us:,.2f}", f"{own_us / other_us:.3f}"] if other_us else ["", ""]


def fp8_rivals():
    """Winners with given factors beside other people's fp8: medians of the same rounds."""
    rivals = ("fa3", "cudnn")
    found = {path.stem: load(path.name, folder=H100 / "fp8-rivals")["problems"][0] for path in (H100 / "fp8-rivals").glob("*.json")}
    given = sorted(((name, problem) for name, problem in found.items() if "quant" not in problem["problem"]), key=lambda each: each[0])
    text = ["| problem | kernel | µs | " + " | ".join(f"{NAMES[name].split(',')[0]}, µs | ratio" for name in rivals) + " |", "|---|---|---:|" + "---:|" * 4]
    for name, problem in given:
        sides = {side["impl"]: side for side in reversed(problem["rows"])}  # the config comes before its kernel's default
        ours = problem["rows"][0]
        own_us = middle(ours, "plain")
        others = [cell for rival in rivals for cell in beside(own_us, middle(sides.get(rival), "plain"))]
        text.append("| " + " | ".join([f"{name} {problem['label']}", f"`{ours['kernel']}`", f"{own_us:,.2f}", *others]) + " |")
    return "\n".join(text)


def fused_side(problem):
    """(ours, rivals by name) of a comparison by `gate` or `bench`, microseconds in a layer."""
    if "candidate" in problem:
        ours, others = problem["candidate"], [row["baseline"] for row in problem["baselines"]]
    else:
        ours, others = problem["rows"][0], problem["rows"][2:]
    return middle(ours, "in_layer"), {side.get("kernel") or side["impl"]: middle(side, "in_layer") for side in others}


def fp8_fused():
    """Kernels that quantize beside SageAttention and attention in 16 bits, our own too, between two products."""
    names = ("flux.1-dev-fused", "flux.1-dev-fused-hadamard-64", "flux.1-dev-fused-hadamard-128", "flux.1-dev-smooth_k", "video-30k-fused")
    rivals = {"fa_wgmma_stream_k": "our bf16", "fa4": NAMES["fa4"], "cudnn": "cuDNN", "torch:cudnn": "PyTorch's cuDNN", "sage": NAMES["sage"]}
    text = ["| config | in a layer, µs | " + " | ".join(f"{title}, µs | ratio" for title in rivals.values()) + " |", "|---|---:|" + "---:|" * 10]
    for name in names:
        own_us, others = fused_side(load(f"{name}.json", folder=H100 / "fp8-rivals")["problems"][0])
        cells = [cell for rival in rivals for cell in beside(own_us, others.get(rival))]
        text.append("| " + " | ".join([name, f"{own_us:,.2f}", *cells]) + " |")
    return "\n".join(text)


def without_time(document):
    """Which baselines have no time in some rows, and why, so that their absence is not read as a win."""
    reasons = {}
    for row in document["rows"]:
        for name, baseline in row["baselines"].items():
            if "hot_us" not in baseline:
                reasons.setdefault((NAMES[name], baseline["reason"].split(":")[0]), []).append(row["name"])
    return "".join(f" ({name} has no time in {len(found)} rows: `{reason}`)" for (name, reason), found in reasons.items())


def table():
    best = load("kernels", "best.json")
    rows, seen = [], set()
    for row in [best["best"], *best["finalists"], *best["baselines"]]:
        name = f"`{row['kernel']}`" if row["impl"].startswith("fatune:") else NAMES.get(row["impl"], f"`{row['impl']}`")
        if row.get("role") == "default" or name in seen or "hot" not in row:
            continue
        seen.add(name)
        cold = f"{row['cold']['median_us']:.1f}" if "cold" in row else ""
        launch = row["config"].get("LAUNCH", "plain") if row["impl"].startswith("fatune:") else ""
        rows.append((row["hot"]["median_us"], f"| {name} | {launch} | {row['hot']['median_us']:.2f} "
                     f"| {interval(row['hot']['ci95_us'])} | {cold} |"))
    text = ["| implementation | launch | hot, µs | 95 % interval | cold, µs |", "|---|---|---:|---|---:|",
            *(line for _, line in sorted(rows)), ""]
    text.append(f"4,8,512,64, f16, no mask, {best['device']['name']}, one final phase: the best config of each kernel's "
                "whole space, and the baselines ([results/h200/kernels](../results/h200/kernels)). The journal of this run is the "
                "recorded device, `configs/recorded/h200-mission.jsonl.gz`. By\n\n" + shell(best["command"]))
    return "\n".join(text)


def journal():
    """A line of the journal, with what the names do not say."""
    with gzip.open(RESULTS / "mission" / "journal.jsonl.gz", "rt") as lines:
        first = next(record for record in map(json.loads, lines) if record.get("t") == "candidate")
    hot, verify, spent, resources = first["hot"], first["verify"], first["spent"], first["resources"]
    return f"""```
{{"t":"candidate","kernel":"{first['kernel']}","config":{{"BLOCK_M":{first['config']['BLOCK_M']},...}},"outcome":"{first['outcome']}",
 "hot":{{"median_us":{hot['median_us']:.2f},              microseconds a launch
        "sem_relative":{hot['sem_relative']:.4f},          standard error of the median
        "samples":{hot['samples']},...}},
 "verify":{{"passed":{json.dumps(verify['passed'])},"margin":{verify['margin']:.2f},  worst accuracy figure over its limit
           "seeds":{verify['seeds']},"gates":[...]}},
 "resources":{{"registers":{resources['registers']},"blocks_per_sm":{resources['blocks_per_sm']},...}},
 "conditions":{{"sm_clock_mhz_min":{first['conditions']['sm_clock_mhz_min']},...}},
 "spent":{{"compile_s":{spent['compile_s']:.3f},"verify_s":{spent['verify_s']:.3f},"timing_s":{spent['timing_s']:.3f},
          "gpu_wait_s":{spent['gpu_wait_s']:.3f}}},        the device had nothing else to do
 "at_s":{first['at_s']:.2f}}}                         since the run began
```"""


def models():
    """The suite of real models: what its file says."""
    document = json.loads((ROOT / "configs" / "problems" / "models.json").read_text())
    rows = ["| problem | shape | keys | type | layout | source |", "|---|---|---|---|---|---|"]
    for each in document["problems"]:
        keys = [f"{each[key]} {word}" for key, word in (("kv_heads", "heads"), ("seq_kv", "long")) if key in each]
        kind = each.get("dtype", "f16") + (" causal" if each.get("causal") else "")
        rows.append(f"| {each['name']} | {each['shape']} | {', '.join(keys)} | {kind} | `{each['layout']}` | {each['source']} |")
    return "\n".join(rows)


def ratio_cell(times):
    return f"{times['ratio']:.3f} ({interval(times['ci95'], 3)})"


def sustained_cell(times):
    """With each side's clock."""
    return f"{ratio_cell(times)}, {times['mhz']['fatune']:,.0f} and {times['mhz'][times['best']]:,.0f} MHz" if times else "-"


def example_cells(row):
    """Of examples/models: a model in a graph, beside the best of PyTorch's backends."""
    name = EXAMPLES.get(row["model"], row["model"])
    times = row["proof"]["times"] if "proof" in row else None
    if times is None:
        return [name, *[""] * 3, f"failed: {row['failed']}" if "failed" in row else row["proof"]["verdict"], *[""] * 4, f"{row['seconds']:.0f}"]
    ms = {contender: f"{us / 1e3:.3f}" for contender, us in times["medians_us"].items()}
    saved, predicted, share = (row["proof"]["saving"][key] for key in ("measured_us", "predicted_us", "share"))
    mark = "**" if share is not None and share < SHARE_TARGET else ""
    return [name, ms["pytorch"], f"{BACKENDS[times['best']]} {ms[times['best']]}", ms["fatune"], ratio_cell(times), sustained_cell(row["proof"]["sustained"]),
            f"{saved:,.0f}", "-" if predicted is None else f"{predicted:,.0f}", "-" if share is None else f"{mark}{share:.2f}{mark}", f"{row['seconds']:.0f}"]


def examples(document):
    """Whole models in CUDA graphs, from the file that examples/models/table.py writes."""
    proofs = {row["model"]: row["proof"] for row in document["rows"] if "proof" in row}
    first = next(iter(proofs.values()))
    text = ["| model | PyTorch's choice, ms | best backend | ours | ours / best (95 %) | going on (95 %), clocks | saved, µs | predicted | of it | command, s |",
            "|---|---:|---|---:|---|---|---:|---:|---:|---:|", *("| " + " | ".join(example_cells(row)) + " |" for row in document["rows"])]
    rounds = {model: len(proof["times"]["rounds_us"]["fatune"]) for model, proof in proofs.items() if proof["times"]}
    most = max(rounds.values())
    fewer = "".join(f", of {EXAMPLES.get(model, model).split(',')[0]} {count}" for model, count in rounds.items() if count < most)
    return "\n".join(text) + f"\n\n{first['device']['name']}, PyTorch {first['before']['torch']}; {most} rounds{fewer}."


def percent(share, sign=""):
    return "" if share is None else f"{100 * share:{sign}.2f} %"


def regret_cells(regret):
    if not regret:
        return " | "
    ends = regret["ci95"]
    return f"{percent(regret['regret'])} | " + (f"{100 * ends[0]:.2f} to {percent(ends[1])}" if ends else "")


def counted(number, noun):
    return f"One {noun}:" if number == 1 else f"{number} {noun}s like"


def score_rows(document):
    """A row a problem: regret, flips, and every later measurement."""
    flips = {row["problem"]: row for row in document["flips"]}
    for row in document["regret"]:
        flip, again = flips.get(row["problem"]), [each for each in document["fidelity"] if each["problem"] == row["problem"]]
        cells = [row["problem"], row["time"].replace("_", " "), regret_cells(row["first"]), f"{row['place_of_best']} of {row['contestants']}", regret_cells(row["winner"])]
        cells += [f"{flip['flips']} of {flip['sweeps']}", percent(flip["spread"]), f"{flip['told_apart']} of {flip['winners'] - 1}"] if flip else ["", "", ""]
        yield "| " + " | ".join([*cells, ", ".join(f"{percent(each['difference'], '+')} ({each['date']})" for each in again)]) + " |"


def scores():
    """Regret, flips and fidelity, once they were measured."""
    if not (RESULTS / "scores.json").exists():
        return "Not measured yet."
    document = load("scores.json")
    head = ["| problem | time | search's first | 95 % interval | place of the best | winner | 95 % interval | flips | apart | told apart | again |",
            "|---|---|---:|---|---:|---:|---|---:|---:|---:|---|"]
    missing = f" Not measured: {'; '.join(document['failures'])}." if document["failures"] else ""
    return "\n".join([*head, *score_rows(document), "", f"[scores.json](../results/h200/scores.json) has every command.{missing} {counted(len(document['sweeps']), 'sweep')}\n\n"
                      + shell(document["sweeps"][0])])


def check_limits():
    lines = (ROOT / "README.md").read_text().splitlines()
    wide = [number for number, line in enumerate(lines, 1) if len(line) > README_COLUMNS]
    if len(lines) > README_LINES or wide:
        sys.exit(f"README.md: {len(lines)} lines of at most {README_LINES}; wider than {README_COLUMNS} columns: {wide}")


def main():
    fill("README.md", (("headline", headline), ("sweep", sweep)), README_COLUMNS)
    fill("docs/results.md", (("layer", lambda: layer(LAYER_RUNS)), ("models", lambda: layer(MODEL_RUNS)), ("h100", lambda: layer(LAYER_RUNS, TWO_H100)), ("h100-rivals", lambda: layer(("mission-rivals.json",), H100)), ("h100-since", lambda: layer(LAYER_RUNS, H100)), ("h100x4", lambda: layer(LAYER_RUNS, FOUR_H100)), ("h100x4-models", lambda: layer(("suite-models.json",), FOUR_H100)), ("contiguous", lambda: layer(CONTIGUOUS_RUNS)),
                             ("fa3-bshd", lambda: layer(FA3_RUNS, by="plain")), ("fa3-h100", lambda: layer(FA3_RUNS, TWO_H100, by="plain")), ("warm", warm), ("fa3", lambda: suite("suite-fa3")), ("decode", lambda: suite("suite-decode")), ("kernels", table), ("scores", scores)))
    fill("docs/fp8.md", (("fp8", fp8_h200), ("fp8-h100", fp8_h100), ("fp8-rivals", fp8_rivals), ("fp8-fused", fp8_fused)))
    fill("docs/journal.md", (("journal", journal),))
    fill("docs/pytorch.md", (("models", lambda: examples(load("models", "models.json"))),))
    fill("docs/models.md", (("models", models),))
    for kernel in RECORDED_KERNELS:
        fill(f"kernels/{kernel}/notes.md", (("effects", lambda kernel=kernel: effects(RECORDING, kernel)),))
    check_limits()


if __name__ == "__main__":
    main()
