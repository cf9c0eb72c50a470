#!/usr/bin/env python3
"""nightly_test.py: Runs nightly.py in a skeleton project with stand-ins for CMake and ctest."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "nightly.py"


class NightlyTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name).resolve()
        for name in ("tools", "bin", "src", "build/alone"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(TOOL, self.root / "tools" / "nightly.py")
        for name, text in {"cmake": "[[ $* != *tidy* ]]", "ctest": "true", "git": "echo 0123456789ab",
                           "g++": "echo g++ 1", "clang++": "echo clang 2"}.items():
            self.write(f"bin/{name}", f"#!/usr/bin/env bash\n{text}\n").chmod(0o755)
        for name in ("tests/crash/crash_test.py", "tests/install/archive_test.py", "tests/install/wheel_test.py", "tools/fuzz.py",
                     "tools/wheel.sh"):
            self.write(name, "#!/usr/bin/env bash\n").chmod(0o755)
        for wing in ("core", "search", "tune", "report", "runtime"):
            self.write(f"build/tsan/tests/unit/{wing}/test_{wing}", "#!/usr/bin/env bash\n").chmod(0o755)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def set_sources(self, **codes):
        """Sources whose compilers end with these exit codes."""
        entries = [{"directory": str(self.root), "file": str(self.write(f"src/{name}.cpp", "")),
                    "command": f"sh -c 'echo {name} is wrong >&2; exit {code}'"} for name, code in codes.items()]
        generated = {"directory": str(self.root), "file": str(self.root / "build/alone/made.cpp"), "command": "false"}
        self.write("build/alone/compile_commands.json", json.dumps([*entries, generated]))

    def run_tool(self, *args):
        env = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        return subprocess.run([sys.executable, self.root / "tools/nightly.py", *args], env=env, text=True, capture_output=True, check=False)

    def test_the_table_names_each_step_its_result_and_the_commit(self):
        self.set_sources(a=0)
        done = self.run_tool()
        self.assertEqual(done.returncode, 1, done.stderr)
        table = (self.root / "build/nightly/nightly.md").read_text()
        self.assertIn("g++ 1, clang 2", table)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")][1:]
        self.assertEqual([(row[0], row[3], row[4]) for row in rows],
                         [(name, "**failed**" if name == "tidy" else "passed", "0123456789ab")
                          for name in ("asan", "tsan", "fuzz", "tidy", "alone", "crash", "clang", "portable")])

    def test_a_compiler_that_is_missing_does_not_cost_the_table(self):
        self.set_sources(a=0)
        self.write("bin/clang++", "#!/usr/bin/env bash\nexit 127\n")
        self.run_tool()
        self.assertIn("g++ 1, no clang++", (self.root / "build/nightly/nightly.md").read_text())

    def test_the_concurrent_tests_are_there(self):
        sys.path.insert(0, str(TOOL.parent))
        import nightly
        for wing, names in nightly.CONCURRENT.items():
            files = {path.stem for path in (TOOL.parent.parent / "tests" / "unit" / wing).rglob("*_test.cpp")}
            self.assertLessEqual({f"{name}_test" for name in names}, files)

    def test_named_steps_leave_the_table_as_it_is(self):
        self.assertEqual(self.run_tool("clang").returncode, 0)
        self.assertFalse((self.root / "build/nightly/nightly.md").exists())
        self.assertEqual(self.run_tool("night").returncode, 2)

    def test_a_source_that_does_not_stand_alone_is_named(self):
        self.set_sources(a=0, b=1)
        self.assertEqual(self.run_tool("alone").returncode, 1)
        log = (self.root / "build/nightly/alone.log").read_text()
        self.assertIn("b is wrong", log)
        self.assertNotIn("a is wrong", log)
        self.assertIn("2 sources, 1 failed", log)


if __name__ == "__main__":
    unittest.main()
