#!/usr/bin/env python3
"""Runs Kernel Tuner itself on recorded spaces, in its simulation mode, and scores it as `fatune replay` scores a strategy.

    compare_kernel_tuner.py CACHE... [--repeats 50] [--budget 220] [--out FILE.json]

CACHE: Kernel Tuner cache files, plain or .gz, closed or not. Kernel Tuner is installed in a virtual environment
(--venv, made by `tools/bootstrap.sh test`) and run unchanged: its tune_kernel() with each of its optimisers' own defaults, a limit of BUDGET unique
evaluations, and the configs of the file, failed ones included, as the space. Only reading and building the space are done once
a file instead of once a run; every run is a process forked after that, since a space remembers which neighbours it gave. Which configs it evaluates is noted where its simulation runner looks them up; the best of them
so far is scored as in src/search/replay/score.cpp: P is the mean over t = 10 to BUDGET of (E[random best] - best) / (E[random best]
- optimum). A run that an optimiser ends early keeps its best. The JSON has the rows of fatune.replay/1; those that FILE.json already has are not made again.
"""
import argparse
import contextlib
import gzip
import io
import json
import multiprocessing
import os
import pathlib
import random
import re
import sys
import tempfile
import time
import warnings

VERSION = "1.4.0"
ROOT = pathlib.Path(__file__).resolve().parents[1]
# Every optimiser that needs no further package; bayes_opt and the local minimisers take long on large spaces.
STRATEGIES = ["genetic_algorithm", "greedy_ils", "greedy_mls", "mls", "ordered_greedy_mls", "simulated_annealing", "dual_annealing",
              "basinhopping", "minimize", "diff_evo", "pso", "firefly_algorithm", "hybrid_vndx", "adaptive_tabu_greywolf", "random_sample", "bayes_opt"]
PREFIX = "kernel_tuner:"
FIRST_SCORED = 10
AT, WITHIN_AT, WITHIN = (25, 50, 100, 220), (100, 220), 0.05


# --- the same scores as src/search/replay ---------------------------------------------------------------------------------------

def expected_best(costs, most):
    """The mean best cost of t distinct random configs, t = 0 to `most`, exactly; a cost of None is a failure."""
    valid = sorted(cost for cost in costs if cost is not None)
    curve = [valid[-1]]
    for t in range(1, min(most, len(costs)) + 1):
        total, missed = valid[0], 1.0
        for rank in range(1, len(valid)):
            left = len(costs) - rank + 1
            missed *= max(0.0, (left - t) / left)
            if missed < 1e-18:
                break
            total += missed * (valid[rank] - valid[rank - 1])
        curve.append(total)
    return curve


def best_so_far(found, worst, budget):
    """found: the cost of each evaluation, None when it failed."""
    curve = [worst]
    for t in range(budget):
        cost = found[t] if t < len(found) else None
        curve.append(curve[-1] if cost is None else min(curve[-1], cost))
    return curve


def score_of(curve, expected, optimum, last):
    return sum((expected[t] - curve[t]) / (expected[t] - optimum) for t in range(FIRST_SCORED, last + 1)) / (last - FIRST_SCORED + 1)


def bootstrap(samples, resamples=10000):
    draw = random.Random(1)
    means = sorted(sum(draw.choices(samples, k=len(samples))) / len(samples) for _ in range(resamples))
    return [means[round(0.025 * (resamples - 1))], means[round(0.975 * (resamples - 1))]]


def score_row(costs, runs, budget):
    """runs: for each run the costs in the order of evaluation."""
    valid = [cost for cost in costs if cost is not None]
    optimum, worst = min(valid), max(valid)
    expected = expected_best(costs, budget)
    last = min(budget, len(costs) - 1)
    curves = [best_so_far(found, worst, budget) for found in runs]
    scores = [score_of(curve, expected, optimum, last) for curve in curves]

    def mean(values):
        return sum(values) / len(values)

    return {"repeats": len(runs), "P": mean(scores), "P_ci95": bootstrap(scores), "methodology_score": None,
            "at": {str(t): mean([optimum / curve[t] for curve in curves]) if t <= budget else None for t in AT},
            "within5": {str(t): mean([curve[t] <= optimum * (1 + WITHIN) for curve in curves]) if t <= budget else None for t in WITHIN_AT},
            "evaluations": sum(len(found) for found in runs)}


def no_score(failure):
    return {"repeats": 0, "P": None, "P_ci95": None, "methodology_score": None, "at": dict.fromkeys(map(str, AT)),
            "within5": dict.fromkeys(map(str, WITHIN_AT)), "evaluations": 0, "failure": failure}


# --- Kernel Tuner ---------------------------------------------------------------------------------------------------------

def enter_environment(folder):
    """Goes on in the interpreter that has Kernel Tuner."""
    if not (folder / f"kernel_tuner-{VERSION}").exists():
        sys.exit(f"no Kernel Tuner {VERSION} in {folder}: tools/bootstrap.sh test installs it")
    if pathlib.Path(sys.prefix).resolve() != folder.resolve():
        python = folder / "bin" / "python"
        os.execv(python, [str(python), *sys.argv])


def load_cache(path):
    """The file as closed JSON: Kernel Tuner closes what it wrote only when a run ended well."""
    text = (gzip.open(path, "rt") if path.suffix == ".gz" else open(path)).read().strip()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(re.sub(r",$", "", text) + "}\n}")


def cost_of(entry):
    value = entry.get("time")
    return None if "__error__" in entry or isinstance(value, str) or value is None else value


