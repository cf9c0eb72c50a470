#!/usr/bin/env python3
"""evidence.py - measures on this machine's GPU what results/ and configs/recorded/ hold.

    evidence.py FATUNE OUT [STEP...] [--budget N] [--baselines A,B] [--device cuda:0,...] [--objective hot] [--shard I/N]

FATUNE is the program and OUT a folder. A sweep that was interrupted goes on where it ended. Without STEPs all of them run. Every
sweep starts from an empty compilation cache and from no known config. `tools/results.py collect OUT DEVICE` copies OUT to results/.
"""
import argparse
import datetime
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import time

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"
FAST = "cudnn,torch:flash,torch:cudnn,fa4"
ALL = "naive,cublas,hybrid_qkt,hybrid_pv,cudnn,cudnn:best,torch:flash,torch:cudnn,torch:efficient,torch:math"
EVERY_KERNEL = "fa_rows,fa_tiled,fa_wmma,fa_mma,fa_split,fa_wgmma,fa_wgmma_interleaved,fa_wgmma_stream_k"
WHOLE_SPACES = "fa_rows,fa_tiled,fa_wmma,fa_mma,fa_wgmma_interleaved"
SEEDS = range(42, 52)
MISSION = ("--shape", "4,8,512,64")
# The arguments of each step that is one sweep, without its baselines and its budget.
SWEEPS = {
    "mission": (MISSION, None, None),
    "long": (("--shape", "1,8,4096,64"), None, None),
    "spaces": ((*MISSION, "--kernel", WHOLE_SPACES, "--strategy", "exhaustive"), "none", None),
    "kernels": ((*MISSION, "--kernel", EVERY_KERNEL), ALL, 900),
    "suite-mission": (("--suite", "mission", "--layout", "packed"), FAST, None),
    "suite-models": (("--suite", "models"), FAST, None),
    "suite-fa3-bshd": (("--suite", "fa3", "--layout", "bshd"), FAST, 80),
    "suite-decode": (("--suite", "decode"), "cudnn,torch:flash", 80),
    "suite-fp8": (("--suite", "fp8"), "cudnn,torch:cudnn", 40),
}


def winners_of(document, layout=None):
    """{name: config file} of a run or a suite table, without what was measured."""
    found = {}
    for problem in document.get("problems", [document]):
        config = {"kernel": problem["best"]["kernel"], "config": problem["best"]["config"], "problem": dict(problem["problem"])}
        if layout:
            config["problem"]["layout"] = layout
        found[problem.get("name", "best")] = config
    return found


def changed(config, **problem):
    return {**config, "problem": {**config["problem"], **problem}}


def load(path):
    return json.loads(path.read_text())


class Evidence:
    """Runs the program in OUT, so that recorded commands name no folder of this machine."""

    def __init__(self, args, cache):
        self.args, self.out, self.cache = args, args.out, cache
        self.fatune = str(args.fatune.resolve())

    def timed(self, name, *words, suffix=".txt"):
        """Keeps what the command prints, and appends its seconds to times.txt."""
        start = time.monotonic()
        with open(self.out / (name + suffix), "w") as printed, open(self.out / f"{name}.err", "w") as errors:
            code = subprocess.run([self.fatune, *words], cwd=self.out, stdout=printed, stderr=errors, check=False).returncode
        line = f"{name:24} exit {code}  {time.monotonic() - start:7.1f} s\n"
        print(line, end="", flush=True)
        with open(self.out / "times.txt", "a") as times:
            times.write(line)

    def device(self):
        return ["--device", self.args.device] if self.args.device else []

    def json(self, name, *words):
        self.timed(name, *words, *self.device(), "--json", suffix=".json")

    def sweep(self, name, words, baselines=None, budget=None):
        cache = ["--cache", f"{self.cache}/{name}"]
        if (self.out / name / "journal.jsonl").exists():
            self.timed(name, "resume", name, *cache)
            return
        options = {"--budget": self.args.budget or budget, "--baselines": self.args.baselines or baselines,
                   "--objective": self.args.objective, "--shard": self.args.shard}
        given = [word for option, value in options.items() if value for word in (option, str(value))]
        self.timed(name, "sweep", *words, *given, *self.device(), "--no-warm-start", "--out", name, *cache)

    def write(self, name, config):
        path = self.out / "winners" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(config))
        return f"winners/{name}.json"


def contiguous(run):
    run.timed("suite-mission-contiguous", "sweep", "--suite", "mission", "--budget", "0", "--baselines", run.args.baselines or FAST,
              *run.device(), "--out", "suite-mission-contiguous")


