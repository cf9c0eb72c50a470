#!/usr/bin/env python3
"""update_readme.py - fills the measured blocks of README.md, docs/*.md and kernels/*/notes.md from results/ and the recorded device.

    update_readme.py            writes the pages
    update_readme.py --check    exit 1 when a page says something that results/ does not

A block stands between `<!-- begin NAME -->` and `<!-- end NAME -->`, in whichever page; BLOCKS has a function for each NAME.
"""
import collections
import gzip
import itertools
import json
import pathlib
import re
import statistics
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]

RESULTS = ROOT / "results"
RECORDING = ROOT / "configs/recorded/h200-mission.jsonl.gz"
README_COLUMNS, COLUMNS = 100, 120
NEWEST = "fa4"  # Means are also given without this baseline.
TIMES = {"in_layer": "in a layer", "plain": "plain", "hot": "hot", "cold": "cold"}
OTHERS = {"in_layer": ("plain", "cold"), "plain": ("cold",), "hot": ("cold",)}  # Shown beside the time that ranks a table.
NAMES = {"cudnn": "cuDNN", "cudnn:best": "cuDNN, fastest of its plans", "cublas": "cuBLAS, softmax, cuBLAS",
         "flashinfer": "FlashInfer", "fa3": "FlashAttention-3", "fa4": "FlashAttention-4", "flex": "FlexAttention", "sage": "SageAttention",
         "torch:flash": "PyTorch, FlashAttention-2", "torch:cudnn": "PyTorch, cuDNN",
         "torch:efficient": "PyTorch, efficient", "torch:math": "PyTorch, math",
         "hybrid_qkt": "cuBLAS for QKᵀ, own softmax·V",
         "hybrid_pv": "own softmax(QKᵀ), cuBLAS for ·V"}


def load(name):
    return json.loads((RESULTS / name).read_text())


def one_problem(document):
    return document.get("problems", [document])[0]


def table(head, rows, left=1):
    """A Markdown table without padding; the first `left` columns are text, the others are numbers."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("|" + "|".join(cells) + "|" for cells in [head, rule, *rows])


def shell(command, width=96):
    """A fenced block with one command, continued over lines that fit; lists break behind a comma."""
    lines, line = [], ""
    for word in command.replace(",", ",\0").replace(" ", " \0").split("\0"):
        if line and len(line) + len(word.rstrip()) > width:
            lines.append(line)
            line = ""
        line += word
    lines.append(line)
    text = "".join(part.rstrip() + (" \\\n  " if part.endswith(" ") else "\\\n") for part in lines[:-1]) + lines[-1]
    return f"```sh\n{text}\n```"


def source(name, document):
    """The file of a table, its GPU and day, and its command."""
    return (f"[{name}](../results/{name}), {document['device']['name']}, {document['date']}. The command needs a GPU:"
            f"\n\n{shell(document['command'])}")


def interval(pair, decimals=3):
    return f"{pair[0]:.{decimals}f} to {pair[1]:.{decimals}f}"


def median(side, time):
    return side[time]["median_us"] if side and time in side else None


def problems_of(document):
    return [problem for problem in document["problems"] if problem.get("best")]


def baseline_of(problem, impl):
    return next(each for each in problem["baselines"] if each["impl"] == impl)


def fastest_baseline(problem):
    return baseline_of(problem, problem["best_baseline"])


def fastest_us(problem, time, without=None):
    return min(other[time]["median_us"] for other in problem["baselines"] if time in other and other["impl"] != without)


def ratios_of(problem, by, without=None):
    """The best config's time over that of the fastest baseline, by time; in a layer only where it ranks the problem."""
    times = [time for time in (by, *OTHERS[by]) if time in problem["best"] and (time != "in_layer" or problem["time"] == time)]
    return {time: median(problem["best"], time) / fastest_us(problem, time, without) for time in times}


def means(problems, by, without=None):
    found = collections.defaultdict(list)
    for problem in problems:
        for time, ratio in ratios_of(problem, by, without).items():
            found[time].append(ratio)
    return ", ".join(f"{TIMES[time]} **{statistics.geometric_mean(ratios):.3f}** ({len(ratios)} rows, worst {max(ratios):.3f})"
                     for time, ratios in found.items())


def suite_row(problem, by):
    best, ratios = problem["best"], ratios_of(problem, by)
    if problem["time"] != by:
        timed = ["", "", "", "", "too few steady rounds"]
    else:
        assert abs(ratios[by] - problem["ratio"]) < 0.005, problem["label"]
        timed = [f"{median(best, by):.2f}", NAMES[problem["best_baseline"]], f"{median(fastest_baseline(problem), by):.2f}",
                 f"{problem['ratio']:.3f}", interval(problem["ci95"])]
    return [problem["label"], f"`{best['kernel']}`", best["config"]["LAUNCH"], *timed, *(f"{ratios[time]:.3f}" for time in OTHERS[by])]


