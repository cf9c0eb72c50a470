"""kernelbot_test.py: Runs exported submissions against their tasks' references as KernelBot.

Exports a kernel in several problems and the committed mission suite. Each benchmark's data goes through custom_kernel()
and check_implementation(), twice and with another seed. --eval FOLDER, with eval.py and utils.py of reference-kernels,
also has that program test and time them. Exit code 77 without PyTorch or a GPU.

    python3 tests/gpu/kernelbot_test.py --fatune build/dev/fatune [--eval FOLDER]
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from gpu_support import SKIPPED, Checks, export_with_python

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = ROOT / "tests/data/cli/fa_mma.json"
PROBLEMS = (("4,8,512,64",), ("2,8,128,64", "--causal", "--layout", "bshd"), ("2,8,100,64", "--seq-kv", "300", "--causal"),
            ("2,8,128,64", "--layout", "bshd,out=bhsd"), ("2,8,128,64", "--kv-heads", "2", "--dtype", "bf16"))
RUN = ROOT / "results/h200/suite-mission-contiguous"
UTILS = """
import torch

def make_match_reference(reference, **limits):
    def check(data, output):
        wanted = reference(data)
        return torch.allclose(output, wanted, **limits), (output.float() - wanted.float()).abs().max().item()
    return check
"""


def export(fatune, folder):
    """A folder of tasks for each export: the same kind of problem is in several."""
    exports = [(CONFIG, "--shape", *problem, "--arch", "sm_90a") for problem in PROBLEMS] + [(RUN,)]
    for number, words in enumerate(exports):
        export_with_python(fatune, "--config", *words, "--unverified", "--to", "kernelbot", "-o",
                           folder / str(number))
    return sorted(folder.glob("*/attention_*"))


def cases(task, section):
    lines = (task / "task.yml").read_text().partition(f"\n{section}:\n")[2].partition("\n\n")[0].splitlines()
    return [json.loads(line.removeprefix("  - ")) for line in lines]


def check_task(checks, task):
    """Its modules are imported anew: those of all tasks have the same names."""
    sys.path.insert(0, str(task))
    for name in ("task", "reference", "submission"):
        sys.modules.pop(name, None)
    import reference
    import submission
    sys.path.pop(0)
    for case in cases(task, "benchmarks"):
        for seed in (case["seed"], case["seed"], 77):
            data = reference.generate_input(**{**case, "seed": seed})
            copies = tuple(tensor.clone() for tensor in data)
            right, difference = reference.check_implementation(copies, submission.custom_kernel(data))
            checks.expect(right, f"{task.name} {case}: differs by {difference}")
            checks.expect(all(map(torch.equal, data, copies)), f"{task.name} {case}: inputs are as they were")


def evaluate(checks, task, tools):
    """By eval.py, which reads cases as "name: value; ..." and writes what it found to a descriptor."""
    for name in ("eval.py", "utils.py"):
        shutil.copy(tools / name, task)
    for mode, section in (("test", "tests"), ("benchmark", "benchmarks")):
        lines = ["; ".join(f"{name}: {value}" for name, value in case.items()) for case in cases(task, section)]
        (task / "cases.txt").write_text("\n".join(lines))
        with open(task / f"{mode}.log", "w") as log:
            subprocess.run([sys.executable, "eval.py", mode, "cases.txt"], cwd=task, pass_fds=[log.fileno()], check=False,
                           env={**os.environ, "POPCORN_FD": str(log.fileno())})
        words = (task / f"{mode}.log").read_text()
        print(f"{task.name}, {mode}:\n{words}")
        checks.expect("check: pass" in words, f"{task.name} passes {mode} of eval.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True, help="the program under test")
    parser.add_argument("--eval", type=pathlib.Path, help="with eval.py and utils.py of reference-kernels")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: no GPU")
        sys.exit(SKIPPED)
    checks = Checks()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "utils.py").write_text(UTILS)
        sys.path.insert(0, str(scratch))
        for task in export(args.fatune, scratch):
            check_task(checks, task)
            if args.eval:
                evaluate(checks, task, args.eval)
    checks.finish()


if __name__ == "__main__":
    main()
