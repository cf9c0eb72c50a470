"""basics.py: Defines what the helper's files share: refusals, packages, the timing method."""
import importlib
import importlib.metadata
import os
import sys
import tempfile
import threading

# Classes of the packages beside PyTorch, by the name of their implementation.
PACKAGES = {}


def name_cache_of_triton():
    """Triton compiles to ~/.triton. Where that folder is missing, this process may not make it."""
    if not os.path.isdir(os.path.expanduser("~/.triton")):
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"triton-{os.getuid()}"))


class Refused(Exception):
    """An answer that is no; `kind` decides the row's outcome: "environment" is unavailable,
    "infeasible" a problem that is not taken, "failed" another fault."""

    def __init__(self, reason, kind="failed"):
        super().__init__(reason)
        self.kind = kind


class Method:
    """The numbers of the timing method. fatune sends them with its greeting (torch_process.cpp)."""

    def adopt(self, numbers):
        vars(self).update(numbers)


METHOD = Method()


def package(name):
    """Registers a class as the implementation of this name."""

    def register(kind):
        PACKAGES[name] = kind
        return kind

    return register


def shortened(error):
    """The first line of a message, without the places in PyTorch's sources."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].split(" (Triggered internally")[0][:300]


def out_of_memory(error):
    return "out of memory" in str(error)


def installed(name):
    """A package's version without importing it; empty if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def not_usable(kind, error):
    return Refused(f"{sys.executable} has no {kind.TITLE} that can be used: {shortened(error)}; "
                   f"install it beside PyTorch with 'pip install {kind.PACKAGE}'", "environment")


def import_package(kind):
    try:
        return importlib.import_module(kind.MODULE)
    except Exception as error:  # packages look for compilers and devices when they are imported
        raise not_usable(kind, error)


def in_time(work, title):
    """The result of work that may compile. Work that takes too long is refused, and goes on."""
    results, errors = [], []

    def run():
        try:
            results.append(work())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(METHOD.patience_s)
    if thread.is_alive():
        raise Refused(f"{title} compiles its kernels for this problem, which it does once and "
                      "which may take minutes; try again then")
    if errors:
        raise errors[0]
    return results[0]
