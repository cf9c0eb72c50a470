#!/usr/bin/env python3
"""check_layers.py - turns src/ and kernels/ into a list of broken layout rules; exit 1 if any.

Includes follow the arrows of src/layers.txt, by which CMake links, too. Heavy or device headers stay where they belong.
A type's name is unique in its namespace. No file is too long. Every file's first line says what the file is for.
Lists of sources have one file a line, in order, so that two changes merge.
Usage: check_layers.py [ROOT]
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
SRC = ROOT / "src"
MAX_LINES = 400  # chosen: nine files in ten of the projects we like are below it

# Arithmetic that the host and kernels compute with.
SHARED_WITH_KERNELS = {"../kernels/common/interval.cuh"}

# Text that may appear only in some files: pattern, allowed files, and the reason that is printed.
CONFINED = [
    (r"#include <(cuda|nvrtc|nvml|cuda_\w+)\.h>", r"src/gpu/|src/worker/compile/nvrtc|src/runtime/", "CUDA headers belong to gpu/, worker/compile/nvrtc and runtime/"),
    (r"#include <nlohmann/json\.hpp>", r".*\.cpp$|src/(core/record_lines|model/results/record|worker/protocol/implementation|evolve/trial/trial)\.hpp$", "json.hpp costs a second per inclusion: headers take json_fwd.hpp (those that hold values of it are allowed)"),
    (r"#include [<\"]spdlog/", r"src/core/log\.cpp$", "spdlog is known to core/log.cpp alone"),
    (r"#include [<\"]CLI/", r"src/cli/", "CLI11 belongs to cli/"),
    (r"std::cout\b|(?<![\w.])(std::)?(printf|puts)\(", r"src/(out|cli)/", "only out/ and cli/ write to stdout"),
    (r"\bfprintf\(|std::cerr\b", r"src/(core|out|cli)/", "messages go through core/log"),
    (r"\bgetenv\(", r"src/cli/", "environment variables are read in cli/"),
]

def source_files(folder, *suffixes):
    return sorted(p for p in folder.rglob("*") if p.suffix in suffixes)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def load_layers(problems):
    """layers.txt as {layer: layers it may include}; a layer names only those above it."""
    layers = {}
    for number, line in enumerate((SRC / "layers.txt").read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        layer, _, names = line.partition(":")
        for name in names.split():
            if name not in layers:
                problems.append(f"src/layers.txt:{number}: {layer} names {name}, which is not above it")
        layers[layer] = set(names.split())
        if not (SRC / layer / "CMakeLists.txt").is_file():
            problems.append(f"src/{layer}: has no CMakeLists.txt")
    for folder in sorted(p.name for p in SRC.iterdir() if p.is_dir() and p.name not in layers):
        problems.append(f"src/{folder}: has no line in src/layers.txt")
    return layers


def layer_of(path, layers):
    """The longest line of layers.txt that the path lies under: worker/protocol before worker."""
    found = [layer for layer in layers if path.startswith(layer + "/")]
    return max(found, key=len, default=None)


def check_includes(path, text, layers, problems):
    layer = layer_of(path.relative_to(SRC).as_posix(), layers)
    # Only main.cpp lies in no layer: it may include any.
    allowed = layers.get(layer, set(layers)) | {layer}
    for match in re.finditer(r'^#include "([^"]+)"', text, re.MULTILINE):
        target = match.group(1)
        if target in SHARED_WITH_KERNELS:
            continue
        line = text.count("\n", 0, match.start()) + 1
        if not (SRC / target).is_file():
            problems.append(f'{name_of(path)}:{line}: "{target}" is not a path from src/')
        elif layer_of(target, layers) not in allowed:
            problems.append(
                f"{name_of(path)}:{line}: {layer}/ may not include {target} (src/layers.txt)")


def check_confined(path, text, problems):
    for pattern, where, reason in CONFINED:
        for match in re.finditer(pattern, text):
            if not re.match(where, name_of(path)):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name_of(path)}:{line}: {match.group(0)}: {reason}")


def types_of(text):
    """(qualified name, line) of each type defined at namespace scope, unnamed namespaces aside."""
    inside = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"namespace ([\w:]*) ?\{$", line):
            inside.append(match.group(1))
        elif re.match(r"\}  // namespace", line):
            inside.pop()
        elif match := re.match(r"(?:struct|class|union|enum class|enum) ([\w:]+)(?: final)?(?: :[^;{]*)?(?: \{.*)?$", line):
            if all(inside):
                yield "::".join([*inside, match.group(1)]), number


def check_type_names(path, text, known, problems):
    """Two types of one name are linked into one program without a word, and each other's code runs."""
    for name, line in types_of(text):
        place = f"{name_of(path)}:{line}"
        if name in known:
            problems.append(f"{place}: {name} is also defined at {known[name]}")
        known.setdefault(name, place)


def check_length(path, text, problems):
    lines = text.count("\n")
    if lines > MAX_LINES:
        problems.append(f"{name_of(path)}: {lines} lines; split it ({MAX_LINES} at most)")


def check_source_lists(path, problems):
    before = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{name_of(path)}:{number}"
        sources = re.findall(r"[\w./]+\.cpp\b", line.split("#")[0])
        if len(sources) > 1:
            problems.append(f"{place}: one source a line")
        elif sources and sources[0] < before:
            problems.append(f"{place}: {sources[0]} stands after {before}")
        before = sources[0] if len(sources) == 1 else ""


def check_first_line(path, text, problems):
    first = text.partition("\n")[0]
    if not first.startswith((f"// {path.name}: ", f"// {path.name} - ")):
        problems.append(f'{name_of(path)}:1: must begin "// {path.name}: " with a sentence that says what the file is for')


def main():
    problems = []
    layers = load_layers(problems)
    known_types = {}
    for path in source_files(SRC, ".hpp", ".cpp"):
        text = path.read_text()
        check_includes(path, text, layers, problems)
        check_confined(path, text, problems)
        check_type_names(path, text, known_types, problems)
        check_length(path, text, problems)
        check_first_line(path, text, problems)
    for folder in (SRC, ROOT / "tests"):
        for path in sorted(folder.rglob("CMakeLists.txt")):
            check_source_lists(path, problems)
    for path in source_files(ROOT / "tests", ".hpp", ".cpp"):
        check_first_line(path, path.read_text(), problems)
    for path in source_files(ROOT / "kernels", ".cu", ".cuh"):
        text = path.read_text()
        check_first_line(path, text, problems)
        if path.suffix == ".cuh":
            check_length(path, text, problems)
    for problem in problems:
        print(problem)
    print(f"check_layers: {len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
