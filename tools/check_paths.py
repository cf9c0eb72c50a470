#!/usr/bin/env python3
"""check_paths.py - turns the project's files into a list of traces of one machine; exit 1 if any.

Evidence and code must mean the same everywhere: no folder of somebody's machine, no host of a package
registry (apt and pip know theirs), in text and in compressed journals alike.
Usage: check_paths.py [ROOT]
"""

import gzip
import pathlib
import re
import subprocess
import sys

THIS = pathlib.Path(__file__).resolve()
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else THIS.parent.parent).resolve()
EXEMPT = {"tools/check_paths.py", "tests/tools/lints_test.py"}  # they spell out what they look for

MACHINE_PATH = re.compile(
    r"/(?<![\w.$}~/-]/)(home|root|Users|work|workspace|mnt|media|scratch|data|builds|private)/[\w.-]+")
# Also a trace of one machine where results are stored, while code may well speak of it.
TEMPORARY_PATH = re.compile(r"/(?<![\w.$}~/-]/)(tmp|var/tmp|var/folders|opt|srv|usr/local)/[\w.-]+")
STORED = ("configs/", "results/")
REGISTRY = re.compile(
    r"\b(pypi\.org|pythonhosted\.org|pypi\.nvidia\.com|anaconda\.org|deb\.debian\.org"
    r"|(?:archive|security|ports)\.ubuntu\.com|snapshot\.debian\.org|registry\.npmjs\.org|crates\.io"
    r"|docker\.io|nvcr\.io|ghcr\.io|quay\.io|proxy\.golang\.org|pkg\.dev|artifactory[\w.-]*)\b")


def project_files():
    """What git has or would add; in an unpacked archive, everything outside build folders."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"],
            check=True, capture_output=True, text=True).stdout
        return [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        skipped = {"build", ".deps", "runs", ".git", "__pycache__"}
        return [p for p in ROOT.rglob("*") if not skipped & set(p.relative_to(ROOT).parts)]


def text_of(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return "" if b"\0" in data[:1024] else data.decode("utf-8", "replace")


def main():
    problems = []
    for path in sorted(project_files()):
        name = path.relative_to(ROOT).as_posix()
        if name in EXEMPT or path.is_symlink() or not path.is_file():
            continue
        patterns = [MACHINE_PATH, REGISTRY] + ([TEMPORARY_PATH] if name.startswith(STORED) else [])
        text = text_of(path)
        for pattern in patterns:
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name}:{line}: {match.group(0)} means something on one machine only")
    for problem in problems[:50]:
        print(problem)
    print(f"check_paths: {len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
