#!/usr/bin/env python3
"""in_layer_test.py - turns and rounds of examples/in_layer, with made-up times and no PyTorch."""

import pathlib
import random
import sys
import unittest
from unittest import mock

for name in ("torch", "torch.nn", "torch.nn.functional", "torch.nn.attention"):
    sys.modules[name] = mock.MagicMock()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "in_layer"))

import in_layer  # noqa: E402

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


if __name__ == "__main__":
    unittest.main()
