#!/usr/bin/env python3
"""optimize_test.py: Optimizes a model on the recording and the CPU, to each verdict."""
import contextlib
import importlib
import io
import json
import math
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import fatune
import torch
import torch.nn.functional as F
from fatune import exact, proving
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

import fakes
import models
import schemas

optimizing = importlib.import_module("fatune.optimizing")

RECORDED = {"device": "recorded", "budget": 4, "unverified": True, "quiet": True}


def times_of(ours, pytorch, **backends):
    return proving.Times({"pytorch": pytorch, **backends, "fatune": ours})


FASTER = times_of([80.0 + i % 3 for i in range(20)], [100.0 + i % 3 for i in range(20)])
SLOWER = times_of(FASTER.rounds_us["pytorch"], FASTER.rounds_us["fatune"])
EQUAL = times_of([101.0, 100.0] * 10, [100.0, 101.0] * 10)


class ExactTest(unittest.TestCase):
    """The references are attention, whatever is asked."""

    def test_every_form_of_a_call(self):
        q = torch.randn(2, 4, 6, 16).double()
        k, v, few = (torch.randn(2, heads, 9, 16).double() for heads in (4, 4, 2))
        hidden = torch.rand(2, 1, 6, 9) < 0.5
        hidden[..., 2, :] = False
        for inputs, options in (((q, k, v), {}), ((q, k, v), {"is_causal": True}), ((q, k, v), {"scale": 0.3}),
                                ((q, few, few), {"enable_gqa": True}), ((q, k, v), {"attn_mask": hidden}),
                                ((q, k, v), {"attn_mask": torch.randn(6, 9).double()}),
                                ((q, k, v), {"attn_mask": causal_lower_right(6, 9)}),
                                ((q, k, v), {"attn_mask": causal_upper_left(6, 9)}), ((q[0], k[0], v[0]), {})):
            with self.subTest(options=options), unittest.mock.patch.object(exact, "_SCORES_AT_ONCE", 2 * 6 * 9 * 3):
                theirs = F.scaled_dot_product_attention(*inputs, **options)
                with exact.in_place_of_pytorchs(torch.float64):
                    ours = F.scaled_dot_product_attention(*inputs, **options)
                torch.testing.assert_close(ours, theirs.nan_to_num(0.0))


class ProvingTest(unittest.TestCase):
    def test_rounds_tell_which_is_faster(self):
        state = {"us": 4000, "now": 0}

        @contextlib.contextmanager
        def installed():
            state["us"] = 2000
            try:
                yield
            finally:
                state["us"] = 4000

        clock = unittest.mock.MagicMock()
        clock.now.side_effect = lambda: state["now"]
        clock.us_between.side_effect = lambda begin, end: end - begin

        def step():
            state["now"] += state["us"]

        contenders = {"pytorch": proving.Contender(step), "fatune": proving.Contender(step, installed)}
        times = proving.measure(contenders, clock, limit_s=60)
        self.assertEqual((times.rounds, times.ratio, times.ci95, times.saved_us), (40, 0.5, (0.5, 0.5), 2000))

    def test_the_best_of_the_others_counts(self):
        times = times_of([90.0] * 8, [100.0] * 8, flash=[120.0] * 8, cudnn=[80.0, 80.0, 80.0, 99.0] * 2)
        self.assertEqual((times.best, times.ratio, times.saved_us), ("cudnn", 90 / 80, -10))

    def test_time_runs_out(self):
        clock = proving.Clock("cpu")
        times = proving.measure(dict.fromkeys(("pytorch", "fatune"), proving.Contender(lambda: None)), clock, limit_s=0)
        self.assertEqual(times.rounds, 8)

    def judged(self, ours, reference, *others):
        return proving._judge("x", ours, reference, others)

    def test_twice_the_error_of_pytorch_is_right_and_more_is_not(self):
        reference = torch.linspace(-1, 1, 64)
        other = reference + 1e-3
        self.assertTrue(self.judged(reference - 1.4e-3, reference, other).right)
        self.assertFalse(self.judged(reference - 2.1e-3, reference, other).right)
        single = reference.clone()
        single[5] += 2.1e-3
        self.assertFalse(self.judged(single, reference, other).right)
        self.assertTrue(self.judged(reference, reference, other).right)

    def test_whole_numbers_shapes_and_nan(self):
        tokens = torch.arange(8)
        self.assertTrue(self.judged(tokens, tokens, tokens).right)
        self.assertFalse(self.judged(tokens + 1, tokens, tokens).right)
        self.assertFalse(self.judged(tokens[:4], tokens, tokens).right)
        lost = torch.ones(4)
        lost[2] = math.nan
        self.assertFalse(self.judged(lost, torch.ones(4), torch.ones(4)).right)
        self.assertTrue(self.judged(lost, lost, lost).right)

    def test_json_has_no_infinity(self):
        lost = optimizing._output_json(proving.Output("x", math.inf, 0.0, math.inf))
        self.assertEqual(lost, {"name": "x", "error": None, "limit": 0.0, "share": None, "right": False})

    def test_an_output_that_one_side_lacks_is_wrong(self):
        state = {"ours": False}

        @contextlib.contextmanager
        def installed():
            state["ours"] = True
            yield
            state["ours"] = False

        def step():
            return {"out": torch.ones(2), **({"more": torch.ones(1)} if state["ours"] == step.more_in_ours else {})}

        for step.more_in_ours in (True, False):
            outputs = {each.name: each.right for each in proving.compare(step, proving.Contender(step, installed))}
            self.assertEqual(outputs, {"['out']": True, "['more']": False})

    def test_outputs_are_named_by_their_place(self):
        found = proving.outputs_of(lambda: {"logits": torch.ones(2), "more": [torch.zeros(1), "text"]})
        self.assertEqual(list(found), ["['logits']", "['more'][0]"])
        self.assertEqual(list(proving.outputs_of(lambda: torch.ones(1))), ["output"])

    def test_a_step_that_trains_is_compared_in_its_gradients(self):
        weights = torch.randn(3, 1, 2, 8, 16, requires_grad=True)

        def step():
            weights.grad = None
            out = F.scaled_dot_product_attention(*weights.half())
            out.float().square().sum().backward()
            return out, weights.grad

        def wrong(*inputs):
            return pytorchs(inputs[0] * 1.05, *inputs[1:])

        @contextlib.contextmanager
        def installed():
            with unittest.mock.patch.object(F, "scaled_dot_product_attention", wrong):
                yield

        pytorchs = F.scaled_dot_product_attention
        self.assertTrue(all(each.right for each in proving.compare(step, proving.Contender(step))))
        self.assertEqual([each.right for each in proving.compare(step, proving.Contender(step, installed))], [False, False])

    def test_random_numbers_are_alike_in_each_run_and_go_on_afterwards(self):
        torch.manual_seed(5)
        expected = torch.rand(1)
        torch.manual_seed(5)
        first, second = (proving.outputs_of(lambda: torch.rand(3))["output"] for _ in range(2))
        self.assertTrue(torch.equal(first, second))
        self.assertTrue(torch.equal(torch.rand(1), expected))


