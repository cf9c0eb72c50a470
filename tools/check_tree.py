#!/usr/bin/env python3
"""check_tree.py - refuses files that outgrow tools/size_budget.txt and traces of one machine; exit 1 if any.

    check_tree.py [ROOT]            the lint
    check_tree.py --sizes [ROOT]    the sizes of today, in the form of the budget
    check_tree.py --words [ROOT]    sentences to mend, by place, and their number by wing; refuses nothing

A folder of somebody's machine, or a host of a package registry, means something on that machine only: neither may stand in text or
in a compressed journal. A script enters the project's folder before it does anything, and Python starts with -I: modules of the folder
that somebody is in must not run. Sentences to mend are first lines that are no sentence, comments that begin with a pronoun, and sentences of
more than 30 words in comments and documents.
"""
import ast
import collections
import gzip
import pathlib
import re
import subprocess
import sys

EXEMPT = {"tools/check_tree.py", "tests/tools/lints_test.py"}  # These spell out what the lint looks for.
MACHINE_PATH = re.compile(
    r"/(?<![\w.$}~/-]/)(home|root|Users|work|workspace|mnt|media|scratch|data|builds|private)/[\w.-]+")
# A temporary folder is a trace of one machine where results are stored, while code may well name one.
TEMPORARY_PATH = re.compile(r"/(?<![\w.$}~/-]/)(tmp|var/tmp|var/folders|opt|srv|usr/local)/[\w.-]+")
STORED = ("configs/", "results/")
REGISTRY = re.compile(
    r"\b(pypi\.org|pythonhosted\.org|pypi\.nvidia\.com|anaconda\.org|deb\.debian\.org"
    r"|(?:archive|security|ports)\.ubuntu\.com|snapshot\.debian\.org|registry\.npmjs\.org|crates\.io"
    r"|docker\.io|nvcr\.io|ghcr\.io|quay\.io|proxy\.golang\.org|pkg\.dev|artifactory[\w.-]*)\b")
# Python that looks for modules in the present folder, in the words of a shell, of CMake, C++ and Python.
STARTS_PYTHON = re.compile(r"""python[\d.]*["'}]*\s+(?:-(?!I\b|m fatune)(?=\w| <)|<<)|\{"-[mc]", "(?!")|sys\.executable, "-(?!I|m", "fatune)""", re.I)
LOOKS_AWAY = {"tests", "docs", "results", "examples"}  # Tests choose their folder; examples are started by their users.
ENTERS_THE_PROJECT = re.compile(r'^cd "(?:\$\(dirname "\$\{BASH_SOURCE\[0\]\}"\)|\$\(git rev-parse --show-toplevel\)|\$root"|\$project")', re.M)

BUDGET = "tools/size_budget.txt"
UNITS = {"lines": lambda data: data.count(b"\n"), "words": lambda data: len(data.split()), "bytes": len}
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")  # Pages that count as docs.
README_LINES, README_COLUMNS = 150, 100

MOST_WORDS = 30
PRONOUN = re.compile(r"(Of|What|Those|Whose)\b")
C_LIKE = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".js"}
SHELL_LIKE = {".sh", ".cmake"}


