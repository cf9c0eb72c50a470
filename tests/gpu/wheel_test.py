"""wheel_test.py: Uses the wheel on a GPU as a new user would, with a model of no example.

    python3 tests/gpu/wheel_test.py --wheel build/wheel/fatune-*.whl [--out FOLDER]

Makes an environment that sees this Python's PyTorch, with an empty home and empty caches. Installs the wheel (tools/wheel.sh)
without a network and asks `fatune doctor`. Runs `python -m fatune optimize` for two scripts: the one below, and
examples/models/bert.py, in less than a minute from the installation on. Prints seconds and ratios; FOLDER keeps the reports. Exit code
77 without PyTorch or a GPU.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from gpu_support import SKIPPED, Checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROVEN_S = 60.0  # from pip install to the proof of BERT
# An encoder that reads images of any size: 257 tokens, 24 heads of 64, a class token.
STRANGER = """
import torch
import transformers

config = transformers.Dinov2Config(hidden_size=1536, num_attention_heads=24, num_hidden_layers=12, image_size=224, patch_size=14)
model = transformers.Dinov2Model(config).cuda().half().eval()
images = torch.randn(32, 3, 224, 224, device="cuda").half()


@torch.inference_mode()
def step():
    return model(images).last_hidden_state
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


class FirstUser:
    """An environment of the folder `packages`, where PyTorch is, and of the wheel; and a home of its own."""

    def __init__(self, folder, wheel, packages):
        self.home, self.python = folder / "home", folder / "environment/bin/python"
        self.home.mkdir()
        self.run(sys.executable, "-m", "venv", "--without-pip", self.python.parents[1])
        (site,) = self.python.parents[1].glob("lib/python*/site-packages")
        (site / "pytorch.pth").write_text(f"{packages}\n", encoding="utf-8")
        self.began = time.perf_counter()
        self.install_s = self.run(sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--no-index", "--no-deps",
                                  "--disable-pip-version-check", wheel)[1]

    def run(self, *line, may_fail=False):
        """Returns the process and its seconds."""
        began = time.perf_counter()
        done = subprocess.run([str(word) for word in line], cwd=self.home, capture_output=True, text=True, check=False,
                              env={**os.environ, "HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / ".cache")})
        if done.returncode != 0 and not may_fail:
            sys.exit(f"{' '.join(map(str, line))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done, time.perf_counter() - began

    def optimize(self, script, checks, *options):
        """Prints what the proof says; returns its document."""
        out = self.home / script.stem
        done, took_s = self.run(self.python, "-m", "fatune", "optimize", "--out", out, *options, script, may_fail=True)
        checks.expect(done.returncode == 0, f"{script.name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        proof = json.loads((out / "proof.json").read_text(encoding="utf-8"))
        print(f"{script.stem}: {took_s:.1f} s\n{done.stdout}")
        return proof


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        skip(error)
    if not torch.cuda.is_available():
        skip("PyTorch finds no GPU")
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        user = FirstUser(folder, args.wheel.resolve(), pathlib.Path(torch.__file__).parents[1])
        print(f"installed in {user.install_s:.1f} s\n{user.run(user.python, '-m', 'fatune', 'doctor')[0].stdout}")
        user.optimize(ROOT / "examples/models/bert.py", checks)
        proven_s = time.perf_counter() - user.began
        print(f"from the installation to the proof: {proven_s:.1f} s")
        checks.expect(proven_s <= PROVEN_S, f"from the installation to the proof: {proven_s} s")
        stranger = folder / "stranger.py"
        stranger.write_text(STRANGER, encoding="utf-8")
        user.optimize(stranger, checks, "--graph")
        if args.out:
            shutil.copytree(user.home, args.out, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".cache"))
    checks.finish()


if __name__ == "__main__":
    main()
