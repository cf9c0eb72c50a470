#!/usr/bin/env python3
"""soak_test.py: Sweeps many problems with one fixture among nine candidates.

The test checks the outcome of each candidate.

    soak_test.py --fatune PATH [--problems N] [--journal FILE] [--dry [--spoil]]

Each problem has 192 configs of an honest kernel and 24 fixtures of kernels/faults: 10 problems are 2,160 candidates. A fixture must
have the outcome of its manifest, found by its gate. A config of an honest kernel must be measured, pruned or a duplicate. The winner
must be honest; no process and no temporary file may be left. --dry runs on a recorded device made here, without a GPU. With --spoil
the recording says that a cheat was measured, which must be noticed. Exit code 77: no GPU.
"""
import argparse
import collections
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import uuid

from gpu_support import SKIPPED, Checks, recorded_key

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = ROOT / "kernels/faults"
HONEST = ["fa_rows"]
HONEST_CONFIGS = 192
HONEST_OUTCOMES = {"measured", "pruned", "duplicate"}
# Gates of the final phase alone, and of the list of configs.
ELSEWHERE = {"early_start", "carry_over", "constraints"}
MARK = "FATUNE_SOAK"  # in the environment of every process that the sweep starts


def fixtures():
    """Fixtures that show at any problem."""
    manifest = json.loads((FAULTS / "faults.json").read_text())
    return {each["value"]: each for each in manifest["parameters"][0]["values"]
            if "problem" not in each and each["gate"] not in ELSEWHERE}


def write_kernels(folder, names):
    """The fixtures with a constraint more: only those with these names."""
    shutil.copytree(FAULTS, folder / "faults")
    path = folder / "faults/faults.json"
    manifest = json.loads(path.read_text())
    wanted = " || ".join(f"FAULT == FAULT_{name.upper()}" for name in names)
    manifest["constraints"].append({"require": wanted, "why": "the others do not show at every problem"})
    path.write_text(json.dumps(manifest))


def problem(number):
    return {"batch": 1 + number % 2, "heads": 2 + number // 2, "kv_heads": 2 + number // 2, "seq_q": 256, "seq_kv": 256,
            "head_dim": 64, "dtype": "f16", "mask": "none"}


def write_suite(path, problems):
    shapes = ["{batch},{heads},{seq_q},{head_dim}".format(**problem(number)) for number in range(problems)]
    rows = [{"name": f"p{number}", "shape": shape} for number, shape in enumerate(shapes)]
    path.write_text(json.dumps({"schema": "fatune.problems/1", "name": "soak", "summary": "Small", "problems": rows}))


def reason_of(fault):
    return f"{fault['gate']}: as recorded"


def write_recording(path, problems, faults, spoil):
    """The fixtures as their manifests say, and what an H200 measured of fa_rows."""
    header, *lines = gzip.decompress((ROOT / "configs/recorded/h200-mission.jsonl.gz").read_bytes()).splitlines()
    header = {key: value for key, value in json.loads(header).items() if key != "crc"}
    measured = [{key: value for key, value in each.items() if key != "in_layer"}  # Candidates are ranked by their hot time.
                for each in map(json.loads, lines) if each["t"] == "candidate" and each.get("kernel") == "fa_rows"]
    with path.open("w") as file:
        print(json.dumps(header), file=file)
        for number in range(problems):
            for record in measured:
                key = recorded_key("fa_rows", problem(number), record["config"])
                print(json.dumps(record | {"key": key, "problem": problem(number)}), file=file)
            for name, fault in faults.items():
                record = {"t": "candidate", "id": f"{abs(hash(name)) % 2**64:016x}", "kernel": "faults",
                          "key": recorded_key("faults", problem(number), {"FAULT": name}), "config": {"FAULT": name},
                          "problem": problem(number), "outcome": fault["outcome"], "reason": reason_of(fault)}
                if spoil and name == "does_nothing":
                    record |= {"outcome": "measured", "reason": "", "hot": measured[0]["hot"] | {"median_us": 1.0}}
                print(json.dumps(record), file=file)


