#!/usr/bin/env python3
"""look_ahead.py - a journal's compile and device times to how long the same candidates take otherwise.

    look_ahead.py JOURNAL... [--jobs 16] [--compile S] [--device S]

Replays the pipeline of compilers, window and one device by events: each problem's candidates in their order, with
the seconds that the journal says each compilation and each run took, or with those given. No search is replayed, no
compiling ahead, and no final phase.
"""
import argparse
import collections
import gzip
import heapq
import itertools
import json
import pathlib


def load(path):
    """For each problem its candidates as (compile seconds, device seconds, kernel)."""
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
    with opened as lines:
        records = [json.loads(line) for line in lines]
    candidates = [record for record in records[1:] if record.get("t") == "candidate"]
    problems = []
    for _, group in itertools.groupby(candidates, key=lambda record: record["problem"]):
        problems.append([(r["spent"].get("compile_s", 0.0), r["spent"].get("verify_s", 0.0) + r["spent"].get("timing_s", 0.0),
                          r["kernel"]) for r in group])
    return problems


SPREAD = 7  # evo's, as the next two: src/search/strategies/evo.cpp
FEW_EVALUATIONS, LITTLE_TIME = (2, 8), (6, 4)  # in flight at least, and answers for one more


def may_ask(asked, told, bounds):
    """Whether a kernel's search that asked and was told so many wants another one in flight."""
    least, answers_for_one_more = bounds
    return asked < SPREAD or asked - told < least + told // answers_for_one_more


def simulate(candidates, jobs, window, in_order, drains, bounds=None):
    """Seconds until all are told, in order; `drains` waits for everything where the kernel changes, `bounds` keep
    each kernel's search to what may_ask() says."""
    ends = [i for i in range(1, len(candidates)) if candidates[i][2] != candidates[i - 1][2]] if drains else []
    ends.append(len(candidates))
    now, asked, told = 0.0, 0, 0
    queue, compiling, ready, done, running = [], [], [], set(), None
    asked_of, told_of = collections.Counter(), collections.Counter()
    while told < len(candidates):
        limit = next(end for end in ends if end > told)
        while asked < min(limit, told + window):
            kernel = candidates[asked][2]
            if bounds and not may_ask(asked_of[kernel], told_of[kernel], bounds):
                break
            queue.append(asked)
            asked_of[kernel] += 1
            asked += 1
        while queue and len(compiling) < jobs:
            number = queue.pop(0)
            heapq.heappush(compiling, (now + candidates[number][0], number))
        may_run = ready and (not in_order or all(i in done for i in range(told, ready[0])))
        if running is None and may_run:
            number = heapq.heappop(ready)
            running = (now + candidates[number][1], number)
        now = min(event[0] for event in (compiling[:1] + ([running] if running else [])))
        if running is not None and running[0] <= now:
            done.add(running[1])
            running = None
        while compiling and compiling[0][0] <= now:
            heapq.heappush(ready, heapq.heappop(compiling)[1])
        while told in done:
            told_of[candidates[told][2]] += 1
            told += 1
    return now


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("journals", nargs="+", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--compile", type=float, help="seconds of each compilation, instead of the journal's")
    parser.add_argument("--device", type=float, help="seconds of each run, instead of the journal's")
    args = parser.parse_args()
    jobs = args.jobs
    ways = [("window jobs + 2, device in order, drained at each kernel", jobs + 2, True, True),
            ("window 2 x jobs, device in order, drained at each kernel", 2 * jobs, True, True),
            ("window 2 x jobs, device takes what is ready, drained", 2 * jobs, False, True),
            ("window jobs + 2, device takes what is ready, no drain", jobs + 2, False, False),
            ("window 2 x jobs, device takes what is ready, no drain", 2 * jobs, False, False),
            ("window 3 x jobs, device takes what is ready, no drain", 3 * jobs, False, False),
            ("window 2 x jobs, of it each search what it can use", 2 * jobs, False, False, FEW_EVALUATIONS),
            ("window 2 x jobs, of it each search more, where time is scarce", 2 * jobs, False, False, LITTLE_TIME)]
    for path in args.journals:
        problems = load(path)
        problems = [[(args.compile or c, args.device or d, kernel) for c, d, kernel in problem] for problem in problems]
        everything = [candidate for problem in problems for candidate in problem]
        print(f"{path}: {len(everything)} candidates of {len(problems)} problems")
        print(f"  {sum(c[0] for c in everything) / jobs:8.2f} s  compilations on {jobs} processes, nothing else")
        print(f"  {sum(c[1] for c in everything):8.2f} s  device, nothing else")
        for name, *way in ways:
            seconds = sum(simulate(problem, jobs, *way) for problem in problems)
            print(f"  {seconds:8.2f} s  {name}")


if __name__ == "__main__":
    main()
