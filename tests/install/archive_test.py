#!/usr/bin/env python3
"""Makes the archives and the Debian package of a build that is there, unpacks each where nothing else is, and uses it by PATH alone.

    archive_test.py --build build/dev
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import readme

BUILD = None
WANTED = ["bin/fatune", "include/fatune_rt.h", "share/man/man1/fatune-sweep.1", "share/bash-completion/completions/fatune",
          "share/doc/fatune/README.md", "share/fatune/kernels/fa_rows/fa_rows.cu"]


def run(*line, **options):
    return subprocess.run([str(word) for word in line], capture_output=True, text=True, check=False, timeout=200, **options)


class Unpacked(unittest.TestCase):
    """A package in a folder of its own, and a home beside it."""

    @classmethod
    def pack(cls, generator):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        done = run("cpack", "-G", generator, "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.home = cls.folder / "home"
        cls.home.mkdir()

    def fatune(self, *arguments):
        environment = {"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8"}
        return run("env", "fatune", *arguments, env=environment, cwd=self.home)

    def check_the_program(self):
        done = self.fatune("--version")
        self.assertEqual((done.returncode, done.stdout), (0, run(BUILD / "fatune", "--version").stdout), done.stderr)
        self.assertRegex(done.stdout, r"^fatune [0-9.]+ \((unknown|[0-9a-f]{12}(-changed)?)\)\nNVRTC ")
        readme.follow(self, self.fatune, self.home)


class Archive(Unpacked):
    @classmethod
    def setUpClass(cls):
        cls.pack("TGZ")
        (cls.archive,) = cls.folder.glob("fatune-*.tar.gz")
        first = cls.folder / "first"
        with tarfile.open(cls.archive) as archive:
            cls.members = archive.getmembers()
            archive.extractall(first)
        (top,) = first.iterdir()
        cls.root = cls.folder / "a folder with spaces"
        top.rename(cls.root)

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
        self.check_the_program()


@unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "no dpkg-dev here")
class DebianPackage(Unpacked):
    def test_the_program_runs_where_it_is_unpacked(self):
        self.pack("DEB")
        (package,) = self.folder.glob("fatune_*.deb")
        self.assertEqual(run("dpkg-deb", "--extract", package, self.folder / "system").returncode, 0)
        self.root = self.folder / "system/usr"
        self.check_the_program()


class Sources(unittest.TestCase):
    def test_they_are_complete_and_name_their_commit(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if run("git", "-C", readme.ROOT, "archive", "--output", folder / "sources.tar", "HEAD").returncode != 0:
                self.skipTest("no repository here")
            with tarfile.open(folder / "sources.tar") as archive:
                archive.extractall(folder / "sources")
            # CMake looks for each file that it will compile.
            for line in (["-S", folder / "sources", "-G", "Ninja", "-D", "FATUNE_TESTS=OFF", "-B", folder / "build"],
                         ["--build", folder / "build", "--target", "fatune_commit"]):
                done = run("cmake", *line)
                self.assertEqual(done.returncode, 0, done.stderr)
            commit = run("git", "-C", readme.ROOT, "rev-parse", "--short=12", "HEAD").stdout.strip()
            self.assertIn(f'"{commit}"', (folder / "build/src/cli/commit.cpp").read_text())


def main():
    global BUILD
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    args, rest = parser.parse_known_args()
    BUILD = pathlib.Path(os.path.abspath(args.build))
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
