#!/usr/bin/env python3
"""program_test.py: Checks how the program is found and run, and the package without PyTorch."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from fatune import program, progress
from fatune.errors import FatuneError


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def stand_in(self, text):
        path = self.folder / "fatune"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        self.enterContext(mock.patch.dict(os.environ, FATUNE=str(path)))

    def test_the_variable_names_it(self):
        self.stand_in("exit 0")
        self.assertEqual(program.path(), self.folder / "fatune")
        with mock.patch.dict(os.environ, FATUNE="/nowhere/fatune"), self.assertRaises(FatuneError) as caught:
            program.path()
        self.assertEqual(caught.exception.exit_code, 2)

    def test_a_document_and_the_lines_of_progress(self):
        self.stand_in('echo one >&2; echo "{\\"args\\": \\"$*\\"}"; echo two >&2')
        lines = []
        self.assertEqual(program.run(["sweep", "--quiet"], progress=lines.append), {"args": "sweep --quiet --json"})
        self.assertEqual(lines, ["one", "two"])

    def test_exit_codes_and_the_last_line(self):
        self.stand_in("echo first >&2; echo 'fatune: error: the reason' >&2; exit 5")
        with self.assertRaisesRegex(FatuneError, "^the reason$") as caught:
            program.run(["sweep"])
        self.assertEqual(caught.exception.exit_code, 5)
        self.stand_in("echo '{}'; exit 1")
        self.assertEqual(program.run(["sweep"], accept=(0, 1)), {})
        self.stand_in("echo text")
        with self.assertRaises(FatuneError) as caught:
            program.run(["sweep"])
        self.assertEqual(caught.exception.exit_code, 70)

    def test_interrupted_the_program_ends_first(self):
        self.stand_in(f"trap 'sleep 0.5; touch {self.folder}/ended; exit 130' INT; echo begun >&2; "
                      "while true; do sleep 0.05; done")

        def interrupt(line):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            program.run(["sweep"], progress=interrupt)
        self.assertTrue((self.folder / "ended").exists())

    def test_the_package_needs_pytorch_for_its_functions_only(self):
        text = ("import sys; sys.modules['torch'] = None; import fatune, fatune.program, fatune.commands\n"
                "sys.exit(fatune.commands.main(['capture', 'x.py']))")
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (3, "fatune: error: capture needs PyTorch, which this Python "
                                                             "has not\n"))

    def test_help_needs_no_pytorch_and_names_are_known(self):
        text = "import sys; sys.modules['torch'] = None\nimport fatune, fatune.__main__ as main\n"
        for code, said in (("main.main(['optimize', '--help'])", r"SCRIPT \[ARGUMENTS OF THE SCRIPT\]"),
                           ("main.main(['--help'])", "(?s)First command:.*optimize  +Tune a script"),
                           ("print(dir(fatune), fatune.__version__)", r"'__version__', 'capture'.*\] \d+\.\d+"),
                           ("fatune.tune", "FatuneError: tune needs PyTorch, which this Python has not")):
            done = subprocess.run([sys.executable, "-c", text + code], capture_output=True, text=True)
            self.assertRegex(done.stdout + done.stderr, said)


class ProgressTest(unittest.TestCase):
    def written(self, live):
        stream = mock.MagicMock()
        stream.isatty.return_value = live
        shown = progress.Progress(stream)
        for line in ("begin", "4,8,512,64 f16: search 1/8, longer", "4,8,512,64 f16: search 2/8", "end"):
            shown(line)
        shown.close()
        return "".join(call.args[0] for call in stream.write.call_args_list)

    def test_counts_are_written_over_on_a_terminal_only(self):
        self.assertEqual(self.written(True), "begin\n\r4,8,512,64 f16: search 1/8, longer"
                                             "\r4,8,512,64 f16: search 2/8        \nend\n")
        self.assertEqual(self.written(False).count("\n"), 4)


if __name__ == "__main__":
    sys.exit(unittest.main())
