#!/usr/bin/env python3
"""What a rule that chooses the best of a final phase costs, by the rounds in journals; decision 0047 has the answer.

    choice_of_best.py JOURNAL.jsonl.gz...      needs numpy

Every final phase of at least 10 rounds and 4 configs is halved 30 times at random. A rule chooses by one half; the other says by how much its choice is slower than
the fastest there (lost), and than it looked in the half that chose it (flattered). Means over phases, in per cent: of the noisy ones, whose fastest loses more than
0.4 %, and of the others.
"""
import collections
import gzip
import json
import sys

import numpy as np

HALVES, RESAMPLES = 30, 200
NOISY = 0.004
ROUNDS = ("in_layer_rounds_us", "plain_rounds_us", "hot_rounds_us")  # the first that there is ranks
RULES = {"fastest": 0, "smallest within 0.2 %": 1.002, "smallest of ties": np.inf}


def footprint(record):
    """Bytes of a multiprocessor's registers and shared memory that a block holds."""
    used = record.get("resources") or {}
    return 4 * used.get("registers", 0) * used.get("threads", 0) + used.get("static_shared_bytes", 0) + used.get("dynamic_shared_bytes", 0)


def phases(files):
    """Of each final phase the rounds of its configs, an array a config, and their footprints."""
    found = collections.defaultdict(dict)
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                if record.get("role") not in ("finalist", "default") or record.get("outcome") != "measured":
                    continue
                rounds = next((record[name] for name in ROUNDS if record.get(name)), None)
                if rounds:
                    found[file, json.dumps(record["problem"], sort_keys=True)][record["id"]] = (rounds, footprint(record))
    for configs in found.values():
        least = min(len(rounds) for rounds, _ in configs.values())
        if least >= 10 and len(configs) >= 4:
            yield np.array([rounds[:least] for rounds, _ in configs.values()]), np.array([size for _, size in configs.values()])


def choose(rounds, sizes, random):
    """The place that each rule chooses."""
    medians = np.median(rounds, 1)
    fastest = medians.argmin()
    drawn = np.median(rounds[:, random.integers(0, rounds.shape[1], (RESAMPLES, rounds.shape[1]))], 2)
    low, high = np.percentile(drawn / drawn[fastest], [2.5, 97.5], axis=1)
    ties = (low <= 1) & (high >= 1)
    ties[fastest] = True
    for limit in RULES.values():
        alike = np.flatnonzero(ties & (medians <= max(limit, 1) * medians[fastest]))
        yield fastest if limit == 0 else min(alike, key=lambda place: (sizes[place], medians[place]))


def costs(rounds, sizes, random):
    """(lost, flattered) of each rule, means over halves."""
    found = []
    for _ in range(HALVES):
        shuffled = random.permutation(rounds.shape[1])
        choosing, judging = np.array_split(rounds[:, shuffled], 2, axis=1)
        looked, is_ = np.median(choosing, 1), np.median(judging, 1)
        found.append([(is_[place] / is_.min() - 1, is_[place] / looked[place] - 1) for place in choose(choosing, sizes, random)])
    return np.mean(found, 0)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    random = np.random.default_rng(1)
    found = np.array([costs(rounds, sizes, random) for rounds, sizes in phases(sys.argv[1:])])
    noisy = found[:, 0, 0] > NOISY
    for name, part in (("noisy", found[noisy]), ("others", found[~noisy])):
        print(f"{name}: {len(part)} phases")
        for rule, (lost, flattered) in zip(RULES, 100 * part.mean(0)):
            print(f"  {rule:<22} lost {lost:5.2f} %  flattered {flattered:5.2f} %")


if __name__ == "__main__":
    main()
