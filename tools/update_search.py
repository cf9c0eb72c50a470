#!/usr/bin/env python3
"""Fills the measured parts of docs/search.md from results/replay/, between `<!-- begin NAME -->` and `<!-- end NAME -->`.

    update_search.py            writes docs/search.md
    update_search.py --check    exit 1 when docs/search.md says something that results/replay/ does not
"""
import json
import re
import sys

from documents import load as load_document
from filled_page import ROOT, fill

RESULTS = ROOT / "results" / "replay"
H200 = ROOT / "results" / "h200"
KERNEL_TUNER = "kernel_tuner:"
IN_FLIGHT = (1, 4, 8, 16, 32)


def load(name):
    path = RESULTS / f"{name}.json"
    if not path.exists():
        sys.exit(f"results/replay/{path.name} is missing: run tools/replay_evidence.sh, see docs/search.md")
    return load_document(path)


def measured(*names):
    """Those of the files that are not made every time and are there."""
    return [name for name in names if (RESULTS / f"{name}.json").exists()]


def command(name):
    """Of a replay its file says it; Kernel Tuner's runs have it beside them."""
    beside = RESULTS / f"{name}.command.txt"
    return beside.read_text().strip() if beside.exists() else load(name)["command"] + " --json"


def short(file):
    return re.sub(r"\.jsonl?(\.gz)?", "", file)


def in_order(values):
    return list(dict.fromkeys(values))


def by_place(document):
    return {(row["strategy"], row["file"]): row for row in document["rows"]}


def table(head, rows, left=1):
    rule = "|" + "---|" * left + "---:|" * (len(head) - left)
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def number(value, decimals=2):
    return "-" if value is None else f"{value:.{decimals}f}"


def percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def estimate(row, key="P"):
    if row is None or row[key] is None:
        return "-"
    low, high = row[key + "_ci95"]
    return f"{row[key]:.2f} [{low:.2f}, {high:.2f}]"


def made_by(*names):
    return "By " + " and ".join(f"`{command(name)}` ([{name}.json](../results/replay/{name}.json))" for name in names) + "."


def spaces():
    rows = []
    for space in load("spaces")["spaces"]:
        unit = " " + space["unit"] if space["unit"] else ""
        rows.append([short(space["file"]), space["device"], str(space["configs"]), str(space["failed"]), f"{space['optimum']:.4g}{unit}",
                     f"{space['median']:.4g}{unit}", str(space["scored_to"]), str(space["control"]["repeats"]), number(space["control"]["P"], 3)])
    return table(["space", "GPU", "configs", "of them fail", "optimum", "median", "P ends at", "control: repeats", "P"], rows, 2)


def mean_cell(scores):
    known = [score["P"] for score in scores if score and score["P"] is not None]
    return number(sum(known) / len(known)) if len(known) == len(scores) else "-"


def scores():
    document, peer = load("spaces"), load("kernel-tuner")
    files = in_order(row["file"] for row in document["rows"])
    shared = in_order(row["file"] for row in peer["rows"])
    rows = []
    for source, where in ((document, files), (peer, shared)):
        places = by_place(source)
        for strategy in in_order(row["strategy"] for row in source["rows"]):
            cells = [places.get((strategy, file)) for file in files]
            name = f"Kernel Tuner `{strategy.removeprefix(KERNEL_TUNER)}`" if strategy.startswith(KERNEL_TUNER) else f"`{strategy}`"
            on_shared = mean_cell([places.get((strategy, file)) for file in shared])
            rows.append([name, *(estimate(cell) for cell in cells), on_shared, mean_cell(cells)])
    repeats = sorted({row["repeats"] for row in peer["rows"]})
    few = f"{repeats[0]} to {repeats[-1]}" if len(repeats) > 1 else str(repeats[0])
    failed = [row for row in peer["rows"] if row.get("failure")]
    own = [1e3 * row["seconds"] / row["evaluations"] for row in document["rows"] if row["strategy"] == "evo"]
    text = [table(["strategy", *map(short, files), f"mean of {len(shared)}", f"mean of {len(files)}"], rows), "",
            f"P with its 95 % interval. {made_by('spaces', 'kernel-tuner')} {document['rows'][0]['repeats']} runs of each of our strategies, {few} of Kernel Tuner's. "
            f"`evo` itself took {min(own):.1f} to {max(own):.1f} ms of processor time an evaluation."]
    text += [f"`{row['strategy'].removeprefix(KERNEL_TUNER)}` on {short(row['file'])}: {row['failure']}." for row in failed]
    return "\n".join(text)


