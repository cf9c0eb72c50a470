"""Documents of fatune as the tools here read them: those of version 2 in the shape of version 1.

The committed results are of both; what differs is where a problem's members, times and devices stand.
"""
import json
import pathlib


def _contestant(side):
    """A row of a suite with its medians beside the name."""
    return {**side, **{f"{which}_us": side[which]["median_us"] for which in ("hot", "cold") if which in side}}


def _suite(document):
    rows = [{"ratio": None, "ci95": None, "verdict": None, "best_baseline": None, **problem,
             "best": problem["best"] and _contestant(problem["best"]),
             "baselines": {side["impl"]: _contestant(side) for side in problem["baselines"]}} for problem in document["problems"]]
    return {**document, "rows": rows}


def _gate(document):
    for problem in document["problems"]:
        sides = [row["baseline"] for row in problem["baselines"]]
        for side in [problem["candidate"], *sides] if "candidate" in problem else sides:
            if document["objective"] in side:
                side["time"] = side[document["objective"]]
    return document


def _replay(document):
    for space in document["spaces"]:
        space.update(device=space["device"]["name"], problem=space.get("label", ""))
    return document


def _best(document):
    return {**document, **document["problems"][0]} if len(document["problems"]) == 1 else document


_READERS = {"fatune.best/2": _best, "fatune.gate/2": _gate, "fatune.replay/2": _replay, "fatune.suite/2": _suite}


def load(path):
    document = json.loads(pathlib.Path(path).read_text())
    return _READERS.get(document.get("schema"), lambda same: same)(document)
