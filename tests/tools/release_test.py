#!/usr/bin/env python3
"""release_test.py: Runs tools/release.sh in a skeleton of the project with stand-ins for the tools that build."""

import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = "#!/usr/bin/env bash\nset -e\n"
CPACK = SCRIPT + """case $2 in
  archive) touch "build/portable/fatune-0.2.0-linux-$(uname -m).tar.gz" ;;
  deb) mkdir -p build/release && cd build/release && touch fatune_0.2.0-1_any.deb fatune-mpi_0.2.0-1_any.deb ;;
esac
"""
WHEEL = SCRIPT + """mkdir -p "$1" build/portable && touch "$1/fatune-0.2.0-py3-none-any.whl"
printf '#!/bin/sh\\necho "fatune 0.2.0 (%s)"\\n' "$(git rev-parse --short=12 HEAD)" >build/portable/fatune
chmod +x build/portable/fatune
"""
OBJDUMP = SCRIPT + 'echo "GLIBC_2.17 GLIBC_${NEEDED:-2.34}"\n'
CHANGES = "# Changelog\n\n## 0.2.0\n\n- New.\n\n## 0.2.0.1\n\n- Other.\n\n## 0.1.0\n\n- Old.\n"


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "a project"
        self.out = self.root / "build/out"
        for name, text in (("tools/bootstrap.sh", SCRIPT), ("tools/configure.sh", SCRIPT), ("tools/wheel.sh", WHEEL), ("bin/cmake", SCRIPT),
                           ("bin/cpack", CPACK), ("bin/objdump", OBJDUMP), ("CHANGELOG.md", CHANGES),
                           ("CMakeLists.txt", "project(fatune VERSION 0.2.0 LANGUAGES CXX)\n"), (".gitignore", "/build/\n")):
            self.write(name, text)
        for name in (".gitattributes", "packaging/commit", "tools/release.sh"):
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(PROJECT / name, self.root / name)
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *words):
        line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(line, cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")

    def release(self, code=0, **variables):
        env = {**os.environ, **variables, "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        done = subprocess.run([self.root / "tools/release.sh", "HEAD", self.out], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout + done.stderr

    def test_files_are_of_the_commit_alone(self):
        self.write("CHANGELOG.md", "changed")
        self.write("not_committed.cpp", "")
        self.release()
        names = sorted(path.name for path in self.out.iterdir())
        self.assertEqual(len(names), 7, names)
        self.assertEqual((self.out / "notes.md").read_text(), "## 0.2.0\n\n- New.\n\n")
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=self.out, check=True)
        with tarfile.open(self.out / "fatune-0.2.0.tar.gz") as sources:
            self.assertNotIn("fatune-0.2.0/not_committed.cpp", sources.getnames())
            self.assertEqual(sources.extractfile("fatune-0.2.0/packaging/commit").read().decode().strip(), self.git("show", "--no-patch", "--format=%H %cs", "HEAD"))

    def test_a_release_that_would_not_run_elsewhere_or_has_no_notes_is_refused(self):
        self.assertIn("the program needs GLIBC_2.38, not 2.34", self.release(1, NEEDED="2.38"))
        self.assertIn("is not empty", self.release(1))
        shutil.rmtree(self.out)
        self.write("CHANGELOG.md", "## 0.1.0\n")
        self.commit()
        self.assertIn("CHANGELOG.md has no section '## 0.2.0'", self.release(1))


if __name__ == "__main__":
    unittest.main()