def processes_left(mark):
    left = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                left.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # it has ended, or is another user's
            pass
    return left


def is_as_expected(record, fault):
    named = record["outcome"] != "wrong_result" or record.get("reason", "").startswith(fault["gate"])
    return record["outcome"] == fault["outcome"] and named


def check_journal(checks, records, faults, problems):
    seen = collections.Counter()
    outcomes = collections.Counter()
    for record in records:
        if record.get("t") != "candidate":
            continue
        name, outcome = record["config"].get("FAULT", record["kernel"]), record["outcome"]
        where = f"{name} {record['config']} at {record['problem']['heads']} heads: {outcome} ({record.get('reason', '')[:200]})"
        if name in faults:
            seen[name] += 1
            outcomes[f"fault {outcome}"] += 1
            checks.expect(is_as_expected(record, faults[name]), f"{where}, expected {faults[name]['outcome']} "
                          f"from {faults[name]['gate']}")
        else:
            outcomes[outcome] += 1
            checks.expect(outcome in HONEST_OUTCOMES, where)
    for name in faults:
        checks.expect(seen[name] == problems, f"{name} was tried {seen[name]} times at {problems} problems")
    everything, cheats = sum(outcomes.values()), sum(seen.values())
    checks.expect(everything == problems * (HONEST_CONFIGS + len(faults)), f"{everything} candidates")
    checks.expect(records[-1].get("status") == "complete", "the run has its end")
    print(f"{everything} candidates, {cheats} of them fixtures: " +
          ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", type=pathlib.Path, required=True)
    parser.add_argument("--problems", type=int, default=10)
    parser.add_argument("--journal", type=pathlib.Path, metavar="FILE", help="keep the journal here")
    parser.add_argument("--dry", action="store_true", help="on a recorded device")
    parser.add_argument("--spoil", action="store_true")
    args = parser.parse_args()
    fatune = args.fatune.resolve()
    if not args.dry and subprocess.run([fatune, "devices"], capture_output=True, check=False).returncode != 0:
        print("skipped: no GPU")
        return SKIPPED
    checks = Checks()
    faults = fixtures()
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run, scratch = folder / "run", folder / "scratch"
        scratch.mkdir()
        write_suite(folder / "suite.json", args.problems)
        write_kernels(folder / "kernels", faults)
        device = "auto"
        if args.dry:
            write_recording(folder / "recording.jsonl", args.problems, faults, args.spoil)
            device = f"recorded:{folder}/recording.jsonl"
        command = [fatune, "sweep", "--suite", folder / "suite.json", "--kernel", ",".join([*HONEST, "faults"]),
                   "--kernel-dir", folder / "kernels",
                   "--strategy", "exhaustive", "--baselines", "none",
                   "--no-warm-start", "--device", device, "--out", run, "--cache", folder / "cache", "--quiet"]
        begin = time.monotonic()
        done = subprocess.run(command, env=os.environ | {MARK: mark, "TMPDIR": str(scratch)}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        seconds = time.monotonic() - begin
        checks.expect(done.returncode == 0, f"the sweep ended with {done.returncode}: {done.stderr[-2000:]}")
        checks.expect(not processes_left(mark), f"processes are left: {processes_left(mark)}")
        left = [path.name for path in [*folder.rglob("*.tmp"), *scratch.iterdir()]]
        checks.expect(not left, f"files are left: {left}")
        if (run / "journal.jsonl").exists():
            check_journal(checks, [json.loads(line) for line in (run / "journal.jsonl").open()], faults, args.problems)
            if args.journal:
                shutil.copy(run / "journal.jsonl", args.journal)
        if (run / "best.json").exists():
            for row in json.loads((run / "best.json").read_text())["problems"]:
                checks.expect((row["best"] or {}).get("kernel") in HONEST, f"the winner at {row['label']} is {row['best']}")
    print(f"{args.problems} problems in {seconds:.0f} s")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
