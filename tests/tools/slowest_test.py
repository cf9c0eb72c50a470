#!/usr/bin/env python3
"""slowest_test.py: Gives slowest_tests.py a JUnit file as ctest writes it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "slowest_tests.py"
JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="4" failures="1" disabled="0" skipped="1" hostname="" time="0" timestamp="2026-01-01T00:00:00">
  <testcase name="core: quick" classname="core: quick" time="0.01" status="run"><system-out>x &lt; y</system-out></testcase>
  <testcase name="golden: slow" classname="golden: slow" time="12.345" status="fail"><failure message=""/></testcase>
  <testcase name="cli:absent" classname="cli:absent" time="0.002" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
  <testcase name="tune: middle" classname="tune: middle" time="1.5" status="run"/>
</testsuite>
"""


class SlowestTest(unittest.TestCase):
    def test_the_slowest_come_first_and_the_counts_last(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "junit.xml"
            path.write_text(JUNIT)
            done = subprocess.run([sys.executable, TOOL, path, "--count", "2"], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, f"""
The 2 slowest tests, in seconds ({path}):
   12.35  golden: slow
    1.50  tune: middle

4 tests in 14 s of their own: 2 passed, 1 failed, 1 skipped
""")


if __name__ == "__main__":
    unittest.main()
