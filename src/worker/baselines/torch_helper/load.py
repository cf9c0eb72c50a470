"""load.py: Runs the helper, whose files are the arguments: each one's path, then its text.

fatune hands it to Python's option -c (torch_process.cpp), so that the helper needs no file on disk.
"""
import importlib.abc
import importlib.util
import sys

if sys.path and sys.path[0] == "":
    del sys.path[0]  # modules in the present folder must not take the place of others


class Arguments(importlib.abc.MetaPathFinder, importlib.abc.ExecutionLoader):
    """Finds the helper's modules among the arguments."""

    def __init__(self, arguments):
        paths = [path.removesuffix(".py").replace("/", ".") for path in arguments[::2]]
        self.texts = dict(zip(paths, arguments[1::2]))

    def find_spec(self, name, path=None, target=None):
        if name not in self.texts and not self.is_package(name):
            return None
        return importlib.util.spec_from_loader(name, self, is_package=self.is_package(name))

    def is_package(self, name):
        return any(module.startswith(name + ".") for module in self.texts)

    def get_filename(self, name):
        return name.replace(".", "/") + ".py"  # for tracebacks

    def get_source(self, name):
        return self.texts.get(name, "")


arguments = Arguments(sys.argv[1:])
del sys.argv[1:]
sys.meta_path.insert(0, arguments)

from torch_helper import orders

orders.main([name for name in arguments.texts if name.startswith("torch_helper.packages.")])
