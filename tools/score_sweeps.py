#!/usr/bin/env python3
"""Numbers about the numbers of sweeps: regret, winner flips, replay fidelity.

    score_sweeps.py FATUNE FOLDER [--seeds N] [--top N] [--steps STEP,...] [--limit-s S] [--out FILE] [--device DEVICE] [SWEEP OPTION...]

Measures in FOLDER what is not there yet, as far as the seconds go, and writes `fatune.scores/1` of all that is. STEPs, in this order; --steps= takes none:
  regret   sweeps with seed 1; the TOP candidates of each problem, as the search ranked them, in the same rounds; then the sweep's winner against the best of
           those in fresh rounds, because the fastest of many looks faster than it is
  bench    measures the winners of seed 1 again: once, and once more on each day on which the step is named
  flips    sweeps with the other seeds, and all winners of a problem in the same rounds
Sweeps run with --no-warm-start; SWEEP OPTIONs say the rest: --suite mission --layout packed --budget 60.
"""
import argparse
import collections
import datetime
import json
import pathlib
import signal
import subprocess
import time

TIMES = ("in_layer", "plain", "hot")  # the first that both sides have is compared, as the program does
STOP_S = 30  # for a sweep to end after an interrupt; chosen


class OutOfTime(Exception):
    pass


class Program:
    """Runs fatune in the folder, so that recorded commands name no other, until a moment."""

    def __init__(self, fatune, folder, device, limit_s):
        self.fatune, self.folder, self.device = str(fatune.resolve()), folder, ["--device", device] if device else []
        self.end, self.failures = time.monotonic() + limit_s, []

    def run(self, *words):
        left = self.end - time.monotonic()
        if left <= 0:
            raise OutOfTime
        process = subprocess.Popen([self.fatune, *words, *self.device, "-q"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            errors = process.communicate(timeout=left)[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # a journal goes on from there
            try:
                process.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise OutOfTime from None
        if process.returncode not in (0, 1):  # 1: measured, and a gate says no
            self.failures.append(f"fatune {' '.join(words)}: exit {process.returncode}: {errors.strip()}")

    def sweep(self, seed, options):
        journal = self.folder / f"seed-{seed}" / "journal.jsonl"
        if not journal.exists():
            self.run("sweep", *options, "--no-warm-start", "--seed", str(seed), "--out", f"seed-{seed}")
        elif '"status":"complete"' not in journal.read_text().splitlines()[-1]:
            self.run("sweep", "--resume", f"seed-{seed}")

    def gate(self, name, configs, seed=42):
        """The first config against each other in the same rounds, to NAME.json, unless it is there."""
        if (self.folder / f"{name}.json").exists() or len(configs) < 2:
            return
        (self.folder / "configs").mkdir(exist_ok=True)
        files = [f"configs/{name}-{place}.json" for place in range(1, len(configs) + 1)]
        for file, config in zip(files, configs):
            (self.folder / file).write_text(json.dumps(config))
        self.run("gate", "--candidate", files[0], "--baseline", ",".join(files[1:]), "--seed", str(seed), "--out", f"{name}.json")


def load(folder, name):
    path = folder / name
    return json.loads(path.read_text()) if path.exists() else None


def config_of(row, problem):
    return {"kernel": row["kernel"], "config": row["config"], "problem": problem}


def winners_of(best):
    """Config files of the winners, by a name that can stand in a file's."""
    named = {}
    for problem in best["problems"] if best else []:
        if problem["best"]:
            name = problem.get("name") or "-".join(str(problem["problem"][key]) for key in ("batch", "heads", "seq_q", "head_dim"))
            named[name] = config_of(problem["best"], problem["problem"])
    return named


def ranked(journal, problem):
    """Config files of the correct candidates, in the order of the time that the search minimised."""
    header, *lines = [json.loads(line) for line in journal.read_text().splitlines()]
    objective = header["plan"]["objective"]

    def searched(line):
        return line.get(objective) or line.get("hot")

    timed = [line for line in lines if line.get("t") == "candidate" and line["outcome"] == "measured" and line["problem"] == problem and searched(line)]
    return [config_of(line, problem) for line in sorted(timed, key=lambda line: searched(line)["median_us"])]


def winners_by_seed(folder):
    return [winners_of(load(path.parent, path.name)) for path in sorted(folder.glob("seed-*/best.json"))]


def counted(folder, name):
    """Each winner of a problem with the number of seeds that it won, the most frequent first."""
    texts = collections.Counter(json.dumps(winners[name]) for winners in winners_by_seed(folder) if name in winners)
    return [(json.loads(text), count) for text, count in texts.most_common()]


def measure_regret(program, args):
    program.sweep(1, args.sweep)
    for name, winner in winners_of(load(args.folder, "seed-1/best.json")).items():
        top = ranked(args.folder / "seed-1" / "journal.jsonl", winner["problem"])[:args.top]
        program.gate(f"regret-{name}", top + [winner] * (winner not in top))
        gate = load(args.folder, f"regret-{name}.json")
        best = gate and fastest(sides_of(gate))
        if best and best["config"] != winner:
            program.gate(f"again-{name}", [winner, best["config"]], seed=43)


def measure_bench(program, args):
    today = f"bench-{datetime.date.today()}.json"
    if not (args.folder / today).exists() and (args.steps is not None or not list(args.folder.glob("bench-*.json"))):
        rivals = [row["impl"] for row in load(args.folder, "seed-1/best.json")["problems"][0]["baselines"]]
        beside = ["--impl", ",".join(rivals)] if rivals else []  # rounds like those of the sweep: without them our times differ by 5 % and more
        program.run("bench", "--config", "seed-1/best.json", *beside, "--out", today)


def measure_flips(program, args):
    for seed in range(1, args.seeds + 1):
        program.sweep(seed, args.sweep)
    for name in winners_of(load(args.folder, "seed-1/best.json")):
        winners = counted(args.folder, name)
        program.gate(flips_name(name, winners), [config for config, _ in winners])


STEPS = {"regret": measure_regret, "bench": measure_bench, "flips": measure_flips}


def flips_name(name, winners):
    return f"flips-{name}-{sum(count for _, count in winners)}"


def sides_of(gate):
    """What has the time that the gate compares, the candidate first: with it, and with the candidate's time over it."""
    problem = gate["problems"][0]
    which, sides = problem["time"], []
    rows = [{"baseline": problem.get("candidate", {}), "ratio": 1.0, "ci95": [1.0, 1.0], "comparison": "tie"}, *problem["baselines"]]
    if which not in rows[0]["baseline"]:  # refused
        return []
    for place, row in enumerate(rows, 1):
        if which not in row["baseline"]:
            continue
        us = row["baseline"][which]["median_us"]
        ratio = row.get("ratio", rows[0]["baseline"][which]["median_us"] / us)  # a recording has no rounds of candidates, so no ratio
        sides.append({"place": place, "config": config_of(row["baseline"], problem["problem"]), "us": us, "comparison": row.get("comparison"),
                      "over": {"regret": ratio - 1, "ci95": [end - 1 for end in row["ci95"]] if "ci95" in row else None}})
    return sides


def fastest(sides):
    return min(sides, key=lambda side: side["us"], default=None)


def regret_row(name, gate, again, winner):
    sides = sides_of(gate)
    best = fastest(sides)
    fresh = sides_of(again)[1:] if again else []
    of_winner = fresh[0]["over"] if fresh else {"regret": 0.0, "ci95": None} if best["config"] == winner else None
    return {"problem": name, "time": gate["problems"][0]["time"], "contestants": len(sides), "best_us": best["us"], "place_of_best": best["place"],
            "first": best["over"], "winner": of_winner, "commands": [each["command"] for each in (gate, again) if each]}


def regrets(folder):
    rows = []
    for name, winner in winners_of(load(folder, "seed-1/best.json")).items():
        gate = load(folder, f"regret-{name}.json")
        if gate and sides_of(gate):
            rows.append(regret_row(name, gate, load(folder, f"again-{name}.json"), winner))
    return rows


def refused(folder):
    """The search's first of a problem, where the gates refused it in the rounds that were to say its regret: there are no ratios to it then."""
    for name in winners_of(load(folder, "seed-1/best.json")):
        gate = load(folder, f"regret-{name}.json")
        if gate and not sides_of(gate):
            yield f"regret of {name}: the search's first is {gate['problems'][0].get('candidate', {}).get('reason', 'not measured')}"


def flips(folder):
    rows = []
    for name in winners_of(load(folder, "seed-1/best.json")):
        winners = counted(folder, name)
        gate, sweeps = load(folder, flips_name(name, winners) + ".json"), sum(count for _, count in winners)
        sides = sides_of(gate) if gate else []
        times = [side["us"] for side in sides]
        if sweeps > 1:
            rows.append({"problem": name, "sweeps": sweeps, "winners": len(winners), "flips": sweeps - winners[0][1], "time": gate and gate["problems"][0]["time"],
                         "spread": max(times) / min(times) - 1 if times else None, "told_apart": sum(side["comparison"] in ("faster", "slower") for side in sides),
                         "commands": [gate["command"]] if gate else []})
    return rows


def fidelity(folder):
    rows, best = [], load(folder, "seed-1/best.json")
    for bench in [load(folder, path.name) for path in sorted(folder.glob("bench-*.json"))]:
        for measured in bench["problems"]:
            for name, winner in winners_of(best).items():
                then = next(problem["best"] for problem in best["problems"] if problem["problem"] == winner["problem"] and problem["best"])
                now = next((row for row in measured["rows"] if row["role"] != "baseline" and config_of(row, measured["problem"]) == winner), {})
                which = next((each for each in TIMES if each in then and each in now), None)
                if which:
                    us = [side[which]["median_us"] for side in (then, now)]
                    rows.append({"problem": name, "date": bench["date"], "time": which, "then_us": us[0], "now_us": us[1], "difference": us[1] / us[0] - 1,
                                 "commands": [best["command"], bench["command"]]})
    return rows


def scores_of(folder, failures):
    best = load(folder, "seed-1/best.json") or {}
    sweeps = [load(folder, str(path.relative_to(folder)))["command"] for path in sorted(folder.glob("seed-*/best.json"))]
    return {"schema": "fatune.scores/1", **{key: best.get(key) for key in ("fatune", "device", "recorded")}, "sweeps": sweeps,
            "regret": regrets(folder), "flips": flips(folder), "fidelity": fidelity(folder), "failures": [*refused(folder), *failures]}


def percent(share):
    return "-" if share is None else f"{100 * share:.2f} %"


def text_of(scores):
    lines = [f"regret    {row['problem']}: the search's first {percent(row['first']['regret'])}, the winner {percent(row['winner'] and row['winner']['regret'])}; best of "
             f"{row['contestants']}: place {row['place_of_best']}, {row['best_us']:.3f} us {row['time']}" for row in scores["regret"]]
    lines += [f"flips     {row['problem']}: {row['flips']} of {row['sweeps']} sweeps; {row['winners']} winners, {percent(row['spread'])} apart, {row['told_apart']} told apart"
              for row in scores["flips"]]
    lines += [f"fidelity  {row['problem']}: {row['then_us']:.3f} us {row['time']}, {row['now_us']:.3f} on {row['date']}: {percent(row['difference'])}" for row in scores["fidelity"]]
    return "\n".join(lines + scores["failures"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("fatune", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--steps", type=lambda text: text.split(",") if text else [])
    parser.add_argument("--limit-s", type=float, default=24 * 3600)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--device")
    args, args.sweep = parser.parse_known_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    program = Program(args.fatune, args.folder, args.device, args.limit_s)
    for step in STEPS if args.steps is None else args.steps:
        try:
            STEPS[step](program, args)
        except OutOfTime:
            program.failures.append(f"out of time in step {step}")
            break
    scores = scores_of(args.folder, program.failures)
    (args.out or args.folder / "scores.json").write_text(json.dumps(scores, indent=2) + "\n")
    print(text_of(scores))


if __name__ == "__main__":
    main()
