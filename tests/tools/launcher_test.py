#!/usr/bin/env python3
"""launcher_test.py: Runs ./fatune in a skeleton of the project with a stand-in for CMake."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent

# Counts its builds; fails when src/ holds a file named broken.cpp, and in a folder that was configured
# elsewhere. The program prints its arguments. A file named slow makes it wait for its end.
CMAKE = """#!/usr/bin/env bash
[[ $1 != --version ]] || { echo "cmake version 3.25.1"; exit 0; }
cache=build/release/CMakeCache.txt
if [[ $1 != --build ]]; then
  [[ $1 != --fresh ]] || rm -f "$cache"
  home="CMAKE_HOME_DIRECTORY:INTERNAL=$PWD"
  [[ ! -e $cache || $(<"$cache") == "$home" ]] || { echo "CMakeCache.txt directory is different"; exit 1; }
  echo "$home" >"$cache"
  exit 0
fi
echo build >>builds
while [[ -e slow ]]; do sleep 0.05; done
[[ ! -e src/broken.cpp ]] || { echo "error: broken.cpp"; exit 1; }
mkdir -p build/release
printf '#!/usr/bin/env bash\\necho "$PWD: $*"\\nexit 5\\n' >build/release/fatune
chmod +x build/release/fatune
"""


class Skeleton(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name).resolve() / "project with space"
        for name in ("src/core", "kernels", "configs", "third_party", "cmake", "tools", "bin"):
            (self.root / name).mkdir(parents=True)
        for name in ("CMakeLists.txt", "CMakePresets.json", "src/core/a.cpp", "kernels/k.cu"):
            (self.root / name).write_text(name)
        for name in ("fatune", "tools/configure.sh"):
            shutil.copy(PROJECT / name, self.root / name)
        self.script("tools/bootstrap.sh", "#!/usr/bin/env bash\n")
        self.script("bin/cmake", CMAKE)

    def script(self, name, text):
        path = self.root / name
        path.write_text(text)
        path.chmod(0o755)

    def run_launcher(self, *args):
        env = {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        return subprocess.run([self.root / "fatune", *args], cwd=self.folder.name, env=env, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, check=False)

    def builds(self):
        return (self.root / "builds").read_text().count("build")


class LauncherTest(Skeleton):
    def assert_builds_again(self, change):
        before = self.builds()
        change()
        self.assertEqual(self.run_launcher().returncode, 5)
        self.assertEqual(self.builds(), before + 1)
        self.run_launcher()
        self.assertEqual(self.builds(), before + 1)

    def test_runs_the_program_with_its_arguments_folder_and_exit_code(self):
        done = self.run_launcher("sweep", "--shape", "4,8,512,64")
        here = pathlib.Path(self.folder.name).resolve()
        self.assertEqual(done.stdout, f"{here}: sweep --shape 4,8,512,64\n")
        self.assertEqual(done.returncode, 5)
        self.assertIn("building", done.stderr)

    def test_builds_once_and_again_only_after_a_change(self):
        self.run_launcher()
        self.assertEqual(self.run_launcher().stderr, "")
        self.assertEqual(self.builds(), 1)
        source = self.root / "src/core/a.cpp"
        self.assert_builds_again(lambda: source.write_text("changed"))
        self.assert_builds_again(lambda: os.utime(source, (1, 1)))
        self.assert_builds_again(lambda: (self.root / "src/core/b.cpp").write_text("new"))
        self.assert_builds_again((self.root / "src/core/b.cpp").unlink)
        self.assert_builds_again(lambda: (self.root / "kernels/k.cu").write_text("new kernel"))
        self.assert_builds_again(lambda: (self.root / "CMakeLists.txt").write_text("new"))
        self.assert_builds_again((self.root / "build/release/fatune").unlink)

    def test_documents_do_not_cause_a_build(self):
        self.run_launcher()
        (self.root / "src/README.md").write_text("text")
        self.run_launcher()
        self.assertEqual(self.builds(), 1)

    def test_a_failed_build_is_shown_and_tried_again(self):
        broken = self.root / "src/broken.cpp"
        broken.write_text("")
        done = self.run_launcher("sweep")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("error: broken.cpp", done.stderr)
        self.assertIn("build/release.log", done.stderr)
        broken.unlink()
        self.assertEqual(self.run_launcher().returncode, 5)

    def test_a_missing_package_ends_it_with_code_3(self):
        self.script("tools/bootstrap.sh", "#!/usr/bin/env bash\necho 'sudo apt-get install x' >&2; exit 3\n")
        done = self.run_launcher("sweep")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("sudo apt-get install x", done.stderr)

    def test_a_copied_checkout_is_built_again(self):
        self.run_launcher()
        copy = self.root.parent / "copy"
        shutil.copytree(self.root, copy, symlinks=True)
        self.root = copy
        (copy / "src/core/a.cpp").write_text("changed")
        done = self.run_launcher()
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_a_moved_checkout_runs_and_is_built_again(self):
        self.run_launcher()
        self.root = self.root.rename(self.root.parent / "moved")
        self.assertEqual((self.run_launcher().returncode, self.builds()), (5, 1))
        self.assert_builds_again(lambda: (self.root / "src/core/a.cpp").write_text("changed"))

    def test_libraries_of_others_are_part_of_what_is_built(self):
        self.run_launcher()
        self.assert_builds_again(lambda: (self.root / "third_party/d3.js").write_text("x"))

    def test_where_nothing_can_be_written_it_says_so(self):
        (self.root / "build").write_text("a file, which as little can be made in")
        done = self.run_launcher("gate")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("nothing can be written below", done.stderr)

    def test_any_failure_of_its_own_ends_it_with_code_3(self):
        self.script("tools/bootstrap.sh", "#!/usr/bin/env bash\nexit 1\n")
        self.assertEqual(self.run_launcher("gate").returncode, 3)
        self.script("tools/bootstrap.sh", "#!/usr/bin/env bash\n")
        self.run_launcher()
        self.script("build/release/fatune", "#!/no/such/interpreter\n")
        self.assertEqual(self.run_launcher("gate").returncode, 3)

    def test_the_second_of_two_first_runs_says_that_it_waits(self):
        (self.root / "slow").touch()
        env = {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        start = lambda: subprocess.Popen([self.root / "fatune"], env=env, text=True, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = start()
        while not (self.root / "builds").exists():
            self.assertIsNone(first.poll())
            time.sleep(0.05)
        second = start()
        self.assertIn("another ./fatune is building; waiting for it", second.stderr.readline())
        (self.root / "slow").unlink()
        for process in (first, second):
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 5)
        self.assertEqual(self.builds(), 1)

    def test_works_through_a_link(self):
        link = pathlib.Path(self.folder.name) / "link"
        link.symlink_to(self.root / "fatune")
        done = subprocess.run([link, "x"], env={"PATH": f"{self.root}/bin:{os.environ['PATH']}"}, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 5)

    def test_cuda_from_deps_unless_told_otherwise(self):
        self.run_launcher()
        self.script("build/release/fatune", '#!/usr/bin/env bash\necho "${CUDA_HOME:-none}"\n')
        self.assertEqual(self.run_launcher().stdout, "none\n")
        (self.root / ".deps/cuda/nvidia/cu13").mkdir(parents=True)
        self.assertEqual(self.run_launcher().stdout, f"{self.root}/.deps/cuda/nvidia/cu13\n")


if __name__ == "__main__":
    unittest.main()