def suite(name, by="in_layer"):
    """A suite ranked by one time: each of its times beside that of the fastest baseline at this time."""
    document = load(name)
    problems = problems_of(document)
    head = ["problem", "kernel", "launch", f"{TIMES[by]}, µs", "fastest baseline", "µs", "ratio", "95 % interval",
            *(f"ratio, {time}" for time in OTHERS[by])]
    text = "Geometric means: " + means(problems, by)
    if any(other["impl"] == NEWEST for problem in problems for other in problem["baselines"]):
        text += f". Without {NAMES[NEWEST]}: {means(problems, by, without=NEWEST)}"
    rows = [suite_row(problem, by) for problem in problems]
    return f"{table(head, rows, 3)}\n\n{text}.\n\n{source(name, document)}"


def variants():
    """Each problem of the suite in its last run, beside the fastest of the other baselines, and beside FlashAttention-4."""
    files = sorted(RESULTS.glob("h200/suite-variants*.json"), key=lambda path: (len(path.name), path.name))
    newest, last, sources = load("h200/variants-fa4.json"), {}, []
    beside = {problem["name"]: problem for problem in problems_of(newest)}
    for run, file in enumerate(files, start=1):
        document = load(file)
        command = re.sub(r"\w+\.json", "FILE", document["command"])
        sources.append(f"run {run} by `{command}` ([{document['date']}](../results/h200/{file.name}))")
        last |= {problem["name"]: (run, problem) for problem in problems_of(document)}
    rows, worst = [], []
    for name, (run, problem) in last.items():
        fastest = min((each for each in problem["baselines"] if each["impl"] != NEWEST and "in_layer" in each),
                      key=lambda each: median(each, "in_layer"), default=None)
        own = median(problem["best"], "in_layer") / median(fastest, "in_layer") if fastest and problem["time"] == "in_layer" else None
        rival = problem if any(each["impl"] == NEWEST for each in problem["baselines"]) else beside.get(name, problem)
        theirs = {time: median(rival["best"], time) / median(each, time) for time in ("in_layer", "plain")
                  for each in rival["baselines"] if each["impl"] == NEWEST and time in (rival["time"], "plain")}
        ratios = own, theirs.get("in_layer"), theirs.get("plain")
        worst += [max(filter(None, ratios[:2]))] if any(ratios[:2]) else []
        rows.append([name, str(run), *(f"{median(problem['best'], time):.1f}" for time in ("plain", "in_layer")),
                     NAMES[fastest["impl"]] if own else "", *(f"{ratio:.3f}" if ratio else "" for ratio in ratios)])
    head = ["problem", "run", "plain, µs", "in a layer, µs", "fastest other baseline", "ratio", "to FlashAttention-4", "the same, plain"]
    return (f"{table(head, rows)}\n\nBeside the fastest baseline measured, in a layer: geometric mean "
            f"**{statistics.geometric_mean(worst):.3f}** ({len(worst)} rows, worst {max(worst):.3f}). {document['device']['name']}, commands that "
            f"need a GPU: {'; '.join(sources)}. FlashAttention-4 beside run 1: `{newest['command'].partition(',')[0]}` "
            f"([{newest['date']}](../results/h200/variants-fa4.json)).")


def headline():
    """The README's one number: what a program gets."""
    document, models = load("h200/suite-mission.json"), problems_of(load("h200/suite-models.json"))
    problems = problems_of(document)
    first = problems[0]
    timed, real = ([each["ratio"] for each in of if each["time"] == "in_layer"] for of in (problems, models))
    baseline = fastest_baseline(first)
    lines = [
        f"**{median(first['best'], 'in_layer'):.2f} µs** against {median(baseline, 'in_layer'):.2f} µs for {baseline['detail'].split(',')[0]}: a ratio of "
        f"**{first['ratio']:.2f}** (95 % interval {interval(first['ci95'])}). Attention in a layer, as a program gets it: between its two GEMMs, "
        "batch 4, 8 heads, 512 tokens, head dim 64, f16, q, k and v packed.",
        f"Geometric mean of {'' if len(timed) == len(problems) else f'{len(timed)} of '}the mission suite's {len(problems)} problems: "
        f"**{statistics.geometric_mean(timed):.2f}**, the worst {max(timed):.2f} "
        "([table](docs/results.md#in-a-layer)). By itself, launched plainly, the kernel takes "
        f"{median(first['best'], 'plain'):.2f} µs against {fastest_us(first, 'plain'):.2f} of the fastest baseline, and behind an L2 flush "
        f"{median(first['best'], 'cold'):.2f} against {fastest_us(first, 'cold'):.2f}.",
        f"Of real models, {len(models)} problems in a layer: **{statistics.geometric_mean(real):.2f}** in the mean, the worst {max(real):.2f} "
        "([table](docs/results.md#real-models-in-a-layer)).",
        f"{document['device']['name']}, driver {document['device']['driver']}, {document['date']}, by `{document['command']}`: "
        "nothing known before, all in the same interleaved rounds."]
    return "\n>\n".join("> " + line for line in lines)