def project_files(root):
    """Returns the files that git has or would add; in an unpacked archive, all files outside build folders."""
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
                                check=True, capture_output=True, text=True).stdout
        files = [root / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        skipped = {"build", ".deps", "runs", ".git", "__pycache__"}
        files = [path for path in root.rglob("*") if not skipped & set(path.relative_to(root).parts)]
    return {path.relative_to(root).as_posix(): path for path in sorted(files) if path.is_file() and not path.is_symlink()}


def text_of(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return "" if b"\0" in data[:1024] else data.decode("utf-8", "replace")


def check_paths(files, problems):
    for name, path in files.items():
        if name in EXEMPT:
            continue
        patterns = [MACHINE_PATH, REGISTRY] + ([TEMPORARY_PATH] if name.startswith(STORED) else [])
        text = text_of(path)
        for pattern in patterns:
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name}:{line}: {match.group(0)} means something on one machine only")


def check_present_folder(files, problems):
    for name, path in files.items():
        text = "" if name.split("/")[0] in LOOKS_AWAY or name in EXEMPT or path.suffix == ".md" else text_of(path)
        for match in STARTS_PYTHON.finditer(text):
            problems.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: Python starts without -I: {match[0].strip()}")
        # The launcher runs the program in the folder of its user, and starts no Python.
        if re.match(r"#!.*\b(ba)?sh\n", text) and name != "fatune" and not ENTERS_THE_PROJECT.search(text):
            problems.append(f"{name}:1: the script stays in the present folder; cd to the project's first")


def belongs(name, wing):
    return name.startswith(wing + "/") or (wing == "docs" and name in PAGES)


def sizes(root, files):
    """(line of the budget, unit, wing, size, limit) of each line; the size is None for a wing without files."""
    for number, line in enumerate((root / BUDGET).read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            unit, wing, limit = line.split()
            counted = [path for name, path in files.items() if belongs(name, wing) and (unit != "words" or name.endswith(".md"))]
            yield number, unit, wing, sum(UNITS[unit](path.read_bytes()) for path in counted) if counted else None, int(limit)


def check_budget(root, files, problems):
    budgeted = set()
    for number, unit, wing, size, limit in sizes(root, files):
        budgeted.add(wing)
        if size is None:
            problems.append(f"{BUDGET}:{number}: there is no {wing}")
        elif size > limit:
            problems.append(f"{wing}: {size} {unit}, {size - limit} above its limit of {limit} ({BUDGET}:{number})")
    for wing in sorted({"/".join(name.split("/")[:2]) for name in files if name.startswith("src/") and name.count("/") > 1} - budgeted):
        problems.append(f"{wing}: has no line in {BUDGET}")


def check_readme(files, problems):
    lines = files["README.md"].read_text().splitlines() if "README.md" in files else []
    if len(lines) > README_LINES:
        problems.append(f"README.md: {len(lines)} lines, {README_LINES} at most")
    problems += [f"README.md:{number}: {len(line)} columns, {README_COLUMNS} at most" for number, line in enumerate(lines, 1)
                 if len(line) > README_COLUMNS]


def joined(lines, mark):
    """(line number, text) of each run of lines that hold a comment alone, and of comments behind code."""
    found, previous = [], -1
    alone = re.compile(rf"\s*{mark}[/!<]*\s?(.*)")
    behind = re.compile(rf"[^\"]*\S\s\s?{mark}[/!<]*\s?(.+)")
    for number, line in enumerate(lines, 1):
        if match := alone.fullmatch(line):
            if number == previous + 1 and match[1] and found:
                found[-1] = (found[-1][0], f"{found[-1][1]} {match[1]}")
            else:
                found.append((number, match[1]))
            previous = number
        elif match := behind.fullmatch(line):
            found.append((number, match[1]))
    return found


def docstrings(text):
    try:
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    except SyntaxError:
        return []
    return [(node.body[0].lineno, paragraph) for node in nodes if ast.get_docstring(node)
            for paragraph in ast.get_docstring(node).split("\n\n") if "    " not in paragraph]


def paragraphs(lines):
    """(line number, text) of each paragraph and list item of a Markdown page, without tables, code and generated blocks."""
    found, fenced, generated = [(0, "")], False, False
    for number, line in enumerate(lines, 1):
        fenced ^= line.startswith("```")
        generated = (generated or line.startswith("<!-- begin")) and not line.startswith("<!-- end")
        if fenced or generated or line.startswith(("|", "#", "```", "<!--", "!", "    ")) or not line.strip():
            found.append((0, ""))
        elif not found[-1][0] or re.match(r"\s*([-*>]|\d+\.) ", line):
            found.append((number, re.sub(r"^\s*([-*>]|\d+\.) ", "", line)))
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return [each for each in found if each[0]]


def prose_of(path, text):
    lines = text.splitlines()
    if path.suffix in C_LIKE:
        return joined(lines, "//")
    if path.suffix == ".py":
        return joined(lines, "#") + docstrings(text)
    if path.suffix in SHELL_LIKE or path.name == "CMakeLists.txt":
        return joined(lines, "#")
    return paragraphs(lines) if path.suffix == ".md" else []


def first_line_problem(path, text):
    """The first line of a C++ or CUDA source: `// name.hpp: Sentence.`"""
    if path.suffix not in C_LIKE - {".js"}:
        return None
    first = prose_of(path, text)[:1]
    sentence = re.fullmatch(rf"{re.escape(path.name)}(?: -|:) (.*)", first[0][1]) if first else None
    return None if sentence and re.match(r"[^.]*\w.*?\.(\s|$)", sentence[1]) and sentence[1][0].isupper() else (1, "first line", text.partition("\n")[0])


def to_mend(path, text):
    found = [first_line_problem(path, text)]
    for line, prose in prose_of(path, text):
        if PRONOUN.match(prose):
            found.append((line, "pronoun", prose))
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*(\"\[])", prose):
            if len(sentence.split()) > MOST_WORDS:
                found.append((line, "long", sentence))
    return [each for each in found if each]


def print_words(files):
    counts = collections.defaultdict(collections.Counter)
    for name, path in files.items():
        parts = name.split("/")
        if parts[0] not in ("src", "kernels", "tests", "python", "tools", "docs", "examples") and name not in PAGES:
            continue
        wing = "docs" if len(parts) == 1 else "/".join(parts[:2]) if parts[0] == "src" and len(parts) > 2 else parts[0]
        for line, kind, prose in to_mend(path, text_of(path)):
            counts[wing][kind] += 1
            print(f"{name}:{line}: {kind}: {prose[:100]}")
    kinds = ("first line", "pronoun", "long")
    print(f"\n{'wing':14}" + "".join(f"{kind:>12}" for kind in kinds))
    for wing in sorted(counts):
        print(f"{wing:14}" + "".join(f"{counts[wing][kind]:12}" for kind in kinds))
    print(f"{'all':14}" + "".join(f"{sum(each[kind] for each in counts.values()):12}" for kind in kinds))


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    root = pathlib.Path(words[0] if words else pathlib.Path(__file__).parent.parent).resolve()
    files = project_files(root)
    if "--words" in sys.argv:
        print_words(files)
        return 0
    if "--sizes" in sys.argv:
        print("\n".join(f"{unit} {wing:16} {size}" for _, unit, wing, size, _ in sizes(root, files)))
        return 0
    problems = []
    check_paths(files, problems)
    check_present_folder(files, problems)
    check_budget(root, files, problems)
    check_readme(files, problems)
    for problem in problems[:50]:
        print(problem)
    print(f"check_tree: {len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
