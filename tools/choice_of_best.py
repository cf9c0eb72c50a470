#!/usr/bin/env python3
"""How the best of a problem is chosen, by runs that were kept: decisions 0046, 0047 and 0056 have the answers.

    choice_of_best.py RUN...      folders with journal.jsonl.gz, else they are left out, and best.json if the run ended; needs numpy

rules: every final phase of at least 10 rounds and 4 configs is halved 30 times at random. A rule chooses by one half; the other says by how much its choice is slower
than the fastest there (lost), and than it looked in the half that chose it (flattered). Means over phases, in per cent: of the noisy ones, whose fastest loses more
than 0.4 %, and of the others.
winners: those in best.json that took more than 0.2 % longer than the fastest finalist.
finalists: of each problem of a run, when all take part that its search cannot tell from its best, 8 at least and 20 at most; and the standard error of the times of
its 20 best, the median of them, in per cent.
searches: of each problem of a run that had one, the final phase's times over the search's of the search's eight fastest, the median, by how much they differ from one another
(standard deviation, in per cent), and what the search believes its times to be off by (the median); the seconds that a candidate beyond the 60th took; and its fastest in microseconds, had it
ended after 40 and after 60 in a row that were no faster, and as it ended.
"""
import collections
import functools
import gzip
import json
import math
import pathlib
import statistics
import sys

import numpy as np

HALVES, RESAMPLES = 30, 200
NOISY = 0.004
ROUNDS = ("in_layer_rounds_us", "plain_rounds_us", "hot_rounds_us")  # the first that there is ranks
TIMES = ("in_layer", "plain", "hot")  # the first that all have ranks
ALIKE = 1.002
RULES = {"fastest": 1, "smallest within 0.2 %": ALIKE, "smallest of ties": np.inf}
LEAST_FINALISTS, MOST_FINALISTS = 8, 20
MOST_ERROR = 0.03  # of the time of a single turn
SURE, IN_A_ROW = 60, (40, 60)


def footprint(record):
    """Bytes of a multiprocessor's registers and shared memory that a block holds."""
    used = record.get("resources") or {}
    return 4 * used.get("registers", 0) * used.get("threads", 0) + used.get("static_shared_bytes", 0) + used.get("dynamic_shared_bytes", 0)


