#!/usr/bin/env python3
"""guide_test.py: Runs run_guide.py on small guides, good and bad."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN_GUIDE = pathlib.Path(__file__).resolve().parent.parent / "cli" / "run_guide.py"


def run(text, *options):
    with tempfile.TemporaryDirectory() as folder:
        guide = pathlib.Path(folder) / "guide.md"
        guide.write_text(text)
        done = subprocess.run([sys.executable, RUN_GUIDE, guide, *options], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def block(comment, text):
    return f"{comment}\n```sh\n{text}\n```\n"


class Guides(unittest.TestCase):
    def test_blocks_share_a_folder(self):
        code, out = run(block("<!-- run -->", "echo 1 >a") + block("<!-- run -->", "test -f a"))
        self.assertEqual((code, out), (0, "guide.md: 2 blocks\n"))

    def test_a_transcript_is_typed(self):
        self.assertEqual(run(block("<!-- run exit=3 -->", "$ echo 1 >a\n1 of 1\n$ exit $(($(cat a) + 2))\nfalse"))[0], 0)

    def test_files_are_written(self):
        code, _ = run(block("<!-- file a.json -->", "{}") + block("<!-- run -->", 'test "$(cat a.json)" = "{}"'))
        self.assertEqual(code, 0)

    def test_unmarked_blocks_are_left_alone(self):
        code, _ = run(block("", "false") + block("<!-- run -->", "true"))
        self.assertEqual(code, 0)

    def test_the_first_command_that_fails_ends_it(self):
        code, out = run("\n" + block("<!-- run -->", "echo said; false; true"))
        self.assertEqual(code, 1)
        self.assertIn("said", out)
        self.assertIn("line 2: exit code 1, not 0", out)

    def test_other_exit_codes(self):
        self.assertEqual(run(block("<!-- run exit=3 -->", "exit 3"))[0], 0)
        self.assertEqual(run(block("<!-- run exit=0,3 -->", "exit 3"))[0], 0)
        self.assertEqual(run(block("<!-- run exit=3 -->", "exit 0"))[0], 1)

    def test_mistakes_are_named(self):
        for text, message in [
            ("nothing", "no block is marked"),
            ("<!-- run -->\nwords\n", "no fenced block below"),
            (block("<!-- run fast -->", "true"), "'fast' is not exit=N"),
            (block("<!-- file ../a -->", "true"), "names one file in the folder"),
        ]:
            code, out = run(text)
            self.assertEqual(code, 1)
            self.assertIn(message, out)

    def test_a_transcript_shows_commands_and_output(self):
        _, out = run(block("<!-- run -->", "echo hello\necho 'you there'"), "--transcript")
        self.assertEqual(out, "$ echo hello\nhello\n$ echo 'you there'\nyou there\n(exit 0)\n\nguide.md: 1 blocks\n")

    def test_a_command_of_several_lines_stays_whole(self):
        code, out = run(block("<!-- run -->", "if true; then\n  echo hello\nfi"), "--transcript")
        self.assertEqual(code, 0)
        self.assertIn("fi\n\nhello\n", out)

    def test_another_shell(self):
        self.assertEqual(run(block("<!-- run -->", "anything"), "--", "cat")[0], 0)


if __name__ == "__main__":
    unittest.main()
