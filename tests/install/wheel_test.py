#!/usr/bin/env python3
"""Makes the wheel of a build that is there, installs it into empty environments, and uses it as a stranger would.

    wheel_test.py --build build/dev --venv .deps/wheel

The environment --venv has scikit-build-core (tools/bootstrap.sh test). Without it the test is skipped (exit 77); under
CI=true that fails. Nothing is downloaded.
"""
import argparse
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import readme

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
BUILD = BUILDER = WHEEL = None
# PyTorch, and the module that needs it: others of their names stand in.
DISPATCH = """
import importlib.machinery, sys, types
sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch"].__spec__ = importlib.machinery.ModuleSpec("torch", None)
module = sys.modules["fatune.capturing"] = types.ModuleType("fatune.capturing")
module.main = lambda told: print("captured", told.script, *told.arguments) or 7
from fatune.__main__ import main
sys.exit(main(["capture", "script.py", "--flag"]))
"""
# A machine on which NVRTC can come from nowhere but the environment.
BARE = 'mount -t tmpfs none /usr/local && mount -t tmpfs none /opt && exec "$@"'


def run(*line, **options):
    return subprocess.run([str(word) for word in line], capture_output=True, text=True, check=False, timeout=300, **options)


def pip(*arguments):
    return run(BUILDER, "-m", "pip", "--disable-pip-version-check", *arguments)