def gates(run):
    for turn in (1, 2):
        run.json(f"gate-{turn}", "gate", "--candidate", "mission/best.json", "--baseline", "torch:flash,torch:math,torch:cudnn,cudnn")
        run.json(f"bench-{turn}", "bench", "--config", "mission/best.json", "--impl", "cudnn,torch:cudnn,torch:flash")
        run.json(f"gate-tie-{turn}", "gate", "--candidate", "fa_mma", "--baseline", "fatune:fa_mma", *MISSION)


def profiles(run):
    for name in ("mission", "long"):
        run.json(f"profile-{name}", "profile", "--config", f"{name}/best.json")
    run.json("profile-hybrid", "profile", "--kernel", "hybrid_qkt", *MISSION)


def sanitize(run):
    for name, config in winners_of(load(run.out / "suite-mission" / "best.json")).items():
        run.json(f"sanitize-{name}", "verify", "--config", run.write(name, config), "--sanitize")


def fp8_rivals(run):
    """Winners of the fp8 suites against the fp8 of other libraries, in the layout that FlashAttention-3 takes."""
    winners = {}
    for table in ("h200/suite-fp8-rest", "h100/suite-fp8", "h100/suite-fp8-long"):  # The last winner of a name counts.
        winners |= winners_of(load(RESULTS / f"{table}.json"), "bshd")
    for mask in ("", "-causal"):
        winners[f"32k{mask}"] = changed(winners[f"16k{mask}"], seq_q=32768, seq_kv=32768)
    winners["video-30k-fused"] = changed(winners["flux.1-dev-fused"], seq_q=30720, seq_kv=30720)
    bf16 = changed(winners_of(load(RESULTS / "h200/suite-models.json"))["flux.1-dev"], dtype="e4m3", out_dtype="bf16", quant="fused")
    own = {"flux": run.write("own-flux", bf16), "video": run.write("own-video", changed(bf16, seq_q=30720, seq_kv=30720))}
    for name, config in winners.items():
        file = run.write(name, config)
        if "fused" in name:
            others = f"{own['flux']},sage,{FAST}" if name.startswith("flux") else f"{own['video']},torch:cudnn"
            run.json(f"fp8-{name}", "gate", "--candidate", file, "--baseline", others)
        else:
            run.json(f"fp8-{name}", "bench", "--config", file, "--impl", f"sage,{FAST}" if "smooth_k" in name else "fa3,cudnn")


def mission_rivals(run):
    document = RESULTS / "h200/suite-mission/best.json"
    (run.out / "winners.json").write_text(document.read_text())
    run.timed("mission-rivals", "bench", "--config", "winners.json", "--impl", f"{FAST},fa3", "--out", "mission-rivals.bench.json",
              "--suite-out", "mission-rivals.json")


def seeds(run):
    """The first command with ten seeds, and the winners in the same rounds."""
    files = []
    for seed in SEEDS:
        run.sweep(f"seed-{seed}", (*MISSION, "--seed", str(seed)))
        files.append(run.write(f"seed-{seed}", winners_of(load(run.out / f"seed-{seed}" / "best.json"))["best"]))
    run.json("seeds", "gate", "--candidate", files[0], "--baseline", ",".join(files[1:]))


STEPS = {"doctor": lambda run: run.timed("doctor", "doctor"),
         **{name: lambda run, name=name: run.sweep(name, *SWEEPS[name]) for name in SWEEPS},
         "suite-mission-contiguous": contiguous, "selftest": lambda run: run.json("selftest", "verify", "--selftest"), "gate": gates,
         "profile": profiles, "sanitize": sanitize, "fp8-rivals": fp8_rivals, "mission-rivals": mission_rivals, "seeds": seeds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fatune", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--budget", type=int, help="evaluations a problem, in place of each step's own number")
    parser.add_argument("--baselines", help="baselines of sweeps, in place of each step's own")
    parser.add_argument("--device", help="GPUs in place of the first one")
    parser.add_argument("--objective", help="objective of sweeps; hot picks winners by plain launches")
    parser.add_argument("--shard", help="part I of N of a suite, for `fatune merge`")
    args = parser.parse_args()
    for unknown in set(args.steps) - set(STEPS):
        parser.error(f"no step {unknown}: {', '.join(STEPS)}")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "date.txt").write_text(f"{datetime.datetime.now(datetime.timezone.utc):%F}\n")
    with tempfile.TemporaryDirectory() as cache:
        run = Evidence(args, cache)
        for step in args.steps or STEPS:
            STEPS[step](run)
    for journal in args.out.glob("*/journal.jsonl"):
        with open(f"{journal}.gz", "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
            packed.write(journal.read_bytes())


if __name__ == "__main__":
    sys.exit(main())
