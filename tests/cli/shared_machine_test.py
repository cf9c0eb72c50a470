#!/usr/bin/env python3
"""Checks that other processes and users cannot lose exports of fatune or plant machine code.

    shared_machine_test.py --fatune PATH [unittest arguments]
"""
import argparse
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

STRANGER = 54321  # an unused user id
SHAPES = ["4,8,512,64", "4,8,512,128", "1,8,512,64", "2,8,1024,64", "1,2,256,64", "8,8,512,64"]


class SharedMachine(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def start(self, *arguments, program=None, **settings):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "NO_COLOR": "1", "TMPDIR": str(self.folder)}
        env.update(settings)
        env = {name: value for name, value in env.items() if value is not None}
        return subprocess.Popen([str(program or FATUNE), *map(str, arguments)], cwd=self.folder, env=env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_fatune(self, *arguments, **settings):
        process = self.start(*arguments, **settings)
        out, said = process.communicate(timeout=300)
        return process.returncode, out, said

    def test_exports_at_once_lose_no_kernel(self):
        config = {"kernel": "naive", "config": {"TILE": 16, "ROW_WARPS": 4}}
        (self.folder / "one.json").write_text(json.dumps(config))
        export = ["export", "--config", "one.json", "--arch", "sm_90a", "--unverified", "--to", "wisdom", "-o", "wisdom"]
        running = [self.start(*export, "--shape", shape) for shape in SHAPES]
        for process in running:
            _, said = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, said)
        kernels = json.loads((self.folder / "wisdom/index.json").read_text())["kernels"]
        cubins = list((self.folder / "wisdom/cubins").iterdir())
        self.assertEqual((len(kernels), len(cubins)), (len(SHAPES), len(SHAPES)))

    def test_an_export_waits_for_the_lock_of_another(self):
        import fcntl
        (self.folder / "wisdom").mkdir()
        (self.folder / "one.json").write_text(json.dumps({"kernel": "naive", "config": {"TILE": 16, "ROW_WARPS": 4}}))
        with open(self.folder / "wisdom/.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start("export", "--config", "one.json", "--arch", "sm_90a", "--unverified", "--to", "wisdom", "-o",
                                 "wisdom", "--shape", SHAPES[0])
            before = list(itertools.takewhile(lambda line: "waiting for another process" not in line, process.stderr))
            self.assertIsNone(process.poll(), before)
            self.assertFalse((self.folder / "wisdom/index.json").exists())
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, said)

    def test_runs_of_the_same_second_have_folders_of_their_own(self):
        time.sleep(1.05 - time.time() % 1)
        running = [self.start("sweep", "--shape", SHAPES[0], "--device", "recorded", "--budget", "2") for _ in range(3)]
        for process in running:
            _, said = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, said)
        self.assertEqual(len(list((self.folder / "runs").glob("*/best.json"))), 3)

    def test_a_run_that_fails_at_once_leaves_no_folder(self):
        code, _, _ = self.run_fatune("sweep", "--shape", "7,7,77,64", "--device", "recorded")
        self.assertNotEqual(code, 0)
        self.assertEqual(list(self.folder.glob("runs/*")), [])

    def compile_one(self, **settings):
        return self.run_fatune("compile", "--shape", SHAPES[0], "--kernel", "naive", "--budget", "1", **settings)

    def test_without_a_home_the_cache_is_this_users_alone(self):
        code, _, said = self.compile_one(HOME=None)
        self.assertEqual(code, 0, said)
        self.assertEqual(list(self.folder.glob("fatune-cache")), [])
        own = self.folder / f"fatune-cache-{os.getuid()}"
        self.assertEqual(own.stat().st_mode & 0o777, 0o700)

    def test_a_temporary_cache_that_others_may_write_is_not_used(self):
        own = self.folder / f"fatune-cache-{os.getuid()}"
        own.mkdir()
        own.chmod(0o777)
        code, _, said = self.compile_one(HOME=None)
        self.assertEqual(code, 0, said)
        self.assertIn("compiling without the cache", said)
        self.assertEqual(list(own.iterdir()), [])

    def test_a_temporary_cache_that_is_a_link_is_not_used(self):
        (self.folder / "elsewhere").mkdir(mode=0o700)
        (self.folder / f"fatune-cache-{os.getuid()}").symlink_to("elsewhere")
        _, _, said = self.compile_one(HOME=None)
        self.assertIn("compiling without the cache", said)

    @unittest.skipUnless(os.getuid() == 0, "only root gives files away")
    def test_a_temporary_cache_of_another_user_is_not_used(self):
        own = self.folder / f"fatune-cache-{os.getuid()}"
        own.mkdir(mode=0o700)
        os.chown(own, STRANGER, STRANGER)
        _, _, said = self.compile_one(HOME=None)
        self.assertIn("compiling without the cache", said)
        self.assertEqual(list(own.iterdir()), [])

    def test_a_cache_that_others_may_write_is_worth_a_word(self):
        cache = self.folder / "cache"
        cache.mkdir()
        code, _, said = self.compile_one(XDG_CACHE_HOME=str(self.folder))
        self.assertNotIn("other users", said)
        (self.folder / "fatune").chmod(0o777)
        code, _, said = self.compile_one(XDG_CACHE_HOME=str(self.folder))
        self.assertEqual(code, 0, said)
        self.assertIn("other users may write into this cache", said)

    def test_without_a_home_or_a_temporary_folder_it_is_an_error_with_words(self):
        code, _, said = self.compile_one(HOME=None, TMPDIR="/nonexistent")
        self.assertEqual(code, 4, said)
        self.assertIn("--cache", said)

    def checkout(self):
        """A checkout with a program, in a folder that others may write to."""
        program = self.folder / "scratch/checkout/build/release/fatune"
        program.parent.mkdir(parents=True)
        shutil.copy(FATUNE, program)
        (self.folder / "scratch/checkout/CMakeLists.txt").touch()
        return program

    def plant(self, folder):
        """A library in a folder that is searched for NVRTC; loading it leaves a mark."""
        library = folder / ".deps/cuda/nvidia/cu13/lib/libnvrtc.so.13"
        library.parent.mkdir(parents=True)
        code = f'''#include <cstdio>
__attribute__((constructor)) static void mark() {{ std::fclose(std::fopen("{self.folder}/loaded", "w")); }}'''
        subprocess.run(["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", library], input=code, text=True, check=True)

    def loads_planted(self, program):
        (self.folder / "loaded").unlink(missing_ok=True)
        process = self.start("compile", "--shape", SHAPES[0], "--kernel", "naive", "--budget", "1",
                             program=program)
        _, said = process.communicate(timeout=120)
        return (self.folder / "loaded").exists(), said

    def test_deps_above_the_checkout_are_not_loaded(self):
        program = self.checkout()
        self.plant(self.folder / "scratch")
        self.assertFalse(self.loads_planted(program)[0])
        (self.folder / "scratch/checkout/CMakeLists.txt").unlink()
        self.assertFalse(self.loads_planted(program)[0])

    def test_deps_of_the_checkout_are_loaded_unless_others_may_write_there(self):
        program = self.checkout()
        self.plant(self.folder / "scratch/checkout")
        self.assertTrue(self.loads_planted(program)[0])
        (self.folder / "scratch/checkout/.deps").chmod(0o777)
        loaded, said = self.loads_planted(program)
        self.assertFalse(loaded)
        self.assertIn("nothing is loaded from it", said)

    @unittest.skipUnless(os.getuid() == 0, "only root gives files away")
    def test_deps_of_another_user_are_not_loaded(self):
        program = self.checkout()
        self.plant(self.folder / "scratch/checkout")
        os.chown(self.folder / "scratch/checkout/.deps", STRANGER, STRANGER)
        loaded, said = self.loads_planted(program)
        self.assertFalse(loaded)
        self.assertIn("nothing is loaded from it", said)


def main():
    global FATUNE
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    args, rest = parser.parse_known_args()
    FATUNE = os.path.abspath(args.fatune)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
