#!/usr/bin/env python3
"""run.py: Runs a test with a Python that has PyTorch: .deps/torch or the current one.

Exit code 77, a skip, where there is none.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    environment = ROOT / ".deps" / "torch"
    python = environment / "bin" / "python"
    if not any(environment.glob("lib/python*/site-packages/torch/__init__.py")):
        if importlib.util.find_spec("torch") is None:
            print("skipped: no PyTorch")
            return 77
        python = sys.executable
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    return subprocess.run([python, *sys.argv[1:]], env={**os.environ, "PYTHONPATH": path}).returncode


if __name__ == "__main__":
    sys.exit(main())
