#!/usr/bin/env python3
"""Runs the commands of a guide as a reader would, one after the other in one folder.

    run_guide.py docs/guide.md [--folder DIR] [--path DIR] [--transcript] [-- SHELL ARG...]

In the guide, a comment before a fenced block says what it is:

    <!-- run -->            commands; the block must end with exit code 0
    <!-- run exit=0,1 -->   the same with other codes, any of them
    <!-- file NAME -->      the contents of a file in the folder

A block with lines that begin with "$ " is a transcript: those lines are its commands.

Other blocks are only read. Commands go to `bash -e` on stdin, or to the shell named after `--`. --path is put in front of
PATH; --transcript prints commands and output as it goes. Exit code 1: a block did not do what its comment says.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^<!-- (run|file)([^>]*?) ?-->\n+```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!-- (run|file)\b", re.MULTILINE)


class Block:
    def __init__(self, kind, rest, text, line):
        typed = [each[2:] for each in text.splitlines(keepends=True) if each.startswith("$ ")]
        self.kind, self.text, self.line = kind, "".join(typed) if kind == "run" and typed else text, line
        self.name = rest.strip()
        self.codes = [0]
        if kind == "run" and self.name:
            match = re.fullmatch(r"exit=(\d+(?:,\d+)*)", self.name)
            if not match:
                raise ValueError(f"line {line}: '{self.name}' is not exit=N or exit=N,M")
            self.codes = [int(code) for code in match.group(1).split(",")]
        if kind == "file" and (not self.name or "/" in self.name):
            raise ValueError(f"line {line}: a file block names one file in the folder")


def blocks(text):
    found = [Block(m.group(1), m.group(2), m.group(3), text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]
    if len(found) != len(COMMENT.findall(text)):
        raise ValueError("a run or file comment has no fenced block below it")
    return found


def say(text):
    print(text, flush=True)


def echoed(text):
    """Commands, each printed before it runs; a command of several lines stays whole."""
    lines = text.splitlines()
    whole = all(subprocess.run(["bash", "-n"], input=line, text=True, stderr=subprocess.DEVNULL, check=False).returncode == 0
                for line in lines)
    return "".join(f"echo {shlex.quote('$ ' + each)}\n{each}\n" for each in (lines if whole else [text]))


def run(block, shell, folder, env, transcript):
    """Exit code of the block. The output goes to the transcript, or is printed after a failure."""
    done = subprocess.run(shell, cwd=folder, env=env, input=echoed(block.text) if transcript else block.text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
    if transcript:
        say(done.stdout.rstrip())
        say(f"(exit {done.returncode})\n")
    elif done.returncode not in block.codes:
        sys.stdout.write(done.stdout)
    return done.returncode


def run_all(guide, folder, args):
    env = dict(os.environ, NO_COLOR="1", COLUMNS="120")
    if args.path:
        env["PATH"] = f"{args.path}:{env['PATH']}"
    found = blocks(guide.read_text())
    if not any(block.kind == "run" for block in found):
        raise ValueError("no block is marked to be run")
    for block in found:
        if block.kind == "file":
            (folder / block.name).write_text(block.text)
            continue
        code = run(block, args.shell or ["bash", "-e"], folder, env, args.transcript)
        if code not in block.codes:
            wanted = " or ".join(str(each) for each in block.codes)
            raise ValueError(f"line {block.line}: exit code {code}, not {wanted}:\n{block.text}")
    return len(found)


def main():
    words = sys.argv[1:]
    shell = []
    if "--" in words:
        shell = words[words.index("--") + 1:]
        words = words[: words.index("--")]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("guide", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--path")
    parser.add_argument("--transcript", action="store_true")
    args = parser.parse_args(words)
    args.shell = shell
    try:
        if args.folder:
            count = run_all(args.guide, args.folder, args)
        else:
            with tempfile.TemporaryDirectory() as folder:
                count = run_all(args.guide, pathlib.Path(folder), args)
    except ValueError as problem:
        sys.exit(f"{args.guide}: {problem}")
    say(f"{args.guide.name}: {count} blocks")


if __name__ == "__main__":
    main()
