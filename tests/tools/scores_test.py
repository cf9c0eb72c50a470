#!/usr/bin/env python3
"""scores_test.py FATUNE - regret, flips and fidelity from documents made by hand, and from sweeps on the recorded device; the page's table of them."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
sys.path.insert(0, str(TOOLS))

import score_sweeps  # noqa: E402
import update_readme  # noqa: E402

FATUNE = pathlib.Path(sys.argv.pop(1)).resolve()
PROBLEM = {"batch": 4, "heads": 8, "seq_q": 512, "head_dim": 64, "layout": "packed"}


def row(block, **times):
    return {"kernel": "fa", "config": {"BLOCK": block}, **{name: {"median_us": us} for name, us in times.items()}}


def best(block, seed, **times):
    return {"schema": "fatune.best/2", "fatune": "0.1.0", "device": {"name": "GPU"}, "recorded": False, "command": f"fatune sweep --seed {seed}",
            "problems": [{"name": "mission", "problem": PROBLEM, "best": row(block, **times)}, {"name": "small", "problem": {}, "best": None}]}


def gate(command, candidate, *others):
    rows = [{"baseline": side, "ratio": ratio, "ci95": [ratio - 0.002, ratio + 0.002], "comparison": word} if ratio else {"baseline": side, "reason": "wrong_result"}
            for side, ratio, word in others]
    return {"command": command, "problems": [{"problem": PROBLEM, "time": "in_layer", "candidate": candidate, "baselines": rows}]}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(member) for key, member in value.items()}
    if isinstance(value, list):
        return [rounded(member) for member in value]
    return round(value, 6) if isinstance(value, float) else value


class Saved(unittest.TestCase):
    """A folder in which everything was measured."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for seed, block in ((1, 64), (2, 32), (3, 32)):
            (self.folder / f"seed-{seed}").mkdir()
            self.write(f"seed-{seed}/best.json", best(block, seed, in_layer=7.0, hot=5.0))
        self.write("regret-mission.json", gate("gate 1", row(16, in_layer=7.14), (row(8), None, None), (row(32, in_layer=7.0), 1.02, "slower"), (row(64, in_layer=7.07), 1.01, "slower")))
        self.write("again-mission.json", gate("gate 2", row(64, in_layer=7.05), (row(32, in_layer=7.06), 0.999, "tie")))
        self.write("flips-mission-3.json", gate("gate 3", row(32, in_layer=7.0), (row(64, in_layer=7.07), 0.99, "faster")))
        self.write("bench-2026-01-31.json", {"command": "bench", "date": "2026-01-31", "problems": [{"problem": PROBLEM, "rows": [
            {**row(64, in_layer=7.035, hot=9.0), "role": "finalist"}, {**row(8, in_layer=8.0), "role": "default"}, {"role": "baseline", "in_layer": {"median_us": 70.0}}]}]})

    def write(self, name, document):
        (self.folder / name).write_text(json.dumps(document))

    def scores(self):
        return rounded(score_sweeps.scores_of(self.folder, ["out of time in step flips"]))

    def test_regret_is_of_the_first_and_in_fresh_rounds_of_the_winner(self):
        self.assertEqual(self.scores()["regret"], [{
            "problem": "mission", "time": "in_layer", "contestants": 3, "best_us": 7.0, "place_of_best": 3, "first": {"regret": 0.02, "ci95": [0.018, 0.022]},
            "winner": {"regret": -0.001, "ci95": [-0.003, 0.001]}, "commands": ["gate 1", "gate 2"]}])

    def test_a_winner_that_is_the_best_has_no_regret_and_one_not_measured_again_none_yet(self):
        (self.folder / "again-mission.json").unlink()
        self.assertIsNone(self.scores()["regret"][0]["winner"])
        self.write("seed-1/best.json", best(32, 1, in_layer=7.0))
        self.assertEqual(self.scores()["regret"][0]["winner"], {"regret": 0.0, "ci95": None})

    def test_a_first_that_was_refused_is_a_failure_and_no_regret(self):
        self.write("regret-mission.json", gate("gate 1", {**row(16), "reason": "wrong_result"}, (row(32, in_layer=7.0), None, None)))
        scores = self.scores()
        self.assertEqual((scores["regret"], scores["failures"][0]), ([], "regret of mission: the search's first is wrong_result"))

    def test_flips_are_the_sweeps_that_differ_from_most(self):
        self.assertEqual(self.scores()["flips"], [{"problem": "mission", "sweeps": 3, "winners": 2, "flips": 1, "time": "in_layer", "spread": 0.01, "told_apart": 1, "commands": ["gate 3"]}])

    def test_winners_not_yet_compared_have_no_spread(self):
        (self.folder / "flips-mission-3.json").unlink()
        flips = self.scores()["flips"][0]
        self.assertEqual((flips["flips"], flips["spread"], flips["commands"]), (1, None, []))

    def test_fidelity_is_of_the_same_config_and_time(self):
        self.assertEqual(self.scores()["fidelity"], [{"problem": "mission", "date": "2026-01-31", "time": "in_layer", "then_us": 7.0, "now_us": 7.035, "difference": 0.005,
                                                      "commands": ["fatune sweep --seed 1", "bench"]}])

    def test_the_head_says_what_was_swept_and_what_is_missing(self):
        scores = self.scores()
        self.assertEqual((scores["schema"], scores["device"], scores["failures"]), ("fatune.scores/1", {"name": "GPU"}, ["out of time in step flips"]))
        self.assertEqual(scores["sweeps"], [f"fatune sweep --seed {seed}" for seed in (1, 2, 3)])

    def test_the_page_has_a_row_a_problem(self):
        self.assertEqual(list(update_readme.score_rows(self.scores())), [
            "| mission | in layer | 2.00 % | 1.80 to 2.20 % | 3 of 3 | -0.10 % | -0.30 to 0.10 % | 1 of 3 | 1.00 % | 1 of 1 | +0.50 % (2026-01-31) |"])

    def test_a_row_of_the_page_has_gaps_where_nothing_was_measured(self):
        scores = {**self.scores(), "flips": [], "fidelity": []}
        scores["regret"][0]["winner"] = None
        self.assertEqual(list(update_readme.score_rows(scores)), ["| mission | in layer | 2.00 % | 1.80 to 2.20 % | 3 of 3 |  |  |  |  |  |  |"])


