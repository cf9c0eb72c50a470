#!/usr/bin/env python3
"""Completes words of fatune in bash, zsh and fish, and lets mandoc read the manual pages.

    completions_test.py --fatune PATH

The shells get the scripts that `fatune completions` prints. The function of bash is called as readline
calls it; fish answers `complete -C`; zsh completes a line on a terminal of its own. A shell that is not installed is a skip, named in the output.
"""
import argparse
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

FATUNE = ""
# Typed words, and words that must and must not be offered.
CASES = [
    ("fatune ", ["sweep", "doctor", "man", "completions"], ["lint"]),
    ("fatune sw", ["sweep"], ["doctor"]),
    ("fatune sweep --str", ["--strategy"], ["--shape"]),
    ("fatune sweep --strategy ", ["evo", "ga", "exhaustive"], ["--seed", "fa_mma"]),
    ("fatune sweep --kernel fa_w", ["fa_wgmma", "fa_wmma"], ["fa_mma"]),
    ("fatune sweep --dtype ", ["f16", "bf16"], ["hot"]),
    ("fatune kernels ", ["lint", "space"], ["sweep"]),
    ("fatune kernels lint fa_sp", ["fa_split"], ["fa_mma"]),
    ("fatune gate --format ", ["text", "md"], ["csv"]),
    ("fatune report --format ", ["csv", "t4"], ["--out"]),
    ("fatune bench --config he", ["here.json"], ["--help"]),
    ("fatune report --out he", ["here.json"], []),
    ("fatune sweep --suite m", ["mission"], ["fa3"]),
    ("fatune export --to cu", ["cubin"], ["header"]),
    ("fatune compile --arch sm_9", ["sm_90a"], ["sm_80"]),
]


def script(shell):
    return subprocess.run([FATUNE, "completions", shell], capture_output=True, text=True, check=True).stdout