def sweep():
    """A dozen lines of what a sweep prints."""
    best = load("h200/mission/best.json")
    lines = (RESULTS / "h200/mission/report.txt").read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("Finalists"))
    finalists = lines[first + 1:lines.index("", first)]
    gate, out, journal = (next(line for line in lines if line.startswith(word)) for word in ("Gate", "Best:", "Journal:"))
    command = best["command"].replace("fatune", "./fatune", 1).replace(" --seed 42", "") + " --out " + out.split()[1].removesuffix("/best.json")
    shown = ["$ " + command, lines[0], "", *finalists[:next(n for n, row in enumerate(finalists) if row.split()[0] == "6")],
             *(row for row in finalists if row.split()[0] == "-"), "", gate, out, journal]
    return "<!-- run -->\n```\n" + "\n".join(shown) + "\n```"


def kernels():
    best = load("h200/kernels/best.json")
    problem = one_problem(best)
    rows, seen = [], set()
    for row in [problem["best"], *problem["finalists"], *problem["baselines"]]:
        own = row["impl"].startswith("fatune:")
        name = f"`{row['kernel']}`" if own else NAMES.get(row["impl"], f"`{row['impl']}`")
        if row.get("role") == "default" or name in seen or "hot" not in row:
            continue
        seen.add(name)
        launch = row["config"].get("LAUNCH", "plain") if own else ""
        cold = f"{median(row, 'cold'):.1f}" if "cold" in row else ""
        rows.append((median(row, "hot"), [name, launch, f"{median(row, 'hot'):.2f}", interval(row["hot"]["ci95_us"], 2), cold]))
    return (table(["implementation", "launch", "hot, µs", "95 % interval", "cold, µs"], [row for _, row in sorted(rows)], 2)
            + "\n\nThe best config of each kernel in one search, and the baselines, in one final phase on an H200 "
            f"([kernels](../results/h200/kernels)). The command needs a GPU:\n\n{shell(best['command'])}")


def peers():
    """Baselines alone, a row a file."""
    impls, rows = ("fa4", "flashinfer", "cudnn", "torch:flash"), []
    for name in ("64-packed", "128-bshd", "decode"):
        problem = load(f"h200/peers/{name}.json")["problems"][0]
        sides = {side["impl"]: side for side in problem["rows"]}
        times = [f"{median(sides[impl], 'in_layer'):.2f}, {median(sides[impl], 'plain'):.2f}" for impl in impls]
        rows.append([f"[{problem['label']}](../results/h200/peers/{name}.json)", *times])
    return table(["problem", *(NAMES[impl] for impl in impls)], rows)


def fp8(*names):
    """fp8 problems of several runs; the first run that has a problem counts."""
    documents, rows = [load(name) for name in names], {}
    for document in documents:
        for problem in problems_of(document):
            best, time = problem["best"], problem["time"]
            versus = [NAMES[problem["best_baseline"]], f"{median(fastest_baseline(problem), time):,.2f}",
                      f"{problem['ratio']:.3f}", interval(problem["ci95"])] if problem.get("ratio") else [""] * 4
            rows.setdefault(json.dumps(problem["problem"]), [problem["label"], f"`{best['kernel']}`", TIMES[time], f"{median(best, time):,.2f}", *versus])
    head = ["problem", "kernel", "time", "µs", "fastest baseline", "µs", "ratio", "95 % interval"]
    return "\n\n".join([table(head, rows.values(), 3), *map(source, names, documents)])


def against(own_us, other_us):
    """A baseline's time, and ours over it."""
    return [f"{other_us:,.2f}", f"{own_us / other_us:.3f}"] if other_us else ["", ""]


