#!/usr/bin/env python3
"""graph_test.py: Checks captures of CUDA graph replays and the turns of kernels in them."""
import contextlib
import importlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import fatune
import torch
import torch.nn.functional as F
from fatune import backends, contending, installing, masks, options, proving
from torch.nn.attention.bias import causal_lower_right

from fatune.calls import SERVED
from fatune.recorder import Recorder

import fakes
import models
import schemas

capturing = importlib.import_module("fatune.capturing")
optimizing = importlib.import_module("fatune.optimizing")

FULL = torch.ones(models.TOKENS, models.TOKENS, dtype=torch.bool)
TIMES = proving.Times({"pytorch": [100.0] * 8, "flash": [90.0] * 8, "fatune": [60.0] * 8})


class Graph(unittest.TestCase):
    def setUp(self):
        self.graphs = self.enterContext(fakes.graphs_on_the_cpu())
        pytorch = F.scaled_dot_product_attention
        self.addCleanup(lambda: self.assertIs(F.scaled_dot_product_attention, pytorch))
        self.model, self.x = models.model_and_input(layers=2)

    def step(self):
        """As transformers' models: only while a graph is captured do they pass a mask, which says nothing."""
        return self.model(self.x, attn_mask=self.graphs.mask(FULL))


class CaptureTest(Graph):
    def test_the_calls_are_those_of_the_capture(self):
        suite = fatune.capture(self.step, graph=True)
        (call,) = suite.calls
        self.assertEqual((call["mask"]["kind"], call["mask"]["form"]), (masks.NONE, "tensor"))
        self.assertEqual((call["counts"], call["problem"]), ([2], "4-8-512-64"))
        kept = suite.document["capture"]
        self.assertEqual((kept["graph"], kept["clock"], suite.in_graph), (True, capturing.GRAPH_CLOCK, True))
        self.assertGreater(call["us"], 0)
        self.assertFalse(fatune.capture(self.step, runs=1).in_graph)

    def test_masks_count_by_the_values_that_a_replay_leaves(self):
        for values, kind, problem in ((FULL.tril(), masks.CAUSAL, "4-8-512-64-causal"),
                                      (torch.rand(512, 512).half(), masks.BIAS, "4-8-512-64-bias-1-1-512-512")):
            with self.subTest(kind):
                suite = fatune.capture(lambda: self.model(self.x, attn_mask=self.graphs.mask(values)), graph=True)
                (call,) = suite.calls
                self.assertEqual((call["mask"]["kind"], call["problem"]), (kind, problem))

    def test_tensors_of_flex_attention_have_the_values_that_a_replay_leaves(self):
        from torch.nn.attention import flex_attention as module
        values = torch.arange(16, dtype=torch.int32) // 6

        def step():
            documents = self.graphs.mask(values)
            documents = values if documents is None else documents
            return module.flex_attention(*models.packed(), score_mod=lambda s, b, h, q, k: s + documents[h])

        (problem,) = fatune.capture(step, graph=True).problems
        self.assertEqual((problem["score"], problem["tensors"]),
                         ("score + t0[h]", ["t0=i32[16]:0*6,1*6,2*4"]))

    def test_calls_are_timed_in_the_modes_of_the_step(self):
        seen = []

        def attend(*inputs, **options):
            seen.append((torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")))
            return inputs[0]

        def step():
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
                F.scaled_dot_product_attention(*models.packed(dtype=torch.float32))

        with unittest.mock.patch.object(F, "scaled_dot_product_attention", attend):
            fatune.capture(step, graph=True)
        self.assertGreater(len(seen), 5)
        self.assertEqual(set(seen), {(True, True)})

    def test_a_step_that_cannot_be_captured_says_why(self):
        def step():
            if self.graphs.capturing:
                raise RuntimeError("CUDA error: operation not permitted when stream is capturing.\nmore")

        with self.assertRaises(fatune.FatuneError) as caught:
            fatune.capture(step, graph=True)
        self.assertEqual((str(caught.exception), caught.exception.exit_code), (
            "the step cannot be captured in a CUDA graph: CUDA error: operation not permitted when stream is capturing",
            1))


class BackendTest(Graph):
    """Calls that no kernel serves run by the fastest of PyTorch's backends."""

    def test_a_capture_times_the_backends_of_calls_without_a_kernel_alone(self):
        bias = torch.rand(models.TOKENS, 1).half()  # keys in one place, which no kernel reads
        for mask, timed in ((bias, True), (FULL, False)):
            with self.subTest(timed):
                suite = fatune.capture(lambda: self.model(self.x, attn_mask=self.graphs.mask(mask)), graph=True)
                (call,) = suite.calls
                self.assertEqual([each["backend"] for each in call["backends_us"]][:1], ["pytorch"] * timed)
                self.assertTrue(all(each["us"] > 0 for each in call["backends_us"]))
                self.assertEqual(["ratio_ci95" in each for each in call["backends_us"]],
                                 [i > 0 for i in range(len(call["backends_us"]))])
                self.assertIn("math", [each["backend"] for each in call["backends_us"]] + ["math"] * (not timed))

    def test_a_step_without_a_graph_has_times_of_backends_on_a_gpu_alone(self):
        q, k, v = models.packed()
        timed = unittest.mock.Mock(return_value=[])

        def step():
            for options in ({}, {"attn_mask": torch.rand(16, 1).half()}, {"dropout_p": 0.1}):
                F.scaled_dot_product_attention(q, k, v, **options)

        with unittest.mock.patch.object(backends, "times_of", timed):
            fatune.capture(step)
            self.assertEqual(timed.call_count, 0)
            with unittest.mock.patch.object(capturing, "device_of", return_value="cuda"), \
                    unittest.mock.patch.multiple(capturing, Recorder=lambda _, **how: Recorder("cpu", **how),
                                                 Clock=lambda _: proving.Clock("cpu")):
                fatune.capture(step)
        self.assertEqual(timed.call_count, 1)  # in the last run, of the call that no kernel serves

    def test_a_call_that_no_graph_takes_has_no_times(self):
        def attend():
            if self.graphs.capturing:
                raise RuntimeError("operation not permitted when stream is capturing")

        self.assertEqual(backends.times_of(attend, proving.Clock("cpu")), [])

    def test_a_step_with_kernels_in_place_is_captured_without_times_of_backends(self):
        bias = torch.rand(models.TOKENS, 1).half()  # keys in one place, which no kernel reads
        suite = capturing.captured(lambda: self.model(self.x, attn_mask=self.graphs.mask(bias)), (), {}, None, True,
                                   with_backends=False)
        self.assertEqual([call["backends_us"] for call in suite.calls], [[]])

    def test_a_mask_that_says_nothing_is_left_out_as_it_is_by_install(self):
        q, k, v = models.packed(dim=20)  # no kernel has this head dim
        lower = torch.ones(16, 16, dtype=torch.bool).tril()
        seen = []

        def attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
            seen.append((attn_mask is None, is_causal))
            return query

        def step():
            F.scaled_dot_product_attention(q, k, v, self.graphs.mask(lower))

        with unittest.mock.patch.object(F, "scaled_dot_product_attention", attend):
            suite = fatune.capture(step, graph=True)
        (call,) = suite.calls
        self.assertEqual((call["mask"]["kind"], call["problem"]), (masks.CAUSAL, None))
        self.assertEqual(installing._Masks(suite, True).kind(lower, q, k), (masks.CAUSAL, ""))
        self.assertEqual(seen[-1], (True, True))

    def test_the_fastest_backend_runs_calls_like_the_one_that_was_timed_and_no_others(self):
        q, k, v = models.packed()
        bias, asked = torch.rand(16, 16).half(), []
        suite = fatune.capture(lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=bias))
        (row,) = suite.calls
        times = [{"backend": "pytorch", "us": 20.0}, {"backend": "efficient", "us": 21.0, "ratio_ci95": [1.0, 1.1]},
                 {"backend": "cudnn", "us": 12.3, "ratio_ci95": [0.6, 0.7]}, {"backend": "math", "us": 9.0, "ratio_ci95": [0.4, 1.0]}]

        @contextlib.contextmanager
        def kernel(backend):
            asked.append(backend)
            yield

        attend = unittest.mock.MagicMock(return_value=q)
        with unittest.mock.patch.object(backends, "sdpa_kernel", kernel):
            fastest = backends.by_fastest(attend, [{**row, "backends_us": times}])
            self.assertIs(fastest(q, k, v, bias), q)
            self.assertEqual(asked, [backends.BACKENDS["cudnn"]])
            fastest(q, k, v)
            fastest(q, k, v, bias, 0.1)
            fastest(q, k, v, bias.float())
            fastest(q.float().requires_grad_(), k.float(), v.float(), bias)
            self.assertEqual(len(asked), 1)
            attend.side_effect = [RuntimeError("No available kernel"), k]
            self.assertIs(fastest(q, k, v, bias), k)
        self.assertEqual(backends.words_of({**row, "backends_us": times}), 
                         "; by PyTorch's cudnn, 12.3 us for 20.0 by its own choice")

    def test_pytorchs_own_choice_stays_where_no_backends_whole_interval_is_below_it(self):
        for times in ([], [("pytorch", 10.0, None)], [("pytorch", 10.0, None), ("flash", 9.0, (0.8, 1.0))]):
            row = {"backends_us": [{"backend": name, "us": us, "ratio_ci95": ci or (1, 1)} for name, us, ci in times]}
            self.assertIsNone(backends.fastest_of(row))
        self.assertIsNone(backends.fastest_of({"backends_us": [{"backend": "flash", "us": 9.0}]}))  # of an older version
        self.assertIs(backends.by_fastest(F.scaled_dot_product_attention, []), F.scaled_dot_product_attention)


class WithoutGpuTest(unittest.TestCase):
    def test_a_step_on_the_cpu_is_none(self):
        with self.assertRaisesRegex(fatune.FatuneError, "needs a step on an NVIDIA GPU") as caught:
            fatune.capture(*models.model_and_input(layers=1), graph=True)
        self.assertEqual(caught.exception.exit_code, 3)


class HeldTest(unittest.TestCase):
    """The device is held back before a timed run, so that its times are not those of Python."""

    def test_the_record_says_whether_the_device_waited(self):
        for over in (False, True):
            with self.subTest(over), unittest.mock.patch.object(capturing.Clock, "hold") as hold, \
                    unittest.mock.patch.object(capturing.Clock, "is_over", return_value=over):
                suite = fatune.capture(*models.model_and_input(layers=1, tokens=16))
                self.assertEqual(suite.document["capture"]["waits_for_python"], over)
                self.assertEqual("waiting for Python" in str(suite), over)
                first, second = (call.args[0] for call in hold.call_args_list)
                self.assertEqual(first, 0)
                self.assertTrue(0 < second <= 200_000)


class IdleMaskTest(unittest.TestCase):
    def test_backends_are_not_shown_masks_that_say_nothing(self):
        q, k, v = models.packed()
        lower, other = torch.ones(16, 16, dtype=torch.bool).tril(), torch.rand(16, 16) < 0.5
        for mask, causal in ((torch.ones_like(lower), False), (lower, True), (other, None)):
            suite = fatune.capture(lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
            asked = unittest.mock.MagicMock()
            installing.without_idle_masks(asked, suite)(q, k, v, attn_mask=mask, scale=0.5)
            (*_, passed, _, is_causal), options = asked.call_args
            self.assertIs(passed, other if causal is None else None)
            self.assertEqual((is_causal, options["scale"]), (bool(causal), 0.5))
        bias = causal_lower_right(16, 16)
        theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        ours = installing.without_idle_masks(F.scaled_dot_product_attention, suite)(q, k, v, attn_mask=bias)
        self.assertTrue(torch.equal(ours, theirs))


class Alternating(models.Model):
    """Layers with one of two masks in turn, as Gemma's."""

    def forward(self, x, masks):
        for layer, mask in zip(self.layers, masks):
            x = layer(x, attn_mask=mask)
        return x


class SeveralMasksTest(Graph):
    """Masks of one shape and several kinds in one graph: each call has the kernel of its own mask or none."""

    KINDS = ("causal", "causal-window:7")

    def setUp(self):
        super().setUp()
        self.model, self.x = Alternating(4).eval().requires_grad_(False).half(), torch.randn(4, 32, models.WIDTH).half()
        self.enterContext(fakes.on_the_cpu(tokens=32, kinds=("none", *self.KINDS)))
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        recorded = fatune.capture(*models.model_and_input(1))
        result = fatune.tune(recorded, out=self.folder / "run", device="recorded", budget=1, quiet=True)
        self.result = fatune.Result(result.folder, result.document, fatune.capture(self.step, graph=True))

    def step(self, model=None):
        made = [self.graphs.mask(fakes.seen_by(kind, 32, 32)) for kind in self.KINDS]
        return (model or self.model)(self.x, [made[0], made[1], made[0], made[1]])

    def counts(self, step, before=None):
        """The calls of a capture by their masks and what served them."""
        with fatune.install(self.result, assume_masks="captured", unverified=True) as installed, torch.no_grad():
            if before:
                before()
            installed.recount()
            with self.graphs.capture(None):
                step()
        return {(row.call.partition("f16")[2].strip(), row.reason): row.calls for row in installed.why().rows}

    def test_each_layer_has_the_kernel_of_its_own_mask(self):
        self.assertEqual([(call["mask"]["kind"], call["paths"]) for call in
                          sorted(self.result.suite.calls, key=lambda call: call["mask"]["kind"])],
                         [(kind, [f"layers.{i} (Layer)" for i in (at, at + 2)]) for at, kind in enumerate(self.KINDS)])
        self.assertEqual(self.counts(self.step), {("causal", None): 2, ("causal-window:7", None): 2})

    def test_a_call_whose_module_was_not_captured_or_with_both_is_pytorchs(self):
        q, k, v = (torch.randn(4, 8, 32, 64).half() for _ in range(3))
        another = torch.nn.Sequential(self.model)
        another.forward = lambda x, masks: self.model(x, masks)
        mask = fakes.seen_by(self.KINDS[1], 32, 32)
        for step in (lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=self.graphs.mask(mask)),
                     lambda: self.step(another)):
            self.assertEqual({reason for _, reason in self.counts(step)}, {installing._SEVERAL})
        for call in self.result.suite.document["capture"]["calls"]:
            call["paths"] = ["layers.0 (Layer)", "layers.1 (Layer)"]
        self.assertEqual(self.counts(self.step), {("masked", installing._SEVERAL): 4})

    def test_a_mask_that_was_read_before_the_capture_is_what_it_was(self):
        given = [fakes.seen_by(kind, 32, 32) for kind in self.KINDS]
        swapped = [given[1], given[0], given[1], given[0]]  # not as it was captured
        found = self.counts(lambda: self.model(self.x, swapped[:1] * 2), before=lambda: self.model(self.x, swapped))
        self.assertEqual(found, {("causal-window:7", None): 2})


class OptimizeTest(Graph):
    def setUp(self):
        super().setUp()
        self.enterContext(fakes.on_the_cpu())
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def optimize(self, step, **options):
        proof = fatune.optimize(step, out=self.folder / "run", graph=True, device="recorded", budget=4, unverified=True,
                                quiet=True, **options)
        self.addCleanup(proof.undo)
        return proof

    def test_graphs_take_turns_against_the_best_of_pytorchs(self):
        with unittest.mock.patch.object(optimizing, "measure", return_value=TIMES) as measure:
            proof = self.optimize(self.step)
        contenders = measure.call_args.args[0]
        self.assertEqual([*contenders][0], "pytorch")
        self.assertEqual([*contenders][-1], "fatune")
        self.assertEqual({*contenders, *proof.failed}, {"pytorch", "flash", "cudnn", "efficient", "fatune"})
        self.assertIn("cudnn", proof.failed)
        self.assertTrue(all(isinstance(each.step, contending.graphs.Replay) for each in contenders.values()))
        self.assertEqual((proof.why.served, proof.why.unserved, proof.why.assumed), (2, 0, True))
        self.assertEqual(proof.verdict, "faster")
        said = str(proof)
        for text in ("0.667 of its time by flash, PyTorch's best", "pytorch 0.100 ms", "cudnn does not do it",
                     "saving: measured 30 us, predicted 15 us, 2.06 of it", "unread"):
            self.assertIn(text, said)
        drawn = fakes.drawn(proof.report)
        self.assertEqual((drawn["before"]["graph"], drawn["times"]["best"], drawn["saving"]["measured_us"]), (True, "flash", 30))
        schemas.check(self.folder / "run" / "proof.json")
        document = json.loads((self.folder / "run" / "proof.json").read_text(encoding="utf-8"))
        self.assertEqual((document["times"]["best"], round(document["saving"]["predicted_us"], 2)), ("flash", 14.57))
        self.assertTrue(document["before"]["graph"] and document["after"]["graph"])

    def test_outputs_are_those_of_the_graph(self):
        fakes.Route.wrong_by = 0.01
        proof = self.optimize(self.step)
        self.assertEqual((proof.verdict, proof.installed), ("wrong", None))

    def test_the_command(self):
        script = self.folder / "script.py"
        script.write_text("import models\nmodel, x = models.model_and_input(layers=1)\ndef step(): return model(x)\n",
                          encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = capturing.main(options.parse("capture", ["--graph", "-o", str(self.folder / "suite.json"), str(script)]))
        self.assertEqual(code, 0)
        self.assertTrue(fatune.Suite.load(self.folder / "suite.json").in_graph)
        with contextlib.redirect_stdout(said), unittest.mock.patch.object(optimizing, "measure", return_value=TIMES):
            code = optimizing.main(options.parse("optimize", [
                "--graph", "--out", str(self.folder / "run"), "--device", "recorded", "--budget", "4", "--unverified",
                str(script)]))
        self.assertEqual(code, 0)
        self.assertIn("in a CUDA graph: pytorch 0.100 ms", said.getvalue())


class SavingTest(unittest.TestCase):
    def result(self, **times):
        row = {"name": "a", "best": {"in_layer": {"median_us": 6.0}} if "best" not in times else times["best"],
               "baselines": [{"impl": impl, "in_layer": {"median_us": us}} for impl, us in
                             (("cudnn", 1.0), ("torch:flash", 13.0), ("torch:cudnn", 11.0))] + [{"impl": "torch:math"}]}
        return fatune.Result(pathlib.Path("runs/x"), {"problems": [row]})

    def test_a_call_saves_what_its_times_in_a_layer_say(self):
        self.assertEqual(self.result().saved_us("a"), 5.0)
        self.assertIsNone(self.result().saved_us("b"))
        self.assertIsNone(self.result(best=None).saved_us("a"))
        self.assertIsNone(self.result(best={"hot": {"median_us": 5.0}}).saved_us("a"))

    def test_shares(self):
        self.assertEqual(optimizing.Saving(90.0, 100.0).share, 0.9)
        self.assertIn("measured 90 us, predicted 100 us, 0.90 of it", str(optimizing.Saving(90.0, 100.0)))
        self.assertIsNone(optimizing.Saving(1.0, -5.0).share)

    def test_of_a_proof_all_calls_count_as_often_as_they_are_made(self):
        suite = fatune.Suite({"name": "s", "capture": {"calls": [
            {"problem": "a", "counts": [12, 12], "function": SERVED}, {"problem": None, "counts": [3, 3], "function": SERVED},
            {"problem": "a", "counts": [5, 5], "function": "flex_attention"}]}})  # which install() leaves as it is
        proof = optimizing.Proof(suite, self.result(), "faster", [], TIMES, {}, suite, None, None, pathlib.Path("x"))
        self.assertEqual(proof.saving, optimizing.Saving(30.0, 60.0))
        suite.document["capture"]["calls"].append({"problem": "b", "counts": [1, 1], "function": SERVED})  # without a kernel
        self.assertEqual(proof.saving, optimizing.Saving(30.0, 60.0))
        flex = {"problem": "a", "counts": [1, 1], "function": "flex_attention", "mask": {"rule": "q >= k"}}
        suite.document["capture"]["calls"].append(flex)  # which a kernel serves in place of what no baseline is
        self.assertEqual(proof.saving, optimizing.Saving(30.0, None))
        suite.document["capture"]["calls"].remove(flex)
        proof.result = self.result(best={"hot": {"median_us": 5.0}})
        self.assertEqual(proof.saving, optimizing.Saving(30.0, None))


if __name__ == "__main__":
    sys.exit(unittest.main())
