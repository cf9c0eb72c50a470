#!/usr/bin/env python3
"""Tests the confinement of worker processes: a fake driver and compiler try hostile actions and report them.

    confinement_test.py --fatune PATH --fakes FOLDER
"""
import ctypes
import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import fakes

FATUNE = FAKES = ""
FILES = {"change", "write", "remove", "truncate"}
ALL = FILES | {"inet", "unix", "exec", "ptrace", "read", "temporary", "move", "device", "memory"}
ALLOW, REFUSE, EQUAL = 0x7FFF0000, 0x00050000, 4  # of seccomp.h
LANDLOCK_CREATE_RULESET, PR_SET_SECCOMP = 444, 22


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("how", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def without(landlock, seccomp):
    """Makes these system calls fail in a process before it becomes fatune, as on an older kernel."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    number = library.seccomp_syscall_resolve_name

    def before():
        context = ctypes.c_void_p(library.seccomp_init(ALLOW))
        refuse = REFUSE | errno.ENOSYS
        filters = Comparison(0, EQUAL, PR_SET_SECCOMP, 0)
        if landlock:
            library.seccomp_rule_add_array(context, refuse, LANDLOCK_CREATE_RULESET, 0, None)
        if seccomp:
            library.seccomp_rule_add_array(context, refuse, number(b"seccomp"), 0, None)
            library.seccomp_rule_add_array(context, refuse, number(b"prctl"), 1, ctypes.byref(filters))
        if library.seccomp_load(context) != 0:
            os._exit(77)

    return before if landlock or seccomp else None


def elsewhere():
    """A new folder outside all folders for temporary files; none if the machine has no such folder."""
    for place in (os.path.dirname(FAKES), os.path.expanduser("~"), "/srv"):
        temporary = any(pathlib.Path(place).resolve().is_relative_to(each) for each in ("/tmp", "/var/tmp", "/usr", "/dev"))
        if not temporary and os.access(place, os.W_OK):
            return tempfile.TemporaryDirectory(dir=place)
    raise unittest.SkipTest("every folder that can be written here is one for temporary files")


class Workers(unittest.TestCase):
    def setUp(self):
        scratch = elsewhere()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("home", "tmp", "foreign"):
            (self.folder / name).mkdir()

    def fatune(self, *arguments, lacks):
        for name in ("secret", "victim"):
            (self.folder / "foreign" / name).write_text("x")
        env = {"PATH": "/usr/bin:/bin", "HOME": f"{self.folder}/home", "TMPDIR": f"{self.folder}/tmp", "LD_LIBRARY_PATH": FAKES,
               "FATUNE_FAKE_GPU": "hostile", "FATUNE_FOREIGN": f"{self.folder}/foreign", "ASAN_OPTIONS": "detect_leaks=0", "SECRET_TOKEN": "of another program"}
        done = subprocess.run([FATUNE, *arguments, "--json", "--nvrtc", f"{FAKES}/fake_nvrtc.so.1"], env=env, text=True,
                              capture_output=True, preexec_fn=without(**lacks), check=False, timeout=60)
        if done.returncode == 77:
            self.skipTest("no seccomp here to hide parts of the kernel with")
        for new in self.folder.glob("*/new"):
            new.unlink()
        shutil.rmtree(self.folder / "home/.cache/fatune", ignore_errors=True)  # the cache remembers a failure
        return done

    def attempts(self, text, what):
        found = re.search(r"could([ a-z]*)", text)
        self.assertIsNotNone(found, f"{what}: {text}")
        return set(found[1].split())

    def device_worker(self, lacks):
        done = self.fatune("devices", lacks=lacks)
        return self.attempts(done.stdout, done.stderr)

    def compile_worker(self, lacks):
        done = self.fatune("compile", "--shape", "4,8,512,64", "--kernel", "naive", "--budget", "1", lacks=lacks)
        return self.attempts(done.stdout, done.stderr)

    def sandbox(self, lacks):
        """Version of landlock, and whether seccomp works, from doctor's answer."""
        checks = json.loads(self.fatune("doctor", lacks=lacks).stdout)["checks"]
        row, = [each for each in checks if each["what"] == "sandbox"]
        found = re.fullmatch(r"(?:no landlock|landlock ABI (\d+)), (no )?seccomp", row["found"])
        self.assertIsNotNone(found, row)
        abi, seccomp = int(found[1] or 0), found[2] is None
        self.assertEqual((row["health"], "remedy" in row), ("ok", False) if abi and seccomp else ("note", True))
        return abi, seccomp

    def test_each_worker_can_do_what_it_needs_and_no_more(self):
        for lacks in ({"landlock": False, "seccomp": False}, {"landlock": True, "seccomp": False},
                      {"landlock": False, "seccomp": True}, {"landlock": True, "seccomp": True}):
            with self.subTest(lacks=lacks):
                abi, seccomp = self.sandbox(lacks)
                self.assertFalse(lacks["landlock"] and abi)
                self.assertFalse(lacks["seccomp"] and seccomp)
                device, compiler = set(ALL), set(ALL)
                if seccomp:
                    device -= {"inet", "ptrace"}
                    compiler -= {"inet", "ptrace", "unix", "exec"}
                if abi >= 1:
                    device -= FILES
                    compiler -= FILES | {"read", "exec", "temporary", "move"}
                if abi in (1, 2):  # landlock versions 1 and 2 do not check truncate()
                    compiler.add("truncate")
                    device.add("truncate")
                self.assertEqual(self.device_worker(lacks), device)
                self.assertEqual(self.compile_worker(lacks), compiler)


if __name__ == "__main__":
    fakes.main(__name__, __doc__.splitlines()[0])
