#!/usr/bin/env python3
"""Makes the archive of a build that is there, unpacks it where nothing else is, moves it, and uses it by PATH alone.

    archive_test.py --build build/dev
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

BUILD = None
WANTED = ["bin/fatune", "include/fatune_rt.h", "share/man/man1/fatune-sweep.1", "share/bash-completion/completions/fatune",
          "share/doc/fatune/README.md", "share/fatune/kernels/fa_rows/fa_rows.cu"]


def run(*line, **options):
    return subprocess.run([str(word) for word in line], capture_output=True, text=True, check=False, timeout=200, **options)


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        done = run("cpack", "-G", "TGZ", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        (cls.archive,) = cls.folder.glob("fatune-*.tar.gz")
        first = cls.folder / "first"
        with tarfile.open(cls.archive) as archive:
            cls.members = archive.getmembers()
            archive.extractall(first)
        (top,) = first.iterdir()
        cls.root = cls.folder / "a folder with spaces"
        top.rename(cls.root)
        cls.home = cls.folder / "home"
        cls.home.mkdir()

    def fatune(self, *arguments):
        environment = {"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8"}
        return run("env", "fatune", *arguments, env=environment, cwd=self.home)

    def test_its_name_and_its_one_folder(self):
        self.assertRegex(self.archive.name, r"^fatune-[0-9.]+-linux-(x86_64|aarch64)\.tar\.gz$")
        self.assertEqual({member.name.split("/")[0] for member in self.members}, {self.archive.name.removesuffix(".tar.gz")})

    def test_files(self):
        for name in WANTED:
            self.assertTrue((self.root / name).is_file(), name)
        (library,) = self.root.glob("lib/libfatune_rt.so.?")
        self.assertEqual(library.resolve().parent, library.parent)

    def test_links_stay_inside(self):
        self.assertEqual([member.linkname for member in self.members if member.issym() and "/" in member.linkname], [])

    def test_the_program_runs_from_there(self):
        done = self.fatune("--version")
        self.assertEqual((done.returncode, done.stdout), (0, run(BUILD / "fatune", "--version").stdout), done.stderr)
        done = self.fatune("sweep", "--device", "recorded", "--shape", "4,8,512,64", "--budget", "4", "--out", "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.home / "run/best.json").is_file())


def main():
    global BUILD
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    args, rest = parser.parse_known_args()
    BUILD = pathlib.Path(os.path.abspath(args.build))
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
