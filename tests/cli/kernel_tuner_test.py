#!/usr/bin/env python3
"""Lets Kernel Tuner simulate on a cache of `fatune report`, and compares with the journal.

    kernel_tuner_test.py --fatune PATH --venv FOLDER

FOLDER is the Python environment that `tools/bootstrap.sh test` makes. Without it the test is skipped (exit 77); under CI=true
that is a failure.
"""
import argparse
import contextlib
import gzip
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

VERSION = "1.4.0"
SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
JOURNAL = ROOT / "configs" / "recorded" / "h200-mission.jsonl.gz"
KERNEL = "fa_mma"
BUDGET = 60
FEWEST = 10  # an optimiser may end early, but not at once
# The fifth, fifteenth, ... config of the journal gets one of these failures; Kernel Tuner names two of them.
FAILURES = ["timeout", "wrong_result", "compile_error", "launch_error", "crashed"]
INVALIDITY = {"timeout": "timeout", "wrong_result": "correctness", "compile_error": "compile", "launch_error": "runtime", "crashed": "runtime"}


def enter_environment(folder):
    """Restarts in an interpreter that has Kernel Tuner, or skips the test."""
    if not (folder / f"kernel_tuner-{VERSION}").exists():
        fails = bool(os.environ.get("CI"))
        print(f"{'FAILED' if fails else 'skipped'}: no Kernel Tuner {VERSION} here (tools/bootstrap.sh test installs it)")
        sys.exit(1 if fails else SKIPPED)
    if pathlib.Path(sys.prefix).resolve() != folder.resolve():
        python = folder / "bin" / "python"
        os.execv(python, [str(python), *sys.argv])


def write_journal(path):
    """The recorded journal's configs of one kernel, some of them failed. Returns {config as JSON: ms, or the failure}."""
    truth, lines = {}, []
    for line in gzip.open(JOURNAL, "rt"):
        record = json.loads(line)
        if "schema" in record:
            lines.append(line.rstrip("\n"))
        if record.get("t") != "candidate" or record["kernel"] != KERNEL:
            continue
        value = record["in_layer"]["median_us"] / 1000
        if len(truth) % 10 == 5:
            value = record["outcome"] = FAILURES[len(truth) // 10 % len(FAILURES)]
            for field in ("in_layer", "hot", "cold", "verify"):
                record.pop(field, None)
            record["reason"] = "for the test"
        truth[json.dumps(record["config"])] = value
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines) + "\n")
    return truth


def export(fatune, journal, form, path):
    subprocess.run([fatune, "report", journal, "--format", form, "--out", path, "--quiet"], check=True)


def check(condition, message):
    if not condition:
        sys.exit("FAILED: " + message)


def check_t4(path, truth):
    import jsonschema
    from kernel_tuner import file_utils
    document = json.loads(path.read_text())
    _, schema = file_utils.output_file_schema("results")
    jsonschema.validate(document, schema)
    check(len(document["results"]) == len(truth), "T4 results are as many as the journal's candidates")
    for result in document["results"]:
        value = truth[json.dumps(result["configuration"])]
        expected = INVALIDITY[value] if isinstance(value, str) else "correct"
        check(result["invalidity"] == expected, f"{result['configuration']} is {result['invalidity']}, not {expected}")
    print(f"T4: {len(document['results'])} results follow Kernel Tuner's schema")


def simulate(path, strategy, options):
    from kernel_tuner.interface import tune_cache
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        results, _ = tune_cache(str(path), strategy=strategy, strategy_options=options, quiet=True, seed=1)
    return results


def check_simulation(path, truth, strategy):
    options = {} if strategy == "brute_force" else {"max_fevals": BUDGET}
    results = simulate(path, strategy, options)
    names = list(json.loads(next(iter(truth))))
    found = {}
    for result in results:
        config = json.dumps({name: result[name] for name in names})
        check(config in truth, f"{strategy} evaluated {config}, which the journal does not have")
        value = truth[config]
        check("__error__" in result if isinstance(value, str) else result["time"] == value,
              f"{strategy}: {config} took {result['time']}, in the journal {value}")
        if not isinstance(value, str):
            found[config] = value
    valid = [value for value in truth.values() if not isinstance(value, str)]
    best, optimum = min(found.values()), min(valid)
    if strategy == "brute_force":
        check(len(found) == len(valid) and best == optimum, "brute force finds every measured config and the optimum")
    check(len(found) >= FEWEST, f"{strategy} evaluated {len(found)} configs only")
    print(f"{strategy}: best {best:.6f} ms of {len(found)} configs (optimum {optimum:.6f} ms)")


def parser(about):
    found = argparse.ArgumentParser(description=about.splitlines()[0])
    found.add_argument("--fatune", required=True, type=pathlib.Path)
    found.add_argument("--venv", required=True, type=pathlib.Path)
    return found


def main():
    args = parser(__doc__).parse_args()
    enter_environment(args.venv)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        truth = write_journal(folder / "journal.jsonl")
        export(args.fatune, folder, "t4", folder / "t4.json")
        check_t4(folder / "t4.json", truth)
        export(args.fatune, folder, "kernel-tuner", folder / "cache.json")
        for strategy in ("brute_force", "random_sample", "genetic_algorithm", "greedy_ils", "simulated_annealing"):
            check_simulation(folder / "cache.json", truth, strategy)


if __name__ == "__main__":
    main()