def best_of(rows):
    """The row with the largest P, or None."""
    return max((row for row in rows if row["P"] is not None), key=lambda row: row["P"], default=None)


def named(row):
    return "-" if row is None else f"{number(row['P'])} `{row['strategy'].removeprefix(KERNEL_TUNER)}`"


def hub():
    """The rest of the hub: evo beside the best of all others on each space."""
    if not measured("hub", "kernel-tuner-hub"):
        return "Not measured yet."
    document, peer = load("hub"), load("kernel-tuner-hub")
    rows, ours, lost = [], by_place(document), []
    for space in document["spaces"]:
        file = space["file"]
        evo = ours[("evo", file)]
        rival = best_of(row for row in document["rows"] if row["file"] == file and row["strategy"] not in ("evo", "random"))
        other = best_of(row for row in peer["rows"] if row["file"] == file)
        if best_of(row for row in (evo, rival, other) if row) is not evo:
            lost.append(short(file))
        rows.append([short(file), space["device"] or "-", str(space["configs"]), estimate(evo), named(rival), named(other), number(space["control"]["P"], 3)])
    rows.append([f"mean of {len(rows)}", "", "", mean_cell([row for row in document["rows"] if row["strategy"] == "evo"]), "", "", ""])
    head = ["space", "GPU", "configs", "`evo`", "best other of ours", "best of Kernel Tuner", "control"]
    tried = ", ".join(f"`{name}`" for name in in_order(row["strategy"].removeprefix(KERNEL_TUNER) for row in peer["rows"]))
    most = max(row["repeats"] for row in peer["rows"])
    commands = ("[hub.json](../results/replay/hub.json), which has its command, and [kernel-tuner-hub.json](../results/replay/kernel-tuner-hub.json) "
                "([command](../results/replay/kernel-tuner-hub.command.txt))")
    others = f"Another comes out above `evo` on {len(lost)} of {len(document['spaces'])}" + (f": {', '.join(lost)}." if lost else ".")
    return (f"{table(head, rows, 2)}\n\n{others} {document['rows'][0]['repeats']} runs of each of our strategies but `random`, at most {most} of Kernel Tuner's, of which "
            f"these were tried: {tried}. From {commands}.")


def fractions():
    document, longer = load("spaces"), measured("published")
    published = by_place(load("published")) if longer else {}
    rows = []
    for row in document["rows"]:
        if row["strategy"] not in ("evo", "kt-ga", "random"):
            continue
        rows.append([short(row["file"]), f"`{row['strategy']}`", *(number(row["at"][t], 3) for t in ("25", "50", "100", "220")),
                     *(percent(row["within5"][t]) for t in ("100", "220")), number(published.get((row["strategy"], row["file"]), row)["methodology_score"])])
    head = ["space", "strategy", "of the optimum at 25", "at 50", "at 100", "at 220", "runs within 5 % at 100", "at 220", "published score"]
    return table(head, rows, 2) + "\n\n" + made_by("spaces", *longer)


def batches():
    if not measured("batch-4", "batch-16"):
        return "Not measured yet."
    keys = {"batch-4": 4, "batch-16": 16, "batch-32": 32, "one-lever": "lever"}
    more = measured(*keys)
    documents = {1: by_place(load("spaces"))} | {keys[name]: by_place(load(name)) for name in more}
    files = in_order(file for _, file in documents[keys[more[0]]])
    rows = []
    for key, name in ((1, "one at a time"), (4, "4 in flight"), (16, "16 in flight"), (32, "32 in flight"), ("lever", "`--one-lever`, one at a time")):
        if key not in documents:
            continue
        cells = [documents[key].get(("evo", file)) for file in files]
        rows.append([name, *(estimate(cell) for cell in cells), mean_cell(cells)])
    return table(["`evo`", *map(short, files), "mean"], rows) + "\n\n" + made_by(*more)