def fp8_rivals():
    """Winners with given scales beside the fp8 of other libraries: plain medians of the same rounds."""
    impls = ("fa3", "cudnn")
    rows = []
    for path in sorted((RESULTS / "h100/fp8-rivals").glob("*.json")):
        problem = json.loads(path.read_text())["problems"][0]
        if "quant" in problem["problem"]:
            continue
        sides = {side["impl"]: side for side in reversed(problem["rows"])}  # The config comes before its kernel's default.
        own_us = median(problem["rows"][0], "plain")
        others = [cell for impl in impls for cell in against(own_us, median(sides.get(impl), "plain"))]
        rows.append([f"{path.stem} {problem['label']}", f"`{problem['rows'][0]['kernel']}`", f"{own_us:,.2f}", *others])
    return table(["problem", "kernel", "µs", *(cell for impl in impls for cell in (f"{NAMES[impl]}, µs", "ratio"))], rows, 2)


def fused_sides(problem):
    """Our time in a layer, and that of each baseline, of a comparison by `gate` or `bench`."""
    if "candidate" in problem:
        own, others = problem["candidate"], [row["baseline"] for row in problem["baselines"]]
    else:
        own, others = problem["rows"][0], problem["rows"][2:]
    return median(own, "in_layer"), {side.get("kernel") or side["impl"]: median(side, "in_layer") for side in others}


def fp8_fused():
    """Kernels that quantize, beside SageAttention and 16-bit attention, in a layer."""
    sides = {"fa_wgmma_stream_k": "our bf16", "fa4": NAMES["fa4"], "cudnn": "cuDNN", "torch:cudnn": "PyTorch, cuDNN", "sage": NAMES["sage"]}
    rows = []
    for name in ("flux.1-dev-fused", "flux.1-dev-smooth_k", "video-30k-fused"):
        own_us, others = fused_sides(load(f"h100/fp8-rivals/{name}.json")["problems"][0])
        rows.append([name, f"{own_us:,.2f}", *(cell for side in sides for cell in against(own_us, others.get(side)))])
    return table(["config", "in a layer, µs", *(cell for title in sides.values() for cell in (f"{title}, µs", "ratio"))], rows)


def journal():
    """A line of the journal, with what the names do not say."""
    with gzip.open(RESULTS / "h200/mission/journal.jsonl.gz", "rt") as lines:
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


def examples():
    """Whole models in CUDA graphs, as examples/models/table.py wrote them."""
    return (RESULTS / "h200/models/models.md").read_text().rstrip("\n")


def file_name(space):
    return re.sub(r"\.jsonl?(\.gz)?", "", space)


def strategies():
    """P of each strategy on spaces that others measured; a row a strategy, a column a space."""
    documents, scores, spaces = [load("replay/spaces.json"), load("replay/kernel-tuner.json")], {}, {}
    for row in (row for document in documents for row in document["rows"]):
        title = f"Kernel Tuner `{row['strategy'].removeprefix('kernel_tuner:')}`" if row["strategy"].startswith("kernel_tuner:") else f"`{row['strategy']}`"
        scores.setdefault(title, {})[row["file"]] = row["P"]
        spaces[row["file"]] = file_name(row["file"])
    shared = {row["file"] for row in documents[1]["rows"]}
    mean = {title: sum(found[file] for file in shared) / len(shared) for title, found in scores.items()}
    rows = [[title, *(f"{found[file]:.2f}" if file in found else "-" for file in spaces), f"{mean[title]:.2f}"]
            for title, found in sorted(scores.items(), key=lambda each: -mean[each[0]])]
    return (table(["strategy", *spaces.values(), f"mean of {len(shared)}"], rows)
            + f"\n\n[spaces.json](../results/replay/spaces.json). The command needs these files from the network:\n\n{shell(documents[0]['command'] + ' --json')}\n\n"
            "Kernel Tuner's rows: [kernel-tuner.json](../results/replay/kernel-tuner.json).")


def own_spaces():
    """Runs that come within 2 % of the optimum after a tenth of a space, or 60 evaluations where that is more."""
    document, rows = load("replay/journals.json"), []
    found = {row["file"]: row for row in document["rows"] if row["strategy"] == "evo"}
    for space in document["spaces"]:
        rows.append([f"`{space['kernel']}`", space["label"], str(space["configs"]), str(space["early"]),
                     f"{100 * found[space['file']]['within2_early']:.0f} %"])
    return (table(["kernel", "problem", "configs", "evaluations", "runs within 2 %"], rows, 2)
            + f"\n\n{document['rows'][0]['repeats']} runs each, without the default config to start from ([journals.json](../results/replay/journals.json)).")


