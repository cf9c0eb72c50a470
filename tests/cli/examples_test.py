#!/usr/bin/env python3
"""Runs each example of `fatune COMMAND --help`, and the marked blocks of documents, as written.

    examples_test.py --fatune PATH

An example runs in a folder that shows a checkout's folders but its own runs/, without a GPU, and ends with exit code 0.
An example that needs more says so in the sentence below it. Documents mark their blocks as in run_guide.py, whose
guide has a test of its own. The blocks of a document run one after the other in one folder. A block of commands without
a mark needs something that a test lacks, and the paragraph before it says so.
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
SEEN = ("configs", "docs", "examples", "kernels", "python", "results", "tests")  # folders of a checkout that examples may name
FENCE = re.compile(r"^```([\w+]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(\$ |(\./)?fatune |python3? |pip |cmake |mpirun )", re.MULTILINE)
NEEDS = re.compile(r"\bneeds?\b[^.]*\b(GPUs?|PyTorch|network|MPI|Slurm|checkout)\b")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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
    (folder / "fatune").symlink_to(FATUNE)  # ./fatune of a checkout


def environment(folder):
    return {"PATH": f"{pathlib.Path(FATUNE).parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(folder / "cache")), "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
            "PYTHONPATH": "python", "FATUNE": FATUNE}


def unexplained(text):
    """Blocks of commands that nothing runs, and of which nothing says what they need."""
    return [match[2] for match in FENCE.finditer(text) if match[1] == "sh" or not match[1] and COMMAND.search(match[2])
            if not (before := text[: match.start()].rstrip().split("\n\n")[-1]).endswith("-->") and not NEEDS.search(before)]


def run_in(folder, text):
    done = subprocess.run(["bash", "-e", "-c", text], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400, check=False)
    return done.returncode, done.stdout[-2000:]


def run(lines):
    """Exit code and output of shell lines in one new scratch folder."""
    with tempfile.TemporaryDirectory() as name:
        scratch(pathlib.Path(name))
        return run_in(pathlib.Path(name), "\n".join(lines))


class Examples(unittest.TestCase):
    def test_every_example_of_help_runs(self):
        for command in commands():
            lines, needs = examples(said(command, "--help"))
            with self.subTest(command=command):
                self.assertTrue(lines)
                code, output = run(lines)
                self.assertIn(code, (0, 1, 3) if needs else (0,), output)

    def test_marked_blocks_of_documents_run(self):
        ran = set()
        for document in DOCUMENTS:
            if document.name == "guide.md":
                continue
            with tempfile.TemporaryDirectory() as name:
                scratch(pathlib.Path(name))
                for block in run_guide.blocks(document.read_text()):
                    with self.subTest(document=document.name, line=block.line):
                        code, output = run_in(pathlib.Path(name), block.text)
                        self.assertIn(code, block.codes, output)
                        ran.add(document.stem)
        self.assertLessEqual({"README", "export", "judge", "own_kernel", "pytorch", "search"}, ran)

    def test_other_blocks_say_what_they_need(self):
        for document in DOCUMENTS:
            with self.subTest(document=document.name):
                self.assertEqual(unexplained(document.read_text()), [])
        for text in ("Words.\n\n```sh\nls\n```\n", "It needs words.\n\n```\n$ fatune sweep\n```\n"):
            self.assertEqual(len(unexplained(text)), 1)
        for text in ("It needs a GPU:\n\n```sh\nls\n```\n", "<!-- run -->\n```sh\nls\n```\n", "Words.\n\n```\nan output\n```\n"):
            self.assertEqual(unexplained(text), [])

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
