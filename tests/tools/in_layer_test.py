#!/usr/bin/env python3
"""in_layer_test.py: Tests turns, rounds and comparisons of examples/in_layer on made-up times."""

import json
import pathlib
import random
import sys
import tempfile
import unittest
from unittest import mock

for name in ("torch", "torch.nn", "torch.nn.functional", "torch.nn.attention"):
    sys.modules[name] = mock.MagicMock()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "in_layer"))

import in_layer  # noqa: E402
import in_model  # noqa: E402

STEADY, MOVED = [900.0, 100.0, 130.0, 100.4], [900.0, 100.0, 130.0, 100.6]


def replays(*turns):
    """Stands for times_us: these turns, the last one for ever."""
    left = list(turns)
    return mock.patch.object(in_layer, "times_us", side_effect=lambda *_: left.pop(0) if len(left) > 1 else left[0])


class TurnTest(unittest.TestCase):
    def test_the_mean_of_the_neighbours_is_subtracted_and_the_first_replay_does_not_count(self):
        with replays(STEADY) as taken:
            self.assertAlmostEqual(in_layer.turn("with", "without"), 29.8)
        taken.assert_called_once_with("without", "without", "with", "without")

    def test_a_turn_is_repeated_until_its_neighbours_agree(self):
        with replays(MOVED, MOVED, STEADY) as taken:
            self.assertAlmostEqual(in_layer.turn("with", "without"), 29.8)
        self.assertEqual(taken.call_count, 3)

    def test_six_times_at_most(self):
        with replays(MOVED) as taken:
            self.assertIsNone(in_layer.turn("with", "without"))
        self.assertEqual(taken.call_count, 6)


@mock.patch.object(in_layer, "SETTLE_S", 0)
class RoundsTest(unittest.TestCase):
    def rounds_of(self, *turns):
        with replays(*turns) as taken:
            return *in_layer.rounds_of({"a": 1, "b": 2}, 0, random.Random(1)), taken.call_count

    def test_forty_rounds_in_which_each_has_a_turn(self):
        net, left_out, taken = self.rounds_of(STEADY)
        self.assertEqual((len(net["a"]), len(net["b"]), left_out, taken), (40, 40, 0, 80))

    def test_a_round_with_a_turn_that_moved_is_left_out_for_all_and_replaced(self):
        net, left_out, taken = self.rounds_of(STEADY, *[MOVED] * 6, STEADY)
        self.assertEqual((len(net["a"]), len(net["b"]), left_out, taken), (40, 40, 1, 87))

    def test_two_rounds_are_tried_for_one_that_is_wanted(self):
        self.assertEqual(self.rounds_of(MOVED), ({"a": [], "b": []}, 80, 480))


class LayersTest(unittest.TestCase):
    def test_weights_of_twice_the_cache_unless_attention_takes_long(self):
        in_layer.torch.cuda.get_device_properties.return_value.L2_cache_size = 62914560
        problems = [(4, 8, 8, 512, 64, "f16", False), (4, 8, 8, 512, 128, "f16", False),
                    (2, 16, 16, 8192, 128, "f16", False), (2, 16, 16, 16384, 128, "f16", False),
                    (2, 2, 2, 128, 64, "f16", False)]
        self.assertEqual([in_layer.layers_of(problem) for problem in problems], [60, 15, 4, 3, 64])


class ModelTest(unittest.TestCase):
    def test_the_difference_of_two_is_compared_in_per_cent_of_what_the_backend_takes(self):
        row = in_model.compared({"exported": 6.0, "flash": 13.0}, {"exported": [6.0, 7.0, 6.5], "flash": [12.0, 13.0, 12.5]})
        self.assertEqual(row["times"]["flash"], {"in_layer_us": 13.0, "step_us": 12.5})
        self.assertEqual(row["against"], {"flash": {"step_us": 6.0, "step_ci95_us": (6.0, 6.0), "off": 1 / 12.5}})
        row.update(model="m", problem="p")
        self.assertEqual(in_model.lines_of(row), ["| m | p | flash | 13.0 - 6.0 = 7.0 | 12.5 - 6.5 = 6.0 | - | +8.0% ! |"])

    def test_kernels_of_attention_are_those_that_the_step_without_it_has_not(self):
        profiles = {"without": {"gemm": (4, 40.0), "copy": (2, 6.0)}, "with": {"gemm": (4, 44.0), "copy": (4, 12.0), "fa": (2, 14.0)}}
        row = {"times": {"flash": {}}}
        with mock.patch.object(in_model, "kernels_of", side_effect=profiles.get):
            in_model.add_kernel_times(row, {"graphs": {"flash": "with"}, "without": "without", "calls": 2})
        self.assertEqual(row["times"]["flash"], {"kernels": {"copy": 1, "fa": 1}, "kernel_us": 10.0})

    def test_times_in_a_layer_come_from_the_winner_and_pytorchs_backends(self):
        us = lambda time: {"in_layer": {"median_us": time}}
        entry = {"name": "bert-base", "problem": {"batch": 8}, "best": {"impl": "fatune:fa", "kernel": "fa", "config": {}, **us(6)},
                 "baselines": [{"impl": "cudnn", **us(9)}, {"impl": "torch:cudnn", **us(10)}, {"impl": "torch:flash"}, {"impl": "torch:auto", **us(9)}]}
        others = [{**entry, "name": "gpt2-medium", "best": None}, {**entry, "name": "unknown"}]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "best.json"
            path.write_text(json.dumps({"problems": [entry, *others]}))
            said = in_model.said_by([path])
        self.assertEqual(said, {"bert-base": {"problem": {"batch": 8}, "in_layer_us": {"exported": 6, "cudnn": 10}, "kernel": "fa", "config": {}},
                                "gpt2-medium": {"problem": {"batch": 8}, "in_layer_us": {"cudnn": 10}, "kernel": None, "config": None}})
        with self.assertRaisesRegex(ValueError, "times in a layer of ..cudnn.. only"):
            in_model.check(None, said["gpt2-medium"], (), {})


class AllTest(unittest.TestCase):
    def test_a_model_that_fails_is_a_row_and_the_others_go_on(self):
        row = {"model": "b", "problem": "p", "times": {}, "against": {}}
        args = mock.Mock(limit_s=60, seed=1)
        with mock.patch.object(in_model, "measure", side_effect=[RuntimeError("CUDA error\nmore"), (row, {})]), \
                mock.patch.object(in_model, "add_kernel_times", side_effect=RuntimeError("no CUPTI")), mock.patch("builtins.print"):
            rows = in_model.measure_all(None, {"a": {}, "b": {}}, args, lambda rows: None)
        self.assertEqual(rows, [{"model": "a", "failed": "RuntimeError: CUDA error"}, row])


if __name__ == "__main__":
    unittest.main()
