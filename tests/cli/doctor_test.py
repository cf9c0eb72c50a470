#!/usr/bin/env python3
"""Runs `fatune doctor` on fake GPUs, whose state a fake driver and a fake NVML report.

    doctor_test.py --fatune PATH --fakes FOLDER
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import fakes

FATUNE = FAKES = ""
QUIET = "no other process, no throttling, 345 of 1980 MHz, 31 degrees C"


class Doctor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_fatune(self, state, *words, **environment):
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LD_LIBRARY_PATH": FAKES, "FATUNE_FAKE_GPU": state,
               "LC_ALL": "C.UTF-8", **environment}
        return subprocess.run([FATUNE, *words], env=env, capture_output=True, text=True, check=False, timeout=120)

    def doctor(self, state, *options, **environment):
        return self.run_fatune(state, "doctor", *options, **environment)

    def gpu(self, state):
        """Findings on the GPU's state, and the whole answer."""
        answer = json.loads(self.doctor(state, "--json").stdout)
        rows = [row for row in answer["checks"] if row["what"] == "cuda:0 state"]
        return [(row["health"], row["found"]) for row in rows], answer

    def test_a_home_with_spaces_and_python_modules_of_the_present_folder(self):
        ran = self.folder / "RAN"
        (self.folder / "pip").mkdir()
        (self.folder / "pip/__main__.py").write_text(f"open({str(ran)!r}, 'w')\n")
        env = {"PATH": "/usr/bin:/bin", "HOME": f"{self.folder}/a b;x", "FATUNE_PYTHON": "/no/python"}
        done = subprocess.run([FATUNE, "doctor", "--json"], cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        (torch,) = [row for row in json.loads(done.stdout)["checks"] if row["what"] == "torch:*"]
        self.assertIn(f"python3 -I -m venv '{self.folder}/a b;x/.local/share/fatune/torch' && '", torch["remedy"])
        self.assertFalse(ran.exists())

    def test_a_quiet_gpu(self):
        rows, answer = self.gpu("quiet")
        self.assertEqual(rows, [("ok", QUIET)])
        device = [row["found"] for row in answer["checks"] if row["what"] == "cuda:0"]
        self.assertEqual(device, ["NVIDIA Fake, sm_90, 132 multiprocessors, 140.0 GiB"])

    def test_devices_says_which_are_not_alone(self):
        for state, found in [("quiet", None), ("shared", "another process computes on it"),
                             ("mig", "MIG is on: slices share memory and power with their neighbours")]:
            with self.subTest(state=state):
                listed = json.loads(self.run_fatune(state, "devices", "--json").stdout)["devices"]
                self.assertEqual([device.get("unfit") for device in listed], [found])
                self.assertEqual(f"cuda:0: {found}" in self.run_fatune(state, "devices").stdout, found is not None)

    def test_a_sweep_on_all_gpus_has_none_that_is_not_alone(self):
        done = self.run_fatune("shared", "sweep", "--device", "cuda:all", "--shape", "1,1,64,64")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no GPU is fit for final phases: cuda:0, another process computes on it", done.stderr)

    def test_each_disturbance_has_its_row_and_remedy(self):
        for state, found in [
            ("shared", "other processes compute on the GPU: process 4711 with 3.0 GiB"),
            ("working", "other processes, not visible from here, compute on the GPU: "
                        "busy 97 % of the time"),
            ("full", "other processes, not visible from here, compute on the GPU: 12.0 GiB in use"),
            ("hot", "88 degrees C"),
            ("throttled", "slowed down: hw_thermal"),
            ("slow", "clock at 990 of 1980 MHz while it works"),
            ("mig", "MIG is on: the GPU is shared in slices"),
        ]:
            with self.subTest(state=state):
                rows, answer = self.gpu(state)
                self.assertIn(("noisy", found), rows)
                self.assertFalse(answer["quiet"])
                self.assertTrue(all(row["remedy"] for row in answer["checks"] if row["health"] != "ok"))

    def test_everything_at_once(self):
        rows, _ = self.gpu("shared hot throttled mig")
        self.assertEqual([health for health, _ in rows], ["noisy"] * 4)

    def test_notes_are_not_noise(self):
        rows, _ = self.gpu("unloading exclusive")
        self.assertEqual([health for health, _ in rows], ["ok", "note", "note"])

    def test_a_gpu_that_nobody_may_use(self):
        rows, answer = self.gpu("prohibited")
        self.assertIn(("missing", "no program may compute on it"), rows)
        self.assertFalse(answer["able"])
        self.assertEqual(self.doctor("prohibited").returncode, 1)

    def test_no_driver(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a driver")
        done = self.doctor("", LD_LIBRARY_PATH="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("  missing  NVIDIA driver: no NVIDIA driver was found", done.stdout)
        self.assertIn("not able to tune on a GPU here", done.stdout)

    def test_colours_only_on_a_terminal_that_has_them(self):
        self.assertNotIn("\x1b", self.doctor("quiet").stdout)
        for settings, wanted in [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]:
            with self.subTest(settings=settings):
                self.assertEqual("\x1b[32mok\x1b[0m" in self.on_terminal(settings), wanted)

    def on_terminal(self, settings):
        master, slave = os.openpty()
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LD_LIBRARY_PATH": FAKES, "TERM": "xterm", **settings}
        with subprocess.Popen([FATUNE, "doctor"], env=env, stdin=subprocess.DEVNULL, stdout=slave,
                              stderr=subprocess.DEVNULL) as process:
            os.close(slave)
            text = b""
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:  # the other side is closed
                    break
                if not part:
                    break
                text += part
            process.wait()
        os.close(master)
        return text.decode()


if __name__ == "__main__":
    fakes.main(__name__, __doc__.splitlines()[0])
