#!/usr/bin/env python3
"""known_configs.py - keeps configs/known/ARCH.json, and ARCH_DEVICE.json of further devices, where searches start.

    known_configs.py RUN...     adds what the best.json of each run has, where it is faster than what is known
    known_configs.py --check    exit 1 when a file is not as this program writes it

A file holds one config a line: the fastest of each problem and kernel, the fastest kernel of a problem first.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
KNOWN = ROOT / "configs" / "known"
TIMES = ("in_layer", "plain", "hot")  # A time in a layer counts before the others.


def rank_of(known):
    return TIMES.index(known["time"]), known["median_us"]


def key_of(known):
    return json.dumps([known["problem"], known["kernel"]])


def configs_of(best, run):
    """Every measured finalist of a best.json as an entry of a known file."""
    document = json.loads(best.read_text())
    for problem in document.get("problems", [document]):
        name = f": {problem['name']}" if problem.get("name") else ""
        for finalist in problem["finalists"]:
            time = next((time for time in TIMES if time in finalist), None)
            if finalist["outcome"] == "measured" and time:
                yield document["device"], {"problem": problem["problem"], "kernel": finalist["kernel"], "config": finalist["config"], "source": f"{run}{name}",
                                           "time": time, "median_us": float(f"{finalist[time]['median_us']:.4g}")}


def in_order(configs):
    problems = list(dict.fromkeys(json.dumps(known["problem"]) for known in configs))
    return sorted(configs, key=lambda known: (problems.index(json.dumps(known["problem"])), rank_of(known)))


def text_of(document):
    head = json.dumps({key: value for key, value in document.items() if key != "configs"})[:-1]
    lines = ",\n".join("  " + json.dumps(known, separators=(",", ":")) for known in in_order(document["configs"]))
    return f'{head}, "configs": [\n{lines}\n]}}\n'


def file_of(device, files):
    """The first file of an architecture has no device in its name."""
    for path, document in files.items():
        if (document["arch"], document["device"]) == (device["arch"], device["name"]):
            return path
    first = KNOWN / f"{device['arch']}.json"
    path = KNOWN / f"{device['arch']}_{device['name'].split()[1].lower()}.json" if first in files else first
    files[path] = {**next(iter(files.values())), "arch": device["arch"], "device": device["name"], "configs": []}
    return path


def add(runs, files):
    for run in map(pathlib.Path, runs):
        for device, known in configs_of(run / "best.json", (run / "best.json").as_posix()):
            configs = files[file_of(device, files)]["configs"]
            place = next((number for number, each in enumerate(configs) if key_of(each) == key_of(known)), None)
            if place is None:
                configs.append(known)
            elif rank_of(known) < rank_of(configs[place]):
                configs[place] = known


def main():
    files = {path: json.loads(path.read_text()) for path in sorted(KNOWN.glob("*.json"))}
    if sys.argv[1:] == ["--check"]:
        stale = [path.name for path, document in files.items() if path.read_text() != text_of(document)]
        if stale:
            sys.exit(f"{', '.join(stale)}: not as tools/known_configs.py writes it")
    elif sys.argv[1:] and not sys.argv[1].startswith("-"):
        add(sys.argv[1:], files)
        for path, document in files.items():
            path.write_text(text_of(document))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
