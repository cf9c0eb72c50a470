#!/usr/bin/env python3
"""Sweeps a suite by mpirun on recorded devices, kills ranks and rank 0 midway, and compares.

    mpi_test.py --fatune PATH [--seed S]

Four ranks of one host must find the best.json of one run (but for seconds), with the same candidates and finals in the
journal. This must also hold if a rank is killed or stopped at a random moment, or if rank 0 is killed and the run resumed. Everything runs on this machine's processor: no GPU takes part. Exit code 77 is a skip:
there is no mpirun here, or no plug-in beside the program.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import shard_test
from shard_test import RESULTS, SWEEP, Broken, best_of, by_problem, check_same, children_of, run_test, until, want

RECOVERY = ["--mca", "orte_enable_recovery", "1", "--mca", "orte_abort_on_non_zero_status", "0"]
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", *RECOVERY]
SILENCE = 3  # seconds, in place of 30


def mpirun(program, ranks, words, **variables):
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return subprocess.Popen([*MPIRUN, "-n", str(ranks), program, *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, start_new_session=True,
                            env={**os.environ, "NO_COLOR": "1", "FATUNE_SILENCE": str(SILENCE), **as_root, **variables})


def finish(process, limit=180):
    """Checks the output, because mpirun's exit code is always 0 with the recovery flags."""
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise Broken(f"mpirun did not end within {limit} s: {process.communicate()[0]}")
    return said


def end(process, limit=60):
    """Output of mpirun; None if it had to be ended with its ranks: Open MPI at times waits for ever for a killed rank."""
    try:
        return process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        for pid in [*ranks_of(process).values(), process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
        return None


def ranks_of(process):
    """Process ids of the ranks, rank 0 first."""
    ranks = {}
    for pid in children_of(process):
        try:
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for variable in variables:
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                ranks[int(variable.split(b"=")[1])] = pid
    return ranks


def records_of(out):
    lines = (out / "journal.jsonl").read_text().split("\n")[1:-1] if (out / "journal.jsonl").exists() else []
    return [json.loads(line) for line in lines]


def check_run(out, expected):
    """Checks the result of a run, and that no candidate was measured twice."""
    check_same(out, expected, by_problem)
    keys = [record["key"] for record in records_of(out) if record["t"] == "candidate"]
    want(len(keys) == len(set(keys)), f"{out}: {len(keys) - len(set(keys))} candidates were repeated")


def until_it_sweeps(out, rank):
    until(lambda: any(each["t"] == "begin" and each["device"].startswith(f"rank {rank} on") for each in records_of(out)),
          f"rank {rank} sweeps")


def disturb(program, out, expected, rank, act):
    """Acts on a rank while it sweeps. A rank that had just ended its problem is not missed: then the run is repeated."""
    hung = 0
    for attempt in range(12):
        process = mpirun(program, 4, [*SWEEP, "--out", f"{out}-{attempt}"])
        until(lambda: rank in ranks_of(process), f"rank {rank} is there")
        pid = ranks_of(process)[rank]
        until_it_sweeps(pathlib.Path(f"{out}-{attempt}"), rank)
        act(pid)
        said = end(process)
        hung += said is None
        want(hung < 4, "mpirun hung four times")
        if said is None:
            continue
        check_run(pathlib.Path(f"{out}-{attempt}"), expected)
        if f"rank {rank} on" in said and "was silent" in said:
            return
    raise Broken(f"the silent rank is not named: {said}")


def kill_a_rank(pid):
    os.kill(pid, signal.SIGKILL)


def stop_a_rank(pid):
    """Stops a rank as a silent network would: its late messages must be ignored."""
    os.kill(pid, signal.SIGSTOP)
    time.sleep(SILENCE + 2)
    os.kill(pid, signal.SIGCONT)


def kill_rank_0(program, out, expected, chance):
    process = mpirun(program, 4, [*SWEEP, "--out", out])
    until_it_sweeps(out, 1)
    time.sleep(chance.uniform(0, 1))
    ranks = ranks_of(process)
    if 0 in ranks:
        os.kill(ranks[0], signal.SIGKILL)
    end(process)
    ended = finish(mpirun(program, 4, ["resume", out, *SWEEP[-2:]]))
    want((out / "best.json").exists(), f"the run did not go on: {ended}")
    check_run(out, expected)


def refusals(program, out):
    for words, expected in ((["compile", "--shape", "4,8,512,64"], "compile runs in one process"),
                            (["sweep", "--suite", "nowhere", "--out", out], "nowhere")):
        said = finish(mpirun(program, 2, words))
        want(expected in said, f"{words}: {said}")
    alone = program.parent / "alone"
    if alone.exists():
        shutil.rmtree(alone)
    alone.mkdir()
    shutil.copy2(program, alone / "fatune")
    said = finish(mpirun(alone / "fatune", 2, [*SWEEP, "--out", out]))
    shutil.rmtree(alone)
    want("libfatune_mpi.so is not here" in said, f"without the plug-in: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    program = args.fatune.resolve()
    if not shutil.which("mpirun") or not (program.parent / "libfatune_mpi.so").exists():
        print("mpi_test: no mpirun here, or no plug-in beside fatune; tools/bootstrap.sh test installs what is needed")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    SWEEP.remove("--quiet")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (one,) = shard_test.sweep_in_shards(str(program), 1, folder)
        said = finish(mpirun(program, 4, [*SWEEP, "--out", folder / "ranks"]))
        want((folder / "ranks/best.json").exists(), f"four ranks: {said}")
        check_run(folder / "ranks", one)
        ranks = json.loads((folder / "ranks/best.json").read_text())["ranks"]
        want(ranks == {"gpu": 4, "hosts": 1}, f"best.json names other ranks: {ranks}")
        want("4 ranks with a GPU, 1 host" in said, f"the ranks are not counted: {said}")
        want(f"recorded:{RESULTS}" in said and "rank 3 on" in said, f"the ranks are not named: {said}")
        again = finish(mpirun(program, 2, [*SWEEP, "--out", folder / "ranks"]))
        want("holds a journal already" in again, f"a second run in its folder: {again}")
        disturb(program, folder / "killed", one, 2, kill_a_rank)
        disturb(program, folder / "stopped", one, 1, stop_a_rank)
        kill_rank_0(program, folder / "leader", one, random.Random(args.seed))
        refusals(program, folder / "refused")
        want(best_of(folder / "leader") == best_of(one), "rank 0, killed and started again, changes the result")
    print("mpi: four ranks find the result of one; kills of a rank and of rank 0, and a silent rank, change nothing")


if __name__ == "__main__":
    run_test(main)
