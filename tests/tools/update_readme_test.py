#!/usr/bin/env python3
"""update_readme_test.py: Fills small pages and compares their text.

A stale page and a repeated block must be refused.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tools"))

import update_readme  # noqa: E402


class Wrapped(unittest.TestCase):
    def test_prose_is_wrapped_and_keeps_its_mark(self):
        self.assertEqual(update_readme.wrapped("one two three", 9), "one two\nthree")
        self.assertEqual(update_readme.wrapped("- one two three", 9), "- one two\n  three")
        self.assertEqual(update_readme.wrapped("> one two three", 9), "> one two\n> three")

    def test_tables_and_fenced_blocks_stay(self):
        for text in ("| one | two | three |", "```\none two three\n```", "short\n\nlines"):
            self.assertEqual(update_readme.wrapped(text, 9), text)


class Filled(unittest.TestCase):
    BLOCKS = {"x": lambda: "new", "y-1": lambda: "other"}

    def test_blocks_are_replaced_and_the_rest_stays(self):
        page = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n<!-- begin y-1 -->\n<!-- end y-1 -->\n"
        self.assertEqual(update_readme.filled(page, 80, self.BLOCKS),
                         (page.replace("old", "new").replace("begin y-1 -->", "begin y-1 -->\nother"), ["x", "y-1"]))

    def test_a_block_without_a_name_or_an_end_is_an_error(self):
        for page, words in (("<!-- begin z -->\n<!-- end z -->\n", "has no block z"), ("<!-- begin x -->\n", "block x stands 0 times")):
            with self.assertRaises(SystemExit) as stop:
                update_readme.filled(page, 80, self.BLOCKS)
            self.assertIn(words, str(stop.exception))


class Pages(unittest.TestCase):
    """update_readme.py over a copy of what it reads."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("results", "configs", "kernels", "tests"):
            (self.root / name).symlink_to(PROJECT / name)
        (self.root / "docs").mkdir()
        (self.root / "tools").mkdir()
        shutil.copy(PROJECT / "tools" / "update_readme.py", self.root / "tools")
        self.readme = (PROJECT / "README.md").read_text()

    def check(self, text):
        (self.root / "README.md").write_text(text)
        done = subprocess.run([sys.executable, "tools/update_readme.py", "--check"], cwd=self.root,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def test_the_page_as_it_is(self):
        self.assertEqual(self.check(self.readme), (0, ""))

    def test_another_number_is_stale(self):
        self.assertEqual(self.check(self.readme.replace("µs**", "us**", 1)), (1, "README.md is stale: run update_readme.py\n"))

    def test_two_pages_with_one_block(self):
        block = self.readme[self.readme.index("<!-- begin sweep"):self.readme.index("<!-- end sweep")] + "<!-- end sweep -->\n"
        (self.root / "docs" / "a.md").write_text(block)
        self.assertEqual(self.check(self.readme), (1, "docs/a.md: another page has block sweep, too\n"))


if __name__ == "__main__":
    unittest.main()
