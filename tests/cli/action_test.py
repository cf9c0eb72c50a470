#!/usr/bin/env python3
"""Runs the steps of the GitHub action docs/ci/gate/action.yml on the recorded H200, as a runner does.

    action_test.py --fatune PATH --root FOLDER
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

FATUNE = ROOT = ""


class Action(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.action = yaml.safe_load((pathlib.Path(ROOT) / "docs/ci/gate/action.yml").read_text())

    def run_action(self, **given):
        """Exit code of the first step that fails, and what the job's summary says."""
        inputs = {name: each["default"] for name, each in self.action["inputs"].items()} | given
        (self.folder / "bin").mkdir()
        (self.folder / "bin/fatune").symlink_to(FATUNE)
        files = {name: str(self.folder / name) for name in ("GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
        env = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **files}
        for step in self.action["runs"]["steps"]:
            self.assertEqual(step["shell"], "bash")
            values = {name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], value)
                      for name, value in step["env"].items()}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=self.folder,
                                  env=env | values, capture_output=True, text=True, check=False, timeout=120)
            if done.returncode != 0:
                break
            env |= dict(line.split("=", 1) for line in pathlib.Path(files["GITHUB_ENV"]).read_text().splitlines())
        return done.returncode, pathlib.Path(files["GITHUB_STEP_SUMMARY"]).read_text()

    def recorded(self, **given):
        run = f"{ROOT}/results/h200/mission"
        return self.run_action(candidate=f"{run}/best.json", baselines="cudnn", options=f"--device recorded:{run}", **given)

    def test_a_faster_kernel_passes(self):
        code, summary = self.recorded()
        self.assertEqual(code, 0, summary)
        self.assertIn("cudnn", summary)
        self.assertTrue((self.folder / "gate-results/gate.json").exists())
        self.assertTrue((self.folder / "gate-results/doctor.txt").exists())

    def test_a_kernel_that_is_not_fast_enough_fails(self):
        self.assertEqual(self.recorded(threshold="0.5")[0], 1)

    def test_what_cannot_be_decided_fails_and_says_why(self):
        code, summary = self.run_action(candidate="absent.json")
        self.assertEqual(code, 4)
        self.assertIn("could not decide (exit 4)", summary)
        self.assertIn("absent.json", summary)

    def test_the_workflow_uses_the_action_and_pins_all_that_it_uses(self):
        used = re.findall(r"uses: (\S+)@(\S+)", (pathlib.Path(ROOT) / "docs/ci/gate.yml").read_text())
        self.assertIn("OWNER/fatune/docs/ci/gate", [name for name, _ in used])
        for name, commit in used:
            self.assertRegex(commit, "^[0-9a-f]{40}$", name)


def main():
    global FATUNE, ROOT
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True, type=os.path.abspath)
    parser.add_argument("--root", required=True, type=os.path.abspath)
    args, rest = parser.parse_known_args()
    FATUNE, ROOT = args.fatune, args.root
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