def help_text(*command):
    return subprocess.run([FATUNE, *command, "--help"], capture_output=True, text=True, check=True).stdout


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Folder(unittest.TestCase):
    """A folder with only the scripts and one file to complete."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "here.json").write_text("{}")
        (self.folder / "sub").mkdir()

    def check_cases(self, complete, cases):
        for line, wanted, unwanted in cases:
            with self.subTest(line=line):
                offered = complete(line)
                for word in wanted:
                    self.assertIn(word, offered)
                for word in unwanted:
                    self.assertNotIn(word, offered)


class Bash(Folder):
    def setUp(self):
        super().setUp()
        (self.folder / "fatune.bash").write_text(script("bash"))

    def run_bash(self, code, *words):
        env = dict(os.environ, PATH=f"{pathlib.Path(FATUNE).parent}:{os.environ['PATH']}")
        return subprocess.run(["bash", "--norc", "-c", "source ./fatune.bash; " + code, "bash", *words], cwd=self.folder,
                              env=env, capture_output=True, text=True, check=True)

    def complete(self, line, breaks=" \t\n\"'><=;|&(:"):
        done = self.run_bash('COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$2; COMPREPLY=(); _fatune; '
                             'printf "%s\\n" "${COMPREPLY[@]}"', line, breaks)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_syntax(self):
        subprocess.run(["bash", "-n", self.folder / "fatune.bash"], check=True)

    def test_words(self):
        self.check_cases(self.complete, CASES)

    def test_registers_itself(self):
        done = self.run_bash("complete -p fatune")
        self.assertEqual(done.stdout, "complete -F _fatune fatune\n")

    def test_lists_go_on_behind_the_comma(self):
        self.assertEqual(self.complete("fatune sweep --kernel fa_mma,fa_ro"), ["fa_mma,fa_rows"])
        offered = self.complete("fatune sweep --kernel fa_mma,")
        self.assertIn("fa_mma,fa_split", offered)
        self.assertNotIn("fa_mma,fa_mma", offered)

    def test_kernels_of_a_folder(self):
        folder = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "rmsnorm"
        self.assertIn("rmsnorm", self.complete(f"fatune sweep --kernel-dir {folder} --kernel rm"))

    def test_words_with_colons(self):
        # readline replaces the text after the last colon, unless colons are no word breaks.
        self.assertIn("flash", self.complete("fatune bench --impl torch:fl"))
        self.assertIn("torch:flash", self.complete("fatune bench --impl torch:fl", breaks=" \t\n"))
        self.assertIn("flash", self.complete("fatune bench --impl cudnn,torch:fl"))

    def test_value_behind_an_equals_sign(self):
        self.assertEqual(self.complete("fatune sweep --strategy=exh"), ["exhaustive"])
        self.assertEqual(self.complete("fatune sweep --strategy=exh", breaks=" "), ["--strategy=exhaustive"])

    def test_folders_only(self):
        self.assertEqual(self.complete("fatune sweep --out "), ["sub"])
        self.assertEqual(self.complete("fatune sweep --out=s", breaks=" "), ["--out=sub"])

    def test_numbers_have_no_words(self):
        self.assertEqual(self.complete("fatune sweep --seed "), [])
        self.assertEqual(self.complete("fatune sweep --shape 4"), [])

    def test_cursor_inside_the_line(self):
        done = self.run_bash('COMP_LINE="fatune sw --json" COMP_POINT=9; _fatune; echo "${COMPREPLY[*]}"')
        self.assertEqual(done.stdout, "sweep\n")


@needs("fish")
class Fish(Folder):
    def setUp(self):
        super().setUp()
        (self.folder / "fatune.fish").write_text(script("fish"))

    def complete(self, line):
        env = dict(os.environ, HOME=str(self.folder), XDG_CONFIG_HOME=str(self.folder), PATH=f"{pathlib.Path(FATUNE).parent}:{os.environ['PATH']}")
        code = "source fatune.fish; complete -C $argv[1]"
        done = subprocess.run(["fish", "--no-config", "-c", code, line], cwd=self.folder, env=env, capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stderr, "")
        return [each.split("\t")[0] for each in done.stdout.splitlines()]

    def test_syntax(self):
        subprocess.run(["fish", "-n", self.folder / "fatune.fish"], check=True)

    def test_words(self):
        self.check_cases(self.complete, CASES)

    def test_lists_go_on_behind_the_comma(self):
        self.assertIn("fa_mma,fa_split", self.complete("fatune sweep --kernel fa_mma,fa_sp"))


@needs("zsh")
class Zsh(Folder):
    def setUp(self):
        super().setUp()
        (self.folder / "_fatune").write_text(script("zsh"))

    def complete(self, line):
        """Types the line and a tab into an interactive zsh, and reads the listed or completed words."""
        master, slave = os.openpty()
        env = dict(os.environ, HOME=str(self.folder), ZDOTDIR=str(self.folder), TERM="vt100", PS1="> ", COLUMNS="500", LINES="60",
                   PATH=f"{pathlib.Path(FATUNE).parent}:{os.environ['PATH']}")
        shell = subprocess.Popen(["zsh", "-f", "-i"], cwd=self.folder, env=env, stdin=slave, stdout=slave, stderr=slave,
                                 start_new_session=True)
        os.close(slave)
        try:
            setup = ("stty cols 500; unsetopt prompt_sp; setopt nobeep; LISTMAX=0; fpath=($PWD $fpath); "
                     "autoload -Uz compinit; compinit -u -d $PWD/dump; zstyle ':completion:*' menu no; PS1=; print RE''ADY\n")
            os.write(master, setup.encode())
            self.read_until(master, "READY")
            os.write(master, line.encode() + b"\t")
            text = self.read_until(master, None)
        finally:
            shell.kill()
            shell.wait()
            os.close(master)
        plain = re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>()][A-Z0-9]?)", " ", text.replace("\0", ""))
        return re.split(r"[\s\r\x07]+", plain)

    def read_until(self, master, word):
        """Reads up to the word; without a word, until three silent seconds have passed."""
        text, deadline = "", time.monotonic() + 30
        while time.monotonic() < deadline:
            ready, _, _ = select.select([master], [], [], 3.0)
            if not ready:
                if word is None:
                    break
                continue
            text += os.read(master, 65536).decode(errors="replace")
            if word and word in text:
                break
        return text

    def test_syntax(self):
        subprocess.run(["zsh", "-n", self.folder / "_fatune"], check=True)

    def test_words(self):
        self.check_cases(self.complete, [CASES[i] for i in (0, 3, 4, 7)])


class ManualPages(Folder):
    def setUp(self):
        super().setUp()
        subprocess.run([FATUNE, "man", "--out", self.folder / "man1"], check=True)
        self.pages = sorted((self.folder / "man1").iterdir())

    def test_a_page_for_each_command(self):
        names = [page.name for page in self.pages]
        self.assertIn("fatune.1", names)
        self.assertIn("fatune-sweep.1", names)
        listed = help_text().partition("Find a kernel:")[2].partition("Options of every command:")[0]
        commands = re.findall(r"^  ([a-z-]+) {2,}", listed, re.MULTILINE)
        self.assertEqual(len(names), len(commands) + 1)

    def test_every_option_is_there(self):
        for command in ("sweep", "gate", "replay"):
            common = help_text().partition("Options of every command:")[2].partition("First command:")[0]
            shown = help_text(command).partition("Example:")[0] + common
            page = (self.folder / "man1" / f"fatune-{command}.1").read_text().replace("\\-", "-")
            for option in re.findall(r"--[a-z][a-z-]+", shown):
                self.assertIn(option, page)

    @needs("mandoc")
    def test_mandoc_reads_them(self):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *self.pages], capture_output=True, text=True, check=False)
        complaints = [line for line in done.stdout.splitlines() if "missing date" not in line]  # reproducible: none
        self.assertEqual(complaints, [])

    @needs("man")
    def test_man_shows_them(self):
        done = subprocess.run(["man", "--warnings", "-l", self.folder / "man1" / "fatune-sweep.1"], capture_output=True,
                              text=True, check=False, env=dict(os.environ, MANWIDTH="100", LC_ALL="C.UTF-8"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("fatune-sweep - Find the fastest correct kernel for a problem", done.stdout)


def main():
    global FATUNE
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    args, rest = parser.parse_known_args()
    FATUNE = os.path.abspath(args.fatune)
    unittest.main(argv=[sys.argv[0], "-v", *rest])


if __name__ == "__main__":
    main()
