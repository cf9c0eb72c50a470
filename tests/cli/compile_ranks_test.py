#!/usr/bin/env python3
"""Sweeps by mpirun on a GPU that is not there, with ranks that only compile, which are killed and stopped midway.

    compile_ranks_test.py --fatune PATH --fakes FOLDER

The fake driver greets, and fails when it is to load machine code: so a sweep that ends with that has got all machine code
that it asked for, be it from other ranks or by itself. Exit code 77 is a skip: there is no mpirun here, no plug-in beside
the program, or no compiler.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile

import mpi_test
from shard_test import children_of, run_test, until, want

SWEEP = ["sweep", "--suite", "decode", "--no-warm-start", "--budget", "2", "--baselines", "cudnn"]
CENSUS = "1 rank with a GPU, 2 compile ranks, 1 host"
END = "cannot load the cubin"


def start(program, fakes, folder):
    words = [*SWEEP, "--cache", folder / "cache", "--out", folder / "run"]
    return mpi_test.mpirun(program, 3, words, LD_LIBRARY_PATH=str(fakes))


def words_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def has_begun(process):
    """Rank 0 has started a sweep. Its other children look for devices; each has rank 0's own words until it executes."""
    pid = mpi_test.ranks_of(process).get(0)
    if pid is None:
        return False
    own = words_of(pid)
    return any(b"\0sweep\0" in words and words != own for words in map(words_of, children_of(mpi_test.Numbered(pid))))


def compiled_elsewhere(said):
    return max(int(count) for count in re.findall(r"at work, (\d+) compiled", said))


def check(said):
    want(CENSUS in said, f"the ranks are not counted: {said}")
    want(said.count(END) == 2, f"a sweep lacks machine code: {said}")


def let_them_compile(program, fakes, folder):
    said = mpi_test.finish(start(program, fakes, folder))
    if "NVRTC" in said and "was not found" in said:
        sys.exit(77)
    check(said)
    want(compiled_elsewhere(said) > 0, f"the other ranks compiled nothing: {said}")
    want(list((folder / "cache").glob("*/*.cubin")), "no machine code is in the cache")


def end_both(program, fakes, folder, how):
    """Whatever both had is compiled by the sweep itself."""
    process = start(program, fakes, folder)
    until(lambda: has_begun(process), "rank 0 sweeps")
    ranks = mpi_test.ranks_of(process)
    for rank in (1, 2):
        os.kill(ranks[rank], how)
    until(lambda: 0 not in mpi_test.ranks_of(process), "rank 0 ends", 120)
    for rank, pid in mpi_test.ranks_of(process).items():
        if pid == ranks.get(rank):
            os.kill(pid, signal.SIGKILL)  # mpirun waits for those that are stopped
    said = mpi_test.finish(process)
    check(said)
    for rank in (1, 2):
        want(f"rank {rank} on" in said and "was silent" in said, f"the silent rank is not named: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True, type=pathlib.Path)
    parser.add_argument("--fakes", required=True, type=pathlib.Path)
    args = parser.parse_args()
    program, fakes = args.fatune.resolve(), args.fakes.resolve()
    if not shutil.which("mpirun") or not (program.parent / "libfatune_mpi.so").exists():
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        let_them_compile(program, fakes, folder / "both")
        end_both(program, fakes, folder / "killed", signal.SIGKILL)
        end_both(program, fakes, folder / "stopped", signal.SIGSTOP)
    print("compile ranks: sweeps get their machine code from them, and without them when they are killed or stopped")


if __name__ == "__main__":
    run_test(main)
