#!/usr/bin/env python3
"""Tests how `fatune verify --outputs` tells that a launch failed: the fake GPU has no memory.

    outputs_test.py --fatune PATH --fakes FOLDER
"""
import subprocess
import tempfile
import unittest

import fakes

FATUNE = FAKES = ""


class Outputs(unittest.TestCase):
    def test_a_launch_that_fails_is_a_device_error(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LD_LIBRARY_PATH": FAKES, "ASAN_OPTIONS": "detect_leaks=0"}
            done = subprocess.run([FATUNE, "verify", "--kernel", "naive", "--shape", "1,1,64,64", "--outputs", f"{folder}/kept"], env=env,
                                  text=True, capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("fatune: error: naive cannot be launched: while making room for q: cannot allocate", done.stderr)


if __name__ == "__main__":
    fakes.main(__name__, __doc__)