class Chain(unittest.TestCase):
    """One folder of a run for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.folder_of_run = pathlib.Path(cls.folder.name) / "run"
        cls.model, cls.x = models.model_and_input(layers=1)
        cls.pytorch = F.scaled_dot_product_attention

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.enterContext(fakes.on_the_cpu())
        self.addCleanup(self.assertIs, F.scaled_dot_product_attention, self.pytorch)

    def optimize(self, times, **options):
        with unittest.mock.patch.object(optimizing, "measure", return_value=times):
            proof = fatune.optimize(self.model, self.x, out=self.folder_of_run, **RECORDED, **options)
        self.addCleanup(proof.undo)
        return proof


class OptimizeTest(Chain):
    def test_faster_is_installed_and_reported(self):
        proof = self.optimize(FASTER)
        self.assertEqual((proof.verdict, proof.why.served), ("faster", 2))
        self.assertIs(F.scaled_dot_product_attention, proof.installed.function)
        self.assertTrue(all(each.right for each in proof.outputs))
        document = json.loads((self.folder_of_run / "proof.json").read_text(encoding="utf-8"))
        self.assertEqual((document["verdict"], document["installed"]), ("faster", True))
        schemas.check(self.folder_of_run / "proof.json")
        drawn = fakes.drawn(proof.report)
        self.assertEqual({**drawn, "device": None}, {**document, "device": None})
        self.assertNotIn("uuid", drawn["device"])
        proof.undo()
        self.assertIs(F.scaled_dot_product_attention, self.pytorch)

    def test_calls_that_no_kernel_takes_do_not_stop_the_others(self):
        q = torch.randn(1, 2, 8, 36).half()

        def attend(each):
            return F.scaled_dot_product_attention(each, each, each)

        with unittest.mock.patch.object(optimizing, "measure", return_value=FASTER):
            proof = fatune.optimize(lambda: [self.model(self.x), torch.vmap(attend)(q), attend(q), attend(q[:0])],
                                    out=self.folder_of_run, **RECORDED)
        self.addCleanup(proof.undo)
        self.assertEqual((proof.verdict, len(proof.outputs), len(proof.suite.calls)), ("faster", 4, 4))

    def test_slower_and_equal_are_not_installed(self):
        for times, verdict in ((SLOWER, "slower"), (EQUAL, "equal")):
            with self.subTest(verdict):
                proof = self.optimize(times)
                self.assertEqual((proof.verdict, proof.installed), (verdict, None))
                self.assertIn("nothing is installed", str(proof))
        self.assertIsNotNone(self.optimize(EQUAL, allow_equal=True).installed)

    def test_wrong_is_neither_timed_nor_installed(self):
        fakes.Route.wrong_by = 0.01
        proof = self.optimize(FASTER)
        self.assertEqual((proof.verdict, proof.times, proof.installed), ("wrong", None, None))
        schemas.check(self.folder_of_run / "proof.json")
        self.assertEqual(fakes.drawn(proof.report)["verdict"], "wrong")

    def test_unserved_says_why(self):
        with unittest.mock.patch.object(fakes.Route, "__init__", side_effect=RuntimeError("no such thing")), \
                self.assertWarns(RuntimeWarning):
            proof = self.optimize(FASTER)
        self.assertEqual((proof.verdict, proof.installed), ("unserved", None))
        schemas.check(self.folder_of_run / "proof.json")
        self.assertIn("could not be loaded: no such thing", str(proof))

    def test_a_step_that_returns_no_tensor_cannot_be_proved(self):
        with self.assertRaisesRegex(fatune.FatuneError, "returns no tensor"):
            fatune.optimize(lambda: [self.model(self.x)] and None, out=self.folder_of_run, **RECORDED)
        self.assertIs(F.scaled_dot_product_attention, self.pytorch)

    def test_unverified_and_recorded_are_said(self):
        proof = self.optimize(FASTER)
        document = proof.to_json()
        self.assertEqual(document["unverified"], proof.unverified)
        self.assertTrue(proof.unverified)
        for text in ("no gate has checked " + proof.unverified[0], "tuned on a recording"):
            self.assertIn(text, str(proof))
        self.assertEqual(fakes.drawn(proof.report)["unverified"], proof.unverified)

    def test_interrupted_nothing_is_installed(self):
        for place in ("tune", "compare", "measure", "_write"):
            with self.subTest(place), unittest.mock.patch.object(optimizing, place, side_effect=KeyboardInterrupt), \
                    self.assertRaises(KeyboardInterrupt):
                if place == "measure":
                    fatune.optimize(self.model, self.x, out=self.folder_of_run, **RECORDED)
                else:
                    self.optimize(FASTER)
            self.assertIs(F.scaled_dot_product_attention, self.pytorch)

    def test_the_whole_chain_with_its_own_times(self):
        proof = fatune.optimize(self.model, self.x, out=self.folder_of_run, **RECORDED, limit_s=1)
        self.addCleanup(proof.undo)
        self.assertIn(proof.verdict, ("faster", "equal", "slower"))
        self.assertGreaterEqual(proof.times.rounds, 8)


class CommandTest(Chain):
    SCRIPT = "import models\nmodel, x = models.model_and_input(layers=1)\nfor _ in range(2): model(x)\n"

    def command(self, text, times, *options):
        script = pathlib.Path(self.folder.name) / "script.py"
        script.write_text(text, encoding="utf-8")
        said, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors), \
                unittest.mock.patch.object(optimizing, "measure", return_value=times):
            code = importlib.import_module("fatune.commands").main(
                ["optimize", "--out", str(self.folder_of_run), "--device", "recorded", "--budget", "4", "--unverified",
                 *options, str(script)])
        return code, said.getvalue(), errors.getvalue()

    def test_exit_codes(self):
        self.assertEqual(self.command(self.SCRIPT, FASTER)[0], 0)
        self.assertEqual(self.command(self.SCRIPT, SLOWER)[0], 1)
        self.assertEqual(self.command(self.SCRIPT, EQUAL)[0], 1)
        self.assertEqual(self.command(self.SCRIPT, EQUAL, "--allow-equal")[0], 0)

    def test_what_is_said(self):
        _, said, _ = self.command(self.SCRIPT, FASTER)
        self.assertIn("script: faster, and right", said)
        self.assertIn("fatune.install(", said)
        code, said, _ = self.command(self.SCRIPT + "print('hello')\n", FASTER, "--json")
        self.assertEqual((code, json.loads(said)["verdict"]), (0, "faster"))

    def test_a_script_that_has_the_function_by_a_name_of_its_own(self):
        text = ("import models, torch\nfrom torch.nn.functional import scaled_dot_product_attention as attend\n"
                "class Own(torch.nn.Module):\n"
                "    def forward(self, q): return attend(q, q, q)\n"
                "Own()(torch.randn(4, 8, 512, 64).half())\n")
        code, said, _ = self.command(text, FASTER)
        self.assertEqual(code, 0)
        self.assertIn("2 calls by fatune's kernels, 0 by PyTorch", said)

    def test_a_function_of_the_script_is_the_step(self):
        code, said, _ = self.command(self.SCRIPT + "def twice(): return model(model(x))\n", FASTER, "--step", "twice")
        self.assertEqual(code, 0)
        code, _, errors = self.command(self.SCRIPT, FASTER, "--step", "thrice")
        self.assertEqual((code, "defines no function thrice()" in errors), (2, True))

    def test_a_script_without_attention(self):
        code, _, errors = self.command("print(1)\n", FASTER)
        self.assertEqual(code, 1)
        self.assertIn("calls no module with attention", errors)

    def test_interrupted(self):
        with unittest.mock.patch.object(optimizing, "tune", side_effect=KeyboardInterrupt):
            code, _, errors = self.command(self.SCRIPT, FASTER)
        self.assertEqual(code, 130)
        self.assertIn("nothing is installed", errors)


if __name__ == "__main__":
    sys.exit(unittest.main())