class Recorded(unittest.TestCase):
    """Two sweeps on the recorded device, which has no rounds of candidates, hence no intervals."""

    def score(self, folder, *words):
        done = subprocess.run([sys.executable, TOOLS / "score_sweeps.py", FATUNE, folder, "--seeds", "2", "--top", "3", "--device", "recorded", *words,
                               "--shape", "4,8,512,64", "--kernel", "fa_mma", "--budget", "10", "--baselines", "none"], capture_output=True, text=True, check=True)
        return json.loads((pathlib.Path(folder) / "scores.json").read_text()), done.stdout

    def test_what_is_missing_is_measured_and_what_is_there_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            scores, _ = self.score(folder, "--limit-s", "0")
            self.assertEqual((scores["sweeps"], scores["regret"], scores["failures"]), ([], [], ["out of time in step regret"]))
            scores, text = self.score(folder)
            self.assertTrue(scores["recorded"])
            self.assertEqual([row["contestants"] for row in scores["regret"]], [3])
            self.assertEqual([row["sweeps"] for row in scores["flips"]], [2])
            self.assertEqual([row["difference"] for row in scores["fidelity"]], [0.0])
            self.assertIn("regret    4-8-512-64: the search's first 0.00 %, the winner 0.00 %; best of 3: place 1", text)
            seen = {path: path.stat().st_mtime_ns for path in pathlib.Path(folder).rglob("*.json") if path.name != "scores.json"}
            self.assertEqual(self.score(folder, "--steps=")[0], {**scores, "failures": []})
            self.assertEqual({path: path.stat().st_mtime_ns for path in seen}, seen)


if __name__ == "__main__":
    unittest.main()
