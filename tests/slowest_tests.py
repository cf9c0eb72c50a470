#!/usr/bin/env python3
"""slowest_tests.py - prints the 20 slowest tests of a JUnit file of ctest, and the count of each result.

    slowest_tests.py JUNIT.xml [--count 20]
"""
import argparse
import collections
import pathlib
import xml.etree.ElementTree

RESULTS = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "disabled"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("junit", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    cases = xml.etree.ElementTree.parse(args.junit).getroot().findall("testcase")
    seconds = {case.get("name"): float(case.get("time")) for case in cases}
    slowest = sorted(seconds, key=seconds.get, reverse=True)[:args.count]
    print(f"\nThe {len(slowest)} slowest tests, in seconds ({args.junit}):")
    for name in slowest:
        print(f"{seconds[name]:8.2f}  {name}")
    results = collections.Counter(RESULTS[case.get("status")] for case in cases)
    print(f"\n{len(cases)} tests in {sum(seconds.values()):.0f} s of their own:",
          ", ".join(f"{results[result]} {result}" for result in RESULTS.values() if results[result]))


if __name__ == "__main__":
    main()
