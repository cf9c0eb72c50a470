#!/usr/bin/env python3
"""Runs fatune with closed descriptors, full disks and files made to hurt: each is answered by words and an exit code.

    hostile_test.py --fatune PATH

No case names a node of /dev for writing: a program that fails the test would replace it for the whole machine.
"""
import argparse
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

FATUNE = ""
HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE.parent.parent / "configs/recorded/h200-mission.jsonl.gz"
SWEEP = "sweep --shape 4,8,512,64 --kernel fa_wmma --budget 5 --device recorded --out run"
FILES = 4


class Hostile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def shell(self, line, code=0, timeout=60):
        """stdout and stderr of a shell line in which `fatune` is the program; its exit code must be `code`."""
        env = {"PATH": f"{pathlib.Path(FATUNE).parent}:/usr/bin:/bin", "HOME": str(self.folder), "NO_COLOR": "1",
               "COLUMNS": "80", "LC_ALL": "C.UTF-8", "RECORDED": str(RECORDED)}
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=timeout, check=False)
        self.assertEqual(done.returncode, code, (line, done.stdout[-500:], done.stderr[-500:]))
        return done.stdout, done.stderr


class Streams(Hostile):
    def test_a_sweep_without_stderr_or_stdout_keeps_its_journal(self):
        for number, closed in enumerate(("2>&-", ">&-", "<&-", "<&- >&- 2>&-")):
            with self.subTest(closed):
                run = f"run{number}"
                self.shell(f"fatune {SWEEP}{number} {closed}")
                self.assertNotIn("cut", self.shell(f"fatune report {run}")[1])
                self.assertEqual((self.folder / run / "journal.jsonl").read_bytes().count(b'{"schema"'), 1)

    def test_a_full_stdout_is_exit_4(self):
        self.shell(f"fatune {SWEEP} -q")
        for command in ("report run --json", "report run", "kernels", "kernels --json", "inspect --shape 4,8,512,64 --kernel naive",
                        "replay run --strategy random --repeats 2 --budget 5", "man", "schema", "completions bash", "--help", "--version", "sweep --help"):
            with self.subTest(command):
                _, said = self.shell(f"fatune {command} >/dev/full", FILES)
                self.assertIn("stdout: cannot write all of the answer", said)

    def test_a_closed_pipe_is_no_error_of_ours(self):
        self.shell("set -o pipefail; fatune kernels | true; test ${PIPESTATUS[0]} -eq 0 -o ${PIPESTATUS[0]} -eq 141")


class Outputs(Hostile):
    def setUp(self):
        super().setUp()
        self.shell(f"fatune {SWEEP} -q")

    def test_a_link_to_an_open_file_is_that_file(self):
        """/dev/stdout is such a link."""
        (self.folder / "out").symlink_to("/proc/self/fd/1")
        self.shell("echo before >log; fatune report run --json -o out >>log; echo after >>log")
        lines = (self.folder / "log").read_text().splitlines()
        self.assertEqual((lines[0], lines[1], lines[-1]), ("before", "{", "after"))
        answer, _ = self.shell("fatune report run --json -o out | cat")
        self.assertIn('"schema": "fatune.report/', answer)
        self.assertTrue((self.folder / "out").is_symlink())

    def test_a_fifo_is_written_to_and_stays(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        got = []
        reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
        reader.start()
        self.shell("fatune report run --json -o fifo")
        reader.join(10)
        self.assertTrue(got[0].startswith(b"{"))
        self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))

    def test_a_link_is_followed_and_the_permissions_stay(self):
        secret = self.folder / "there" / "secret.json"
        secret.parent.mkdir()
        secret.write_text("old")
        secret.chmod(0o600)
        (self.folder / "link").symlink_to("there/secret.json")
        (self.folder / "dangling").symlink_to("there/new.json")
        for name in ("link", "dangling"):
            self.shell(f"fatune report run --json -o {name}")
            self.assertTrue((self.folder / name).is_symlink())
            self.assertTrue((self.folder / name).read_text().startswith("{"))
        self.assertEqual(stat.S_IMODE(secret.stat().st_mode), 0o600)
        self.assertEqual(sorted(os.listdir(secret.parent)), ["new.json", "secret.json"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    args, rest = parser.parse_known_args()
    FATUNE = os.path.abspath(args.fatune)
    unittest.main(argv=[sys.argv[0], *rest])
