#!/usr/bin/env python3
"""compare_test.py - tools/compare_kernel_tuner.py scores as `fatune replay` does: same order of evaluations, same numbers.

    compare_test.py FATUNE
"""
import importlib.util
import itertools
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FATUNE = sys.argv.pop(1)
CACHES = ["convolution_a100.json", "pnpoly_2080ti.json", "gemm_a6000_unclosed.json"]

specification = importlib.util.spec_from_file_location("compare", ROOT / "tools" / "compare_kernel_tuner.py")
compare = importlib.util.module_from_spec(specification)
specification.loader.exec_module(compare)


class ExpectedBest(unittest.TestCase):
    def test_against_every_draw(self):
        costs = [3.0, None, 1.0, 7.5, None, 2.0]
        curve = compare.expected_best(costs, 20)
        self.assertEqual(len(curve), 7)
        for t in range(7):
            bests = [min((cost for cost in drawn if cost is not None), default=7.5) for drawn in itertools.combinations(costs, t)]
            self.assertAlmostEqual(curve[t], sum(bests) / len(bests), places=12)


class SameAsReplay(unittest.TestCase):
    def test_configs_in_the_order_of_the_space(self):
        for name in CACHES:
            with self.subTest(name):
                path = ROOT / "tests" / "data" / "recording" / name
                document = compare.load_cache(path)
                keys = document["tune_params_keys"]
                values = {key: sorted({entry[key] for entry in document["cache"].values()}) for key in keys}
                entries = sorted(document["cache"].values(), key=lambda entry: [values[key].index(entry[key]) for key in keys])
                costs = [compare.cost_of(entry) for entry in entries]
                ours = compare.score_row(costs, [costs[:60]], 60)
                done = subprocess.run([FATUNE, "replay", path, "--strategy", "exhaustive", "--repeats", "1", "--budget", "60", "--json"],
                                      capture_output=True, text=True, check=False)
                theirs = json.loads(done.stdout)["rows"][0]
                self.assertAlmostEqual(ours["P"], theirs["P"], places=9)
                for t in ("25", "50"):
                    self.assertAlmostEqual(ours["at"][t], theirs["at"][t], places=9)
                self.assertEqual(ours["at"]["220"], theirs["at"]["220"])


if __name__ == "__main__":
    unittest.main()