def endings():
    """Sweeps that end by themselves."""
    rows = load("replay/sweeps-default.json")["rows"]
    facts = {"within 1 % of the best": "within1", "within 2 %": "within2"}
    lines = [[title, *(f"{100 * row[key]:.0f} %" for row in rows)] for title, key in facts.items()]
    lines += [["slowest over the best", *(f"{row['worst']:.3f}" for row in rows)], ["candidates, mean", *(f"{row['evaluations']:.0f}" for row in rows)]]
    return (table([f"{rows[0]['repeats']} sweeps a problem", *(row["problem"] for row in rows)], lines)
            + f"\n\n[sweeps-default.json](../results/replay/sweeps-default.json), by sweeps like this one, with a seed each:\n\n<!-- run -->\n{shell(rows[0]['command'].replace(' 1..30', ' 1'))}")


def effects(kernel):
    """For each value of each parameter the best time of any recorded config that has it."""
    best = collections.defaultdict(dict)
    with gzip.open(RECORDING, "rt") as lines:
        for record in map(json.loads, lines):
            if record.get("t") == "candidate" and record["kernel"] == kernel and record["outcome"] in ("measured", "pruned"):
                for name, value in record["config"].items():
                    best[name][value] = min(median(record, "hot"), best[name].get(value, float("inf")))
    text = lambda value: json.dumps(value) if isinstance(value, bool) else str(value)
    rows = [[name, ", ".join(f"{text(value)}: {times[value]:.2f}" for value in sorted(times, key=lambda v: (isinstance(v, str), v)))] for name, times in best.items()]
    return table(["parameter", "best time of any config with this value, µs"], rows, 2)


BLOCKS = {
    "headline": headline, "sweep": sweep, "kernels": kernels, "peers": peers, "journal": journal,
    "layer": lambda: suite("h200/suite-mission.json"), "h100": lambda: suite("h100x4/suite-mission.json"),
    "suite-models": lambda: suite("h200/suite-models.json"), "h100-models": lambda: suite("h100x4/suite-models.json"),
    "contiguous": lambda: suite("h200/suite-mission-contiguous.json"), "rivals": lambda: suite("h100/mission-rivals.json"),
    "fa3": lambda: suite("h200/suite-fa3-bshd.json", by="plain"), "fa3-h100": lambda: suite("h100x2/suite-fa3-bshd.json", by="plain"),
    "decode": lambda: suite("h200/suite-decode.json", by="hot"), "variants": variants,
    "fp8-h100": lambda: fp8("h100/suite-fp8-long.json", "h100/suite-fp8.json"), "fp8-rivals": fp8_rivals, "fp8-fused": fp8_fused,
    "examples": examples,
    "strategies": strategies, "own-spaces": own_spaces, "endings": endings,
} | {f"effects-{kernel}": lambda kernel=kernel: effects(kernel) for kernel in ("fa_mma", "fa_rows", "fa_tiled", "fa_wmma")}


def wrapped(content, width):
    """The content with lines of prose that fit; tables and fenced blocks stay as they are."""
    lines, fenced = [], False
    for line in content.split("\n"):
        fenced ^= line.startswith("```")
        if fenced or len(line) <= width or line.startswith(("|", "```")):
            lines.append(line)
            continue
        mark = re.match(r"(> |- )?", line)[0]
        lines += textwrap.wrap(line, width, subsequent_indent=mark.replace("-", " "), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def filled(text, width, blocks):
    """The text with each of its blocks made anew, and their names."""
    names = re.findall(r"<!-- begin ([\w-]+) -->", text)
    for name in names:
        if name not in blocks:
            sys.exit(f"update_readme.py has no block {name}")
        block = f"<!-- begin {name} -->\n{wrapped(blocks[name](), width)}\n<!-- end {name} -->"
        text, found = re.subn(rf"<!-- begin {name} -->.*?<!-- end {name} -->", lambda _, block=block: block, text, flags=re.S)
        if found != 1:
            sys.exit(f"block {name} stands {found} times in a page, or does not end")
    return text, names


def main():
    seen = set()
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("kernels/*/notes.md"))]:
        before = page.read_text()
        text, names = filled(before, README_COLUMNS if page.name == "README.md" else COLUMNS, BLOCKS)
        if twice := seen & set(names):
            sys.exit(f"{page.relative_to(ROOT)}: another page has block {', '.join(sorted(twice))}, too")
        seen.update(names)
        if "--check" not in sys.argv:
            page.write_text(text)
        elif text != before:
            sys.exit(f"{page.relative_to(ROOT)} is stale: run update_readme.py")


if __name__ == "__main__":
    main()