def make_wheel(folder):
    done = pip("wheel", ROOT, "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder, "-C", f"cmake.define.FATUNE_BUILD={BUILD}")
    if done.returncode != 0:
        sys.exit(f"the wheel was not made:\n{done.stdout}{done.stderr}")
    (wheel,) = folder.glob("fatune-*.whl")
    return wheel


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


def can_hide_folders():
    return run("unshare", "--map-root-user", "--mount", "sh", "-c", BARE, "sh", "true").returncode == 0


class Environment:
    """An environment of this Python, empty but for the wheel; its programs run with nothing else on PATH."""

    def __init__(self, folder):
        self.folder, self.home = folder / "an environment", folder / "home"
        self.home.mkdir()
        run(sys.executable, "-m", "venv", "--without-pip", self.folder)
        self.python, self.fatune = self.folder / "bin/python", self.folder / "bin/fatune"
        self.empty = self.files()
        done = self.pip("install", "--no-deps", "--no-index", WHEEL)
        assert done.returncode == 0, done.stderr
        (self.site,) = self.folder.glob("lib/python*/site-packages")

    def files(self):
        return {path for path in self.folder.rglob("*") if not path.is_dir()}

    def pip(self, *arguments):
        return pip("--python", self.python, *arguments)

    def run(self, *line, before=(), **variables):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8", **variables}
        return run(*before, *line, env=environment, cwd=self.home)


class Wheel(unittest.TestCase):
    """All in one environment, which each test leaves as it was."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.here = Environment(pathlib.Path(folder.name))

    def test_one_kind_of_machine_and_any_python(self):
        self.assertRegex(WHEEL.name, r"^fatune-[0-9.]+-py3-none-linux_(x86_64|aarch64)\.whl$")
        names = zipfile.ZipFile(WHEEL).namelist()
        for name in ("bin/fatune", "include/fatune_rt.h", "share/fatune/kernels/fa_rows/fa_rows.cu", "share/fatune/configs/schemas/best.1.json",
                     "benchmarks/parts/torch_driver.py", "benchmarks/parts/main.cu"):
            self.assertIn("fatune/" + name, names)
        self.assertTrue(any(name.startswith("fatune/lib/libfatune_rt.so.") for name in names))

    def test_both_entries_are_the_program(self):
        built = run(BUILD / "fatune", "--version").stdout
        for entry in ([self.here.fatune], [self.here.python, "-m", "fatune"]):
            done = self.here.run(*entry, "--version")
            self.assertEqual((done.returncode, done.stdout), (0, built), done.stderr)
            self.assertEqual(self.here.run(*entry, "--bogus").returncode, 2)

    @unittest.skipIf(has_driver(), "there is a driver")
    def test_doctor_says_that_there_is_no_gpu(self):
        done = self.here.run(self.here.fatune, "doctor")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("not able to tune on a GPU here", done.stdout)

    def test_the_commands_of_the_readme(self):
        readme.follow(self, lambda *words: self.here.run(self.here.fatune, *words), self.here.home)

    def test_commands_written_in_python_are_dispatched(self):
        done = self.here.run(self.here.python, "-c", DISPATCH)
        self.assertEqual((done.returncode, done.stdout), (7, "captured script.py --flag\n"), done.stderr)
        done = self.here.run(self.here.fatune, "capture", "script.py")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "^fatune: error: capture needs PyTorch, [^\n]*\n$")

    def test_pip_refuses_other_machines_and_old_pythons(self):
        for option, value in (("--platform", "macosx_14_0_arm64"), ("--python-version", "3.8")):
            with self.subTest(value):
                done = pip("download", "--no-deps", "--no-index", "--only-binary", ":all:", "--dest", self.here.home, option, value, WHEEL)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "is not a supported wheel on this platform|requires a different Python|not in '>=3.9'")


    def put_nvrtc_beside(self):
        """Puts there what pip would, copied from where the built program finds it; returns its folder."""
        rows = json.loads(run(BUILD / "fatune", "doctor", "--json").stdout)["checks"]
        (nvrtc,) = [row for row in rows if row["what"] == "NVRTC"]
        if nvrtc["health"] != "ok":
            self.skipTest("no NVRTC here")
        library = pathlib.Path(nvrtc["found"].partition("(")[2].removesuffix(")")).resolve()
        wheel = self.here.site / "nvidia/cu13/lib"
        self.addCleanup(shutil.rmtree, self.here.site / "nvidia", ignore_errors=True)
        wheel.mkdir(parents=True)
        for name in ("libnvrtc.so.*", "libnvrtc-builtins.so.*"):
            for file in library.parent.glob(name):
                shutil.copy(file, wheel)
        return self.here.site / "nvidia"

    def compile(self, **options):
        return self.here.run(self.here.fatune, "inspect", "--kernel", "fa_rows", "--shape", "1,2,128,64", "--arch", "sm_90a", "--inert", **options)

    def test_nvrtc_comes_from_the_environment_and_its_absence_is_said(self):
        nvidia = self.put_nvrtc_beside()
        found = json.loads(self.here.run(self.here.fatune, "doctor", "--json").stdout)["checks"]
        (nvrtc,) = [row["found"] for row in found if row["what"] == "NVRTC"]
        self.assertIn(str(nvidia), nvrtc)
        if not can_hide_folders():
            self.skipTest("folders cannot be hidden here")
        bare = ["unshare", "--map-root-user", "--mount", "sh", "-c", BARE, "sh"]
        self.assertEqual(self.compile(before=bare).returncode, 0)
        shutil.rmtree(nvidia)
        done = self.compile(before=bare)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("NVRTC", done.stderr)

    def test_a_program_that_is_gone_or_of_another_machine(self):
        program = self.here.site / "fatune/bin/fatune"
        kept = program.rename(self.here.folder / "kept")
        self.addCleanup(kept.rename, program)
        program.write_bytes(b"\x7fELF of another machine")
        program.chmod(0o755)
        done = self.here.run(self.here.fatune, "--version")
        self.assertEqual((done.returncode, done.stderr), (3, f"fatune: error: {program} cannot be run: Exec format error\n"))
        program.unlink()
        done = self.here.run(self.here.fatune, "--version", PATH=f"{self.here.fatune.parent}:/usr/bin")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"^fatune: error: the program fatune was not found; [^\n]*\n$")
        done = self.here.run(self.here.fatune, "--version", FATUNE="/no/such/program")
        self.assertEqual((done.returncode, done.stderr), (2, "fatune: error: FATUNE=/no/such/program: there is no such file\n"))


class Uninstalled(unittest.TestCase):
    def test_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            here = Environment(pathlib.Path(folder))
            self.assertEqual(here.run(here.fatune, "--version").returncode, 0)
            self.assertNotEqual(here.files(), here.empty)
            self.assertEqual(here.pip("uninstall", "--yes", "fatune").returncode, 0)
            self.assertEqual(here.files(), here.empty)


def main():
    global BUILD, BUILDER, WHEEL
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--venv", required=True, type=pathlib.Path)
    args, rest = parser.parse_known_args()
    BUILD, BUILDER = args.build.absolute(), args.venv.absolute() / "bin" / "python"
    if not BUILDER.exists():
        fails = bool(os.environ.get("CI"))
        print(f"{'FAILED' if fails else 'skipped'}: no scikit-build-core here (tools/bootstrap.sh test installs it)")
        sys.exit(1 if fails else SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        WHEEL = make_wheel(pathlib.Path(folder))
        unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
