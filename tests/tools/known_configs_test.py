#!/usr/bin/env python3
"""known_configs_test.py: Adds small runs to small files of known configs."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "known_configs.py"
H200, H100 = ({"arch": "sm_90a", "name": f"NVIDIA {name}"} for name in ("H200", "H100 80GB"))


def finalist(kernel, value, **times):
    return {"kernel": kernel, "config": {"A": value}, "outcome": "measured", **{time: {"median_us": us} for time, us in times.items()}}


class KnownConfigs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("tools", "configs/known", "run"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(TOOL, self.root / "tools")
        (self.root / "configs/known/sm_90a.json").write_text('{"schema": "fatune.known/1", "arch": "sm_90a", "device": "NVIDIA H200", "configs": [\n\n]}\n')

    def run_tool(self, *args):
        return subprocess.run([sys.executable, "tools/known_configs.py", *args], cwd=self.root, text=True, capture_output=True, check=False)

    def add(self, device, *finalists):
        (self.root / "run/best.json").write_text(json.dumps({"device": device, "problems": [{"name": "p", "problem": {"heads": 8}, "finalists": finalists}]}))
        self.assertEqual(self.run_tool("run").returncode, 0)
        self.assertEqual(self.run_tool("--check").returncode, 0)

    def known(self, name):
        configs = json.loads((self.root / "configs/known" / name).read_text())["configs"]
        return [(known["kernel"], known["config"]["A"], known["time"], known["median_us"]) for known in configs]

    def test_the_fastest_of_each_kernel_stays(self):
        self.add(H200, finalist("slow", 1, hot=9.0), finalist("fast", 1, hot=5.0), {"kernel": "fast", "config": {"A": 0}, "outcome": "wrong_result"})
        self.add(H200, finalist("slow", 2, hot=8.0), finalist("fast", 2, hot=6.0))
        self.assertEqual(self.known("sm_90a.json"), [("fast", 1, "hot", 5.0), ("slow", 2, "hot", 8.0)])
        self.add(H200, finalist("fast", 3, in_layer=7.0, hot=5.5))
        self.assertEqual(self.known("sm_90a.json"), [("fast", 3, "in_layer", 7.0), ("slow", 2, "hot", 8.0)])

    def test_another_device_has_a_file_of_its_own(self):
        self.add(H100, finalist("fast", 1, plain=5.0))
        self.assertEqual(self.known("sm_90a.json"), [])
        self.assertEqual(self.known("sm_90a_h100.json"), [("fast", 1, "plain", 5.0)])

    def test_another_order_is_refused(self):
        self.add(H200, finalist("slow", 1, hot=9.0), finalist("fast", 1, hot=5.0))
        path = self.root / "configs/known/sm_90a.json"
        path.write_text(path.read_text().replace("  {", " {", 1))
        done = self.run_tool("--check")
        self.assertEqual((done.returncode, done.stderr), (1, "sm_90a.json: not as tools/known_configs.py writes it\n"))


if __name__ == "__main__":
    unittest.main()
