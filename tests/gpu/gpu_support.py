"""gpu_support.py: Calls fatune, skips without a GPU and counts failures for the GPU tests."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def arguments(description, **extra):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--fatune", required=True, help="the program under test")
    for name, help_text in extra.items():
        parser.add_argument("--" + name, help=help_text)
    args = parser.parse_args()
    if subprocess.run([args.fatune, "devices"], capture_output=True, check=False).returncode != 0:
        print("skipped: no GPU")
        sys.exit(SKIPPED)
    return args


def run_json(fatune, *words, quiet=True):
    """Runs a command with --json; returns (exit code, document or None, stderr)."""
    done = subprocess.run([fatune, *words, "--json", *["--quiet"] * quiet], capture_output=True, text=True, check=False)
    try:
        document = json.loads(done.stdout) if done.stdout.strip() else None
    except json.JSONDecodeError:
        document = None
    return done.returncode, document, done.stderr


def export_with_python(fatune, *words):
    """Runs `python -m fatune export` with this program."""
    environment = {**os.environ, "FATUNE": str(fatune), "PYTHONPATH": str(ROOT / "python")}
    subprocess.run([sys.executable, "-m", "fatune", "export", *map(str, words)], check=True, env=environment,
                   stdout=subprocess.DEVNULL)


class Checks:
    """Prints each failed check; the process fails when one did."""

    def __init__(self):
        self.made, self.failed = 0, 0

    def expect(self, condition, message):
        self.made += 1
        if not condition:
            self.failed += 1
            print("FAILED:", message)

    def finish(self):
        print(f"{self.made} checks, {self.failed} failed")
        sys.exit(1 if self.failed or not self.made else 0)


def recorded_key(kernel, problem, config):
    """The key of a candidate in a journal, by which the recorded device finds it."""
    sizes = "b{batch}-h{heads}-kv{kv_heads}-sq{seq_q}-skv{seq_kv}-d{head_dim}-{dtype}-{mask}".format(**problem)
    words = [f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in config.items()]
    return " ".join([kernel, sizes, *words])