@functools.cache
def records_of(run):
    with gzip.open(run / "journal.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def phases(runs):
    """Of each final phase the rounds of its configs, an array a config, and their footprints."""
    found = collections.defaultdict(dict)
    for run in runs:
        for record in records_of(run):
            if record.get("role") not in ("finalist", "default") or record.get("outcome") != "measured":
                continue
            rounds = next((record[name] for name in ROUNDS if record.get(name)), None)
            if rounds:
                found[run, json.dumps(record["problem"], sort_keys=True)][record["id"]] = (None if record.get("timed_again") else rounds, footprint(record))
    for configs in found.values():
        if any(rounds is None for rounds, _ in configs.values()):
            continue  # the best's rounds are not the others'
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
        alike = np.flatnonzero(ties & (medians <= limit * medians[fastest]))
        yield min(alike, key=lambda place: (sizes[place], medians[place]))


def costs(rounds, sizes, random):
    """(lost, flattered) of each rule, means over halves."""
    found = []
    for _ in range(HALVES):
        shuffled = random.permutation(rounds.shape[1])
        choosing, judging = np.array_split(rounds[:, shuffled], 2, axis=1)
        looked, is_ = np.median(choosing, 1), np.median(judging, 1)
        found.append([(is_[place] / is_.min() - 1, is_[place] / looked[place] - 1) for place in choose(choosing, sizes, random)])
    return np.mean(found, 0)


def show_rules(runs):
    random = np.random.default_rng(1)
    found = np.array([costs(rounds, sizes, random) for rounds, sizes in phases(runs)])
    noisy = found[:, 0, 0] > NOISY
    for name, part in (("noisy", found[noisy]), ("others", found[~noisy])):
        print(f"rules, {name}: {len(part)} phases")
        for rule, (lost, flattered) in zip(RULES, 100 * part.mean(0)):
            print(f"  {rule:<22} lost {lost:5.2f} %  flattered {flattered:5.2f} %")


def behind(problem):
    """The best's time over the fastest finalist's, by the time that ranks them; 1 where the best's rounds are not the others'."""
    rows = [each for each in problem["finalists"] if each["outcome"] == "measured"]
    if any(each.get("timed_again") for each in rows):
        return 1
    time = next(time for time in TIMES if all(each.get(time) for each in rows))
    return rows[0][time]["median_us"] / min(each[time]["median_us"] for each in rows)


def show_winners(runs):
    problems = [problem for run in runs if (run / "best.json").exists() for problem in json.loads((run / "best.json").read_text())["problems"] if problem["best"]]
    behinds = sorted(found for found in map(behind, problems) if found > ALIKE)
    if problems:
        print(f"winners: {len(behinds)} of {len(problems)} slower than a finalist" + (f", by {100 * (behinds[0] - 1):.1f} to {100 * (behinds[-1] - 1):.1f} %" if behinds else ""))


def finalists_of(times):
    """`times`: (median, standard error over it) of a search's candidates, fastest first."""
    fastest, error = times[0]
    count = min(LEAST_FINALISTS, len(times))
    while count < min(MOST_FINALISTS, len(times)) and times[count][0] <= fastest * (1 + 2 * math.hypot(min(times[count][1], MOST_ERROR), min(error, MOST_ERROR))):
        count += 1
    return count


def searches_of(run):
    """Candidates of each problem, in their order."""
    searches = collections.defaultdict(list)
    for record in records_of(run):
        if record.get("t") == "candidate":
            searches[json.dumps(record["problem"], sort_keys=True)].append(record)
    return searches


def time_of(candidate):
    return candidate.get("in_layer") or candidate["hot"]


def measured(candidates):
    return [each for each in candidates if each["outcome"] == "measured"]


def show_finalists(run):
    counts = []
    for candidates in searches_of(run).values():
        times = sorted((time["median_us"], time["sem_relative"]) for time in map(time_of, measured(candidates)))
        counts.append((finalists_of(times), statistics.median(error for _, error in times[:MOST_FINALISTS])))
    print(f"finalists, {run.name}: " + " ".join(f"{count} ({100 * error:.2f} %)" for count, error in counts))


def fastest_after(candidates, in_a_row):
    """Microseconds."""
    fastest, place = math.inf, 0
    for number, candidate in enumerate(candidates, 1):
        if candidate["outcome"] == "measured" and time_of(candidate)["median_us"] < fastest:
            fastest, place = time_of(candidate)["median_us"], number
        if number >= max(SURE, place + in_a_row):
            break
    return fastest


def show_searches(run):
    finals = {(json.dumps(record["problem"], sort_keys=True), record["id"]): record for record in records_of(run) if record.get("role") == "finalist"}
    names = {json.dumps(each["problem"], sort_keys=True): each["name"] or run.name for each in records_of(run)[0]["plan"]["problems"]}
    spreads = []
    for problem, candidates in searches_of(run).items():
        eight = sorted(measured(candidates), key=lambda each: time_of(each)["median_us"])[:LEAST_FINALISTS]
        name = "in_layer" if "in_layer" in eight[0] else "hot"
        both = [(finals[problem, each["id"]].get(name), each[name]) for each in eight if (problem, each["id"]) in finals]
        shifts = [math.log(final["median_us"] / search["median_us"]) for final, search in both if final]
        if not shifts:
            continue  # no final phase
        spreads.append(statistics.pstdev(shifts))
        believed = statistics.median(time_of(each)["sem_relative"] for each in eight)
        moments = sorted(each["at_s"] for each in candidates)
        each_s = f"{(moments[-1] - moments[SURE - 1]) / (len(moments) - SURE):.3f} s each" if len(moments) > SURE else ""
        ends = [fastest_after(candidates, in_a_row) for in_a_row in (*IN_A_ROW, math.inf)]
        print(f"search, {names[problem]}: {len(candidates)}, final x{math.exp(statistics.median(shifts)):.2f}, off by {100 * spreads[-1]:.2f} % (believed {100 * believed:.2f}), {each_s}; " + ", ".join(f"{us:.2f}" for us in ends) + " us")
    if spreads:
        print(f"searches, {run.name}: {len(spreads)}, off by {100 * min(spreads):.2f} to {100 * max(spreads):.2f} %, median {100 * statistics.median(spreads):.2f}")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    runs = [run for run in map(pathlib.Path, sys.argv[1:]) if (run / "journal.jsonl.gz").exists()]
    show_rules(runs)
    show_winners(runs)
    for run in runs:
        show_finalists(run)
        show_searches(run)


if __name__ == "__main__":
    main()
