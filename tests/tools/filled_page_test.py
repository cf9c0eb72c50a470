#!/usr/bin/env python3
"""filled_page_test.py - fills small pages and compares their text; a README beyond its limits is refused."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
sys.path.insert(0, str(TOOLS))

import filled_page  # noqa: E402
import update_readme  # noqa: E402


class Wrapped(unittest.TestCase):
    def test_prose_is_wrapped_and_keeps_its_mark(self):
        self.assertEqual(filled_page.wrapped("one two three", 9), "one two\nthree")
        self.assertEqual(filled_page.wrapped("- one two three", 9), "- one two\n  three")
        self.assertEqual(filled_page.wrapped("> one two three", 9), "> one two\n> three")

    def test_tables_and_fenced_blocks_stay(self):
        for text in ("| one | two | three |", "```\none two three\n```", "short\n\nlines"):
            self.assertEqual(filled_page.wrapped(text, 9), text)


class Filled(unittest.TestCase):
    def test_a_block_is_replaced_and_the_rest_stays(self):
        page = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
        self.assertEqual(filled_page.filled(page, "x", "new", "page"), page.replace("old", "new"))

    def test_a_page_without_the_block_is_an_error(self):
        with self.assertRaises(SystemExit) as stop:
            filled_page.filled("a\n", "x", "new", "README.md")
        self.assertEqual(str(stop.exception), "README.md: no block x")


class Examples(unittest.TestCase):
    """The table of whole models."""

    PROOF = {"device": {"name": "GPU"}, "before": {"torch": "2.11"}, "verdict": "faster",
             "saving": {"measured_us": 1234.4, "predicted_us": 2000.0, "share": 0.617},
             "times": {"rounds_us": {"fatune": [1.0] * 8}, "medians_us": {"pytorch": 2e4, "flash": 1.5e4, "fatune": 1e4},
                       "best": "flash", "ratio": 2 / 3, "ci95": [0.6, 0.7]}, "sustained": None}

    def table(self, **rows):
        return update_readme.examples({"rows": [{"model": name, "seconds": 7.4, **row} for name, row in rows.items()]})

    def test_a_row_a_model(self):
        longer = {**self.PROOF, "times": {**self.PROOF["times"], "rounds_us": {"fatune": [1.0] * 40}},
                  "sustained": {"ratio": 0.7, "ci95": [0.69, 0.71], "best": "flash", "mhz": {"fatune": 1575, "flash": 1658}},
                  "saving": {"measured_us": 1.0, "predicted_us": None, "share": None}}
        lines = self.table(bert={"proof": self.PROOF}, new={"proof": longer}).splitlines()
        self.assertEqual(lines[2:], [
            "| BERT base, 32 x 128 | 20.000 | flash 15.000 | 10.000 | 0.667 (0.600 to 0.700) | - | 1,234 | 2,000 | **0.62** | 7 |",
            "| new | 20.000 | flash 15.000 | 10.000 | 0.667 (0.600 to 0.700) | 0.700 (0.690 to 0.710), 1,575 and 1,658 MHz | 1 | - | - | 7 |",
            "", "GPU, PyTorch 2.11; 40 rounds, of BERT base 8."])

    def test_failures_have_rows(self):
        untimed = {**self.PROOF, "times": None, "saving": None, "verdict": "wrong"}
        lines = self.table(bert={"proof": self.PROOF}, vit={"failed": "no GPU"}, gpt2={"proof": untimed}).splitlines()
        self.assertIn("failed: no GPU", lines[3])
        self.assertIn("| wrong |", lines[4])
        self.assertEqual({line.count("|") for line in lines[:5]}, {11})


class Limits(unittest.TestCase):
    """update_readme.py over a copy of what it reads."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("results", "docs", "configs", "kernels"):
            (self.root / name).symlink_to(TOOLS.parent / name)
        (self.root / "tools").mkdir()
        for name in ("update_readme.py", "filled_page.py", "documents.py", "parameter_effects.py"):
            (self.root / "tools" / name).write_text((TOOLS / name).read_text())
        self.readme = (TOOLS.parent / "README.md").read_text()

    def check(self, text):
        (self.root / "README.md").write_text(text)
        done = subprocess.run([sys.executable, "tools/update_readme.py", "--check"], cwd=self.root,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def test_the_page_as_it_is(self):
        self.assertEqual(self.check(self.readme), (0, ""))

    def test_a_wide_line_is_named(self):
        code, error = self.check(self.readme + "x" * 101 + "\n")
        lines = self.readme.count("\n") + 1
        self.assertEqual((code, error), (1, f"README.md: {lines} lines of at most 150; wider than 100 columns: [{lines}]\n"))

    def test_a_long_page_is_refused(self):
        code, error = self.check(self.readme + "\n" * 150)
        self.assertEqual(code, 1)
        self.assertIn("lines of at most 150", error)

    def test_another_number_is_stale(self):
        code, error = self.check(self.readme.replace("µs**", "us**", 1))
        self.assertEqual((code, error), (1, "README.md is stale: run update_readme.py\n"))


if __name__ == "__main__":
    unittest.main()