def journals():
    if not measured("journals"):
        return "Not measured yet."
    document = load("journals")
    windows = {n: by_place(load(f"journals-60-{n}")) for n in IN_FLIGHT if measured(f"journals-60-{n}")}
    rows = []
    for space in document["spaces"]:
        place = ("evo", space["file"])
        rows.append([f"`{space['kernel']}`", space["problem"], str(space["configs"]), str(space["early"]),
                     percent(by_place(document)[place]["within2_early"]),
                     *(percent(by[place]["within2_end"]) for by in windows.values())])
    means = [mean_cell([row for row in by.values() if row["strategy"] == "evo"]) for by in windows.values()]
    rows.append(["mean P to 60", "", "", "", "", *means])
    head = ["kernel", "problem", "configs", "a tenth, at least 60", "after these", *(f"after 60, {n} in flight" for n in windows)]
    shares = f"Share of {document['rows'][0]['repeats']} runs of `evo` within 2 % of the optimum, without the default config to start from."
    same = command("journals-60-1").replace("--batch 1", "--batch N")
    links = ", ".join(f"[{n}](../results/replay/journals-60-{n}.json)" for n in windows)
    return f"{table(head, rows, 2)}\n\n{shares} {made_by('journals')} After 60 by `{same}`: N = {links}."


def sweeps():
    """Sweeps of several kernels on recorded spaces, each with another seed."""
    documents = [load(name) for name in measured("sweeps-60", "sweeps-150")]
    head = ["within 2 % of the best after", *(row["problem"] for row in documents[0]["rows"])]
    rows = [[f"{document['budget']}, {document['rows'][0]['repeats']} sweeps", *(percent(row["within2"]) for row in document["rows"])] for document in documents]
    links = " and ".join(f"[{document['budget']}](../results/replay/sweeps-{document['budget']}.json)" for document in documents)
    example = documents[0]["rows"][0]["command"]
    return f"{table(head, rows)}\n\nEach by sweeps like `{example}` ({links} evaluations)."


def sixty():
    """The winners of 60 evaluations a problem against the best of whole spaces, in the same rounds, by seed."""
    seeds = {path: re.search(r"--seed (\d+)", json.loads(path.read_text())["command"])[1] for path in H200.glob("suite-mission-60*.json")}
    suites = sorted(seeds, key=lambda path: int(seeds[path]))
    first = load_document(suites[0])
    rows, commands, within = [], [], 0
    for name in [row["name"] for row in first["rows"]]:
        if not (H200 / "optimum" / f"{name}.json").exists():
            continue
        cells, optima = [], []
        for path in suites:
            gate_path = H200 / "optimum" / f"{name}{path.stem.removeprefix('suite-mission-60')}.json"
            gate = load_document(gate_path)
            commands.append(gate["command"])
            against = gate["problems"][0]["baselines"][0]
            optima.append(against["baseline"]["time"]["median_us"])
            within += gate["pass"]
            cells.append(f"[{against['ratio']:.3f}](../results/h200/optimum/{gate_path.name}){'' if gate['pass'] else ' *'}")
        rows.append([name, number(optima[0]), *cells])
    head = ["problem", "best of the whole space, us", *(f"seed {seeds[path]}" for path in suites)]
    links = ", ".join(f"[{seeds[path]}](../results/h200/{path.name})" for path in suites)
    return (f"{table(head, rows)}\n\nThe winner's time over that of the best; {within} of {len(commands)} within 2 %, the others have a star. "
            f"Searched by `{first['command']}` and with other seeds ({links}), compared by `{commands[0]}` and the like.")


def ending():
    """Sweeps that end by themselves."""
    rows = load("sweeps-default")["rows"]
    facts = [("within 1 % of the best", [percent(row["within1"]) for row in rows]), ("within 2 %", [percent(row["within2"]) for row in rows]),
             ("worst over the best", [number(row["worst"], 3) for row in rows]), ("candidates, mean", [number(row["evaluations"], 0) for row in rows])]
    head = [f"{rows[0]['repeats']} sweeps a problem", *(row["problem"] for row in rows)]
    return (f"{table(head, [[name, *cells] for name, cells in facts])}\n\n"
            f"Each by sweeps like `{rows[0]['command']}` ([sweeps-default.json](../results/replay/sweeps-default.json)).")


def main():
    fill("docs/search.md", (("spaces", spaces), ("scores", scores), ("hub", hub), ("fractions", fractions), ("batches", batches), ("journals", journals), ("sweeps", sweeps), ("ending", ending), ("sixty", sixty)))


if __name__ == "__main__":
    main()