def complete(document):
    """Fields that some files leave out: a failed config's parameters, which its key has, and times, which the simulation adds up."""
    names = document["tune_params_keys"]
    spelled = [{str(value): value for value in document["tune_params"][name]} for name in names]
    for key, entry in document["cache"].items():
        for name, values, text in zip(names, spelled, key.split(",")):
            entry.setdefault(name, values[text])
        for field in ("compile_time", "verification_time", "benchmark_time"):
            entry.setdefault(field, 0)


class Nothing:
    """A strategy that evaluates nothing."""

    @staticmethod
    def tune(*_):
        return []


class Simulation:
    """One cache file, ready to be tuned many times."""

    def __init__(self, document, folder):
        from kernel_tuner import interface, util
        from kernel_tuner.runners.simulation import SimulationRunner
        names = document["tune_params_keys"]
        size = document["problem_size"]
        self.costs = {key: cost_of(entry) for key, entry in document["cache"].items()}
        complete(document)
        file = folder / "cache.json"
        file.write_text(json.dumps(document))
        parsed = util.read_cache(str(file), open_cache=False)
        inside = {tuple(entry[name] for name in names) for entry in parsed["cache"].values()}

        def in_the_file(config):
            return tuple(config[name] for name in names) in inside

        self.arguments = {"kernel_name": document["kernel_name"], "kernel_source": "", "arguments": [], "cache": str(file),
                          "problem_size": tuple(size) if isinstance(size, list) else 1 if isinstance(size, str) else (size,),
                          "tune_params": {name: document["tune_params"][name] for name in names}, "objective": "time",
                          "restrictions": [in_the_file], "simulation_mode": True, "quiet": True}
        parsed["problem_size"] = self.arguments["problem_size"]
        self.restore = [(util, "read_cache", util.read_cache), (util, "close_cache", util.close_cache)]
        util.read_cache = lambda *_, **__: parsed
        util.close_cache = lambda *_: None
        built, make = [], interface.Searchspace

        def once(*arguments, **options):
            if not built:
                built.append(make(*arguments, **options))
            return built[0]

        self.restore.append((interface, "Searchspace", make))
        interface.Searchspace = once
        self.order = []
        run = SimulationRunner.run
        self.restore.append((SimulationRunner, "run", run))

        def noted(runner, configs, options):
            configs = list(configs)
            before = set(runner.visited_results)
            results = run(runner, configs, options)
            for config in configs:
                key = ",".join(str(value) for value in config)
                if key in runner.visited_results and key not in before:
                    before.add(key)
                    self.order.append(key)
            return results

        SimulationRunner.run = noted
        self.run(Nothing(), 0, 1)  # builds the space

    def close(self):
        for owner, name, value in self.restore:
            setattr(owner, name, value)

    def run(self, strategy, seed, budget):
        """The costs in the order of evaluation."""
        import numpy
        from kernel_tuner import tune_kernel
        random.seed(seed)
        numpy.random.seed(seed)
        self.order.clear()
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tune_kernel(**self.arguments, strategy=strategy, strategy_options={"max_fevals": budget})
        return [self.costs[key] for key in self.order[:budget]]


SIMULATION = None  # of the file at hand; forked processes inherit it as it was built


def run_once(arguments):
    """The costs of a run and the processor time that it took."""
    started = time.process_time()
    return SIMULATION.run(*arguments), time.process_time() - started


def runs_of(strategy, args):
    runs, spent = [], 0
    with multiprocessing.get_context("fork").Pool(args.jobs, maxtasksperchild=1) as pool:
        for costs, seconds in pool.imap(run_once, [(strategy, args.seed + repeat, args.budget) for repeat in range(args.repeats)]):
            runs.append(costs)
            spent += seconds
            if spent > args.seconds:
                break
    return runs


def rows_of(path, strategies, args):
    global SIMULATION
    with tempfile.TemporaryDirectory() as folder:
        SIMULATION = Simulation(load_cache(path), pathlib.Path(folder))
        for strategy in strategies:
            row = {"file": path.name, "strategy": PREFIX + strategy}
            try:
                row |= score_row(list(SIMULATION.costs.values()), runs_of(strategy, args), args.budget)
            except Exception as error:  # an optimiser that cannot do a space is a row that says so
                row |= no_score(f"{type(error).__name__}: {error}".splitlines()[0][:200])
            yield row
        SIMULATION.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--budget", type=int, default=220)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--seconds", type=float, default=200, help="of processor time, a file and optimiser; then it has fewer repeats")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--strategies", type=lambda text: text.split(","), default=STRATEGIES)
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / ".deps" / "kernel-tuner")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core, however many there are
    enter_environment(args.venv)
    document = {"schema": "fatune.replay/1", "source": f"Kernel Tuner {VERSION}, simulation mode", "budget": args.budget, "batch": 1,
                "seed": args.seed, "rows": []}
    if args.out and args.out.exists():
        document["rows"] = json.loads(args.out.read_text())["rows"]
    rows = document["rows"]
    for path in args.files:
        known = {row["strategy"].removeprefix(PREFIX) for row in rows if row["file"] == path.name}
        missing = [strategy for strategy in args.strategies if strategy not in known]
        for row in rows_of(path, missing, args) if missing else []:
            rows.append(row)
            score = "failed: " + row["failure"] if row["P"] is None else f"P {row['P']:6.3f}  {row['repeats']} repeats"
            print(f"{row['file']:32} {row['strategy']:36} {score}", file=sys.stderr, flush=True)
            if args.out:
                args.out.write_text(json.dumps(document, indent=1) + "\n")
    if not args.out:
        print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
