"""Gives tests with fake libraries their arguments and unittest's main."""
import argparse
import os
import sys
import unittest


def main(module, description):
    """Runs the tests of a module; its FATUNE and FAKES, the libraries' folder, become absolute paths."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--fatune", required=True)
    parser.add_argument("--fakes", required=True)
    args, rest = parser.parse_known_args()
    names = sys.modules[module]
    names.FATUNE, names.FAKES = os.path.abspath(args.fatune), os.path.abspath(args.fakes)
    unittest.main(module, argv=[sys.argv[0], *rest])
