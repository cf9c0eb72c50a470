#!/usr/bin/env python3
"""Installs a build folder's program into an empty folder, and checks the files.

    install_test.py --build build/dev
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = ""
WANTED = [
    "bin/fatune",
    "share/man/man1/fatune.1",
    "share/man/man1/fatune-sweep.1",
    "share/bash-completion/completions/fatune",
    "share/zsh/site-functions/_fatune",
    "share/fish/vendor_completions.d/fatune.fish",
    "share/doc/fatune/copyright",
    "share/doc/fatune/README.md",
    "share/doc/fatune/docs/guide.md",
    "share/fatune/kernels/fa_rows/fa_rows.cu",
    "share/fatune/configs/schemas/best.1.json",
]


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "root"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.root, "--component", "program"], check=True,
                       stdout=subprocess.DEVNULL)

    def test_files(self):
        for name in WANTED:
            self.assertTrue((self.root / name).is_file(), name)

    def test_the_plug_in_for_mpi_is_found_where_it_is_installed(self):
        if not (pathlib.Path(BUILD) / "libfatune_mpi.so").exists():
            self.skipTest("built without MPI")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.root, "--component", "mpi"], check=True,
                       stdout=subprocess.DEVNULL)
        done = subprocess.run([self.root / "bin" / "fatune", "doctor"], capture_output=True, text=True, check=False)
        (plugin,) = self.root.rglob("libfatune_mpi.so")
        self.assertIn(str(plugin), done.stdout)

    def test_nothing_of_the_build_remains(self):
        build = os.path.realpath(BUILD).encode()
        for path in self.root.rglob("*"):
            if path.is_file() and path.name != "fatune":  # debug information of the dev preset names sources
                self.assertNotIn(build, path.read_bytes(), path)

    def test_the_program_runs_from_there(self):
        done = subprocess.run([self.root / "bin" / "fatune", "kernels"], capture_output=True, text=True, check=True)
        self.assertIn("fa_wgmma", done.stdout)

    def test_the_shell_finds_its_completions(self):
        code = (f'PATH={self.root}/bin:$PATH; source {self.root}/share/bash-completion/completions/fatune; '
                'COMP_LINE="fatune doc" COMP_POINT=10; _fatune; echo $COMPREPLY')
        done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "doctor\n")


def main():
    global BUILD
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    args, rest = parser.parse_known_args()
    BUILD = args.build
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
