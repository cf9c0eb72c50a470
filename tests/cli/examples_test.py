#!/usr/bin/env python3
"""Runs each example of `fatune COMMAND --help`, and the marked blocks of documents, as written.

    examples_test.py --fatune PATH

An example runs in a folder that shows a checkout's folders but its own runs/, without a GPU, and ends with exit code 0.
An example that needs more says so in the sentence below it. Documents mark their blocks as in run_guide.py, whose
guide has a test of its own.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import run_guide

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEEN = ("configs", "docs", "examples", "kernels", "results")  # folders of a checkout that examples may name
FATUNE = ""


def said(*words):
    return subprocess.run([FATUNE, *words], capture_output=True, text=True, check=True).stdout


def commands():
    """Names of all commands, from their manual pages."""
    with tempfile.TemporaryDirectory() as folder:
        said("man", "--out", folder)
        return sorted(page.stem.removeprefix("fatune-") for page in pathlib.Path(folder).glob("fatune-*.1"))


def examples(text):
    """Shell lines below "Example:", and the sentence of what they need."""
    lines = re.split(r"^Example:\n", text, flags=re.MULTILINE)[1].splitlines()
    return [line.strip() for line in lines if line.startswith("  ")], " ".join(line for line in lines if not line.startswith(" "))


def scratch(folder):
    for name in SEEN:
        (folder / name).symlink_to(ROOT / name)


def environment(folder):
    return {"PATH": f"{pathlib.Path(FATUNE).parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(folder / "cache")), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def run(lines):
    """Exit code and output of shell lines in one new scratch folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        scratch(folder)
        done = subprocess.run(["bash", "-e", "-c", "\n".join(lines)], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400, check=False)
        return done.returncode, done.stdout[-2000:]


class Examples(unittest.TestCase):
    def test_every_example_of_help_runs(self):
        for command in commands():
            lines, needs = examples(said(command, "--help"))
            with self.subTest(command=command):
                self.assertTrue(lines)
                code, output = run(lines)
                self.assertIn(code, (0, 1, 3) if needs else (0,), output)

    def test_marked_blocks_of_documents_run(self):
        ran = 0
        for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            if document.name == "guide.md":
                continue
            for block in run_guide.blocks(document.read_text()):
                with self.subTest(document=document.name, line=block.line):
                    code, output = run(block.text.splitlines())
                    self.assertIn(code, block.codes, output)
                    ran += 1
        self.assertGreater(ran, 0)

    def test_a_broken_example_is_found(self):
        lines, needs = examples("Example:\n  cat results/none\nIt needs a file.\n")
        self.assertEqual((lines, needs), (["cat results/none"], "It needs a file."))
        self.assertNotEqual(run(lines)[0], 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    args, rest = parser.parse_known_args()
    FATUNE = os.path.abspath(args.fatune)
    unittest.main(argv=[sys.argv[0], *rest])
