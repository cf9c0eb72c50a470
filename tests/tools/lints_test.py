#!/usr/bin/env python3
"""lints_test.py: Gives each lint a small project with one mistake and expects its message."""

import gzip
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"


def lint(name, root, *options):
    done = subprocess.run([sys.executable, TOOLS / name, *options, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


class Project(unittest.TestCase):
    """A project of two folders, low/ and high/, in which nothing is wrong yet."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name in ("kernels/k", "tests", "configs"):
            (self.root / name).mkdir(parents=True)
        self.write("src/layers.txt", "low:\nhigh: low\n")
        self.write("src/low/CMakeLists.txt", "fatune_wing(low\n  SOURCES)\n")
        self.write("src/high/CMakeLists.txt", "fatune_wing(high\n  SOURCES a.cpp)\n")
        self.write("src/low/a.hpp", "// a.hpp - nothing into nothing.\n")
        self.write("src/high/a.cpp", '// a.cpp - nothing into nothing.\n#include "low/a.hpp"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assert_finds(self, tool, *words):
        code, out = lint(tool, self.root)
        self.assertEqual(code, 1, out)
        for word in words:
            self.assertIn(word, out)
        self.assertIn("1 problem(s)", out)


class LayersTest(Project):
    TOOL = "check_layers.py"

    def test_a_clean_project_passes(self):
        self.assertEqual(lint(self.TOOL, self.root), (0, "check_layers: 0 problem(s)\n"))

    def test_include_against_an_arrow(self):
        self.write("src/high/b.hpp", "// b.hpp - x.\n")
        self.write("src/low/b.cpp", '// b.cpp - x.\n\n#include "high/b.hpp"\n')
        self.assert_finds(self.TOOL, "src/low/b.cpp:3: low/ may not include high/b.hpp")

    def test_include_not_from_the_source_root(self):
        self.write("src/low/b.cpp", '// b.cpp - x.\n#include "a.hpp"\n')
        self.assert_finds(self.TOOL, 'src/low/b.cpp:2: "a.hpp" is not a path from src/')

    def test_a_room_that_is_a_layer_of_its_own(self):
        self.write("src/layers.txt", "low/door:\nlow: low/door\nhigh: low/door\n")
        self.write("src/low/door/CMakeLists.txt", "")
        self.write("src/low/door/b.hpp", "// b.hpp - x.\n")
        self.write("src/high/a.cpp", '// a.cpp - x.\n#include "low/door/b.hpp"\n#include "low/a.hpp"\n')
        self.assert_finds(self.TOOL, "src/high/a.cpp:3: high/ may not include low/a.hpp")

    def test_cycle_in_the_arrows(self):
        self.write("src/layers.txt", "low: high\nhigh:\n")
        code, out = lint(self.TOOL, self.root)
        self.assertEqual(code, 1)
        self.assertIn("src/layers.txt:1: low names high, which is not above it", out)

    def test_folder_without_a_line(self):
        self.write("src/utils/CMakeLists.txt", "")
        self.assert_finds(self.TOOL, "src/utils: has no line in src/layers.txt")

    def test_confined_headers(self):
        for header in ("<cuda.h>", "<nvrtc.h>", "<spdlog/spdlog.h>", "<CLI/CLI.hpp>"):
            with self.subTest(header):
                self.write("src/low/b.cpp", f"// b.cpp - x.\n#include {header}\n")
                self.assert_finds(self.TOOL, f"src/low/b.cpp:2: #include {header[:5]}")

    def test_json_in_a_header(self):
        self.write("src/low/b.hpp", "// b.hpp - x.\n#include <nlohmann/json.hpp>\n")
        self.assert_finds(self.TOOL, "src/low/b.hpp:2", "json_fwd.hpp")

    def test_writing_to_stdout(self):
        self.write("src/low/b.cpp", '// b.cpp - x.\nvoid f() { std::cout << 1; }\n')
        self.assert_finds(self.TOOL, "src/low/b.cpp:2: std::cout")

    def test_two_types_of_one_name(self):
        self.write("src/low/b.hpp", "// b.hpp - x.\nnamespace n {\nstruct Score {\n};\n}  // namespace n\n")
        self.write("src/high/b.cpp", "// b.cpp - x.\nnamespace n {\n\nclass Score final : public Base,\n    public Other {\n};\n}  // namespace n\n")
        self.assert_finds(self.TOOL, "src/low/b.hpp:3: n::Score is also defined at src/high/b.cpp:4")

    def test_types_that_share_no_namespace(self):
        self.write("src/low/b.hpp", "// b.hpp - x.\nnamespace n {\nstruct Score {\n};\nstruct Later;\nenum Kind : int;\n}  // namespace n\n")
        self.write("src/low/c.cpp", "// c.cpp - x.\nnamespace n {\nnamespace {\nstruct Score {\n};\n}  // namespace\n"
                                    "struct Later {\n};\nenum Kind : int { kOne };\nstruct Later::Score {\n};\n}  // namespace n\n")
        self.write("src/high/c.cpp", "// c.cpp - x.\nnamespace m {\nstruct Score {\n};\n}  // namespace m\n")
        self.assertEqual(lint(self.TOOL, self.root), (0, "check_layers: 0 problem(s)\n"))

    def test_long_file(self):
        self.write("kernels/k/long.cuh", "// long.cuh - x.\n" + "\n" * 400)
        self.assert_finds(self.TOOL, "kernels/k/long.cuh: 401 lines")

    def test_lists_of_sources(self):
        self.write("src/low/CMakeLists.txt", "fatune_wing(low\n  SOURCES\n    b.cpp\n    x/a.cpp  # c.cpp\n  ALONE\n    a.cpp)\n")
        self.assertEqual(lint(self.TOOL, self.root)[0], 0)
        self.write("tests/unit/low/CMakeLists.txt", "fatune_test(low\n  SOURCES\n    b_test.cpp\n    a_test.cpp)\n")
        self.assert_finds(self.TOOL, "tests/unit/low/CMakeLists.txt:4: a_test.cpp stands after b_test.cpp")
        self.write("tests/unit/low/CMakeLists.txt", "fatune_test(low\n  SOURCES a_test.cpp b_test.cpp)\n")
        self.assert_finds(self.TOOL, "tests/unit/low/CMakeLists.txt:2: one source a line")

    def test_first_line(self):
        self.write("tests/b_test.cpp", "#include <x>\n")
        self.assert_finds(self.TOOL, 'tests/b_test.cpp:1: must begin "// b_test.cpp: ')


class TreeTest(Project):
    TOOL = "check_tree.py"

    def setUp(self):
        super().setUp()
        self.write("tools/size_budget.txt", "# Limits.\nlines src/low 3\nlines src/high 4\nwords docs 9\nbytes results 99\n")
        self.write("docs/a.md", "Use ~/x, $HOME/x, /usr/local/cuda, ./home/x and src/model/problem/work.hpp.\n")
        self.write("results/a.txt", "1\n")

    def test_a_clean_project_passes(self):
        self.assertEqual(lint(self.TOOL, self.root), (0, "check_tree: 0 problem(s)\n"))

    def test_somebody_s_folder(self):
        for path in ("/home/ann/fatune", "/root/fatune", "/Users/ann/x"):
            with self.subTest(path):
                self.write("docs/a.md", f"\nrun {path}/build\n")
                self.assert_finds(self.TOOL, f"docs/a.md:2: {path[:5]}")

    def test_temporary_folder_in_a_result_only(self):
        self.write("src/high/a.cpp", '// a.cpp - x.\nauto p = "/tmp/x";\n')
        self.assertEqual(lint(self.TOOL, self.root)[0], 0)
        self.write("results/r/best.json", '{"out": "/tmp/x"}\n')
        self.assert_finds(self.TOOL, "results/r/best.json:1: /tmp/x")

    def test_compressed_journal(self):
        path = self.root / "configs/recorded/j.jsonl.gz"
        path.parent.mkdir()
        path.write_bytes(gzip.compress(b'{}\n{"file": "/home/ann/k.cu"}\n'))
        self.assert_finds(self.TOOL, "configs/recorded/j.jsonl.gz:2: /home/ann")

    def test_registry_host(self):
        self.write("docs/a.md", "pip install --index-url https://files.pythonhosted.org/simple\n")
        self.assert_finds(self.TOOL, "docs/a.md:1: pythonhosted.org")

    def test_python_that_looks_into_the_present_folder(self):
        here = '#!/usr/bin/env bash\ncd "$(dirname "${BASH_SOURCE[0]}")"\n'
        for name, line in (("run.sh", "python3 -m pip --version"), ("run.sh", '"$venv/bin/python" -c 1'), ("run.sh", "python3 <<END"),
                           ("cmake/a.cmake", "${PYTHON3} -c 1"), ("src/low/b.cpp", 'run({"-m", "pip"});'),
                           ("tools/a.py", 'run([sys.executable, "-m", "pip"])')):
            with self.subTest(line):
                before = here if name == "run.sh" else "\n"
                self.write("tools/size_budget.txt", "lines src/low 9\nlines src/high 4\n")
                self.write(name, before + line + "\n")
                self.assert_finds(self.TOOL, f"{name}:{before.count(chr(10)) + 1}: Python starts without -I")
                self.write(name, before + "python3 -I -m pip; python -m fatune\n")
                self.assertEqual(lint(self.TOOL, self.root)[0], 0)
        self.write("run.sh", "#!/bin/sh\necho\n")
        self.assert_finds(self.TOOL, "run.sh:1: the script stays in the present folder")

    def test_a_part_above_its_limit(self):
        self.write("src/low/b.cpp", "// b.cpp - x.\n")
        self.assert_finds(self.TOOL, "src/low: 4 lines, 1 above its limit of 3 (tools/size_budget.txt:2)")

    def test_words_and_bytes(self):
        self.write("docs/b.md", "one two")
        self.write("README.md", "three\n")
        self.write("results/b.txt", "x" * 99)
        code, out = lint(self.TOOL, self.root)
        self.assertEqual(code, 1)
        self.assertIn("docs: 10 words, 1 above its limit of 9 (tools/size_budget.txt:4)", out)
        self.assertIn("results: 101 bytes, 2 above its limit of 99 (tools/size_budget.txt:5)", out)

    def test_a_wing_that_no_limit_has(self):
        self.write("src/new/a.cpp", "// a.cpp - x.\n")
        self.assert_finds(self.TOOL, "src/new: has no line in tools/size_budget.txt")

    def test_a_limit_of_nothing(self):
        self.write("tools/size_budget.txt", (self.root / "tools/size_budget.txt").read_text() + "lines src/gone 1\n")
        self.assert_finds(self.TOOL, "tools/size_budget.txt:6: there is no src/gone")

    def test_the_readme_fits_a_screen(self):
        self.write("tools/size_budget.txt", "lines src/low 3\nlines src/high 4\n")
        self.write("README.md", "x" * 101 + "\n")
        self.assert_finds(self.TOOL, "README.md:1: 101 columns, 100 at most")
        self.write("README.md", "x\n" * 151)
        self.assert_finds(self.TOOL, "README.md: 151 lines, 150 at most")

    def test_words_to_mend(self):
        long = " ".join(["word"] * 31)
        self.write("src/low/a.hpp", f"// a.hpp: Holds a value.\nint x;  // Of it all.\n\n// {long[:60]}\n// {long[60:]}.\nint y;  // Fine.\n")
        self.write("src/high/a.cpp", "// a.cpp - text to numbers.\n")
        self.write("docs/a.md", f"Short. {long}.\n\n| {long} |\n")
        code, out = lint(self.TOOL, self.root, "--words")
        self.assertEqual(code, 0)
        found = [line.split(": ")[:2] for line in out.split("\n\n")[0].splitlines()]
        self.assertEqual(found, [["docs/a.md:1", "long"], ["src/high/a.cpp:1", "first line"], ["src/low/a.hpp:2", "pronoun"],
                                 ["src/low/a.hpp:4", "long"]])


if __name__ == "__main__":
    unittest.main()
