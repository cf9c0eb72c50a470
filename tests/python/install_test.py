#!/usr/bin/env python3
"""install_test.py: Installs a recorded run's kernels in PyTorch's attention as CPU functions."""
import contextlib
import importlib.util
import io
import json
import math
import pathlib
import random
import sys
import tempfile
import threading
import unittest
import unittest.mock

import fatune
import torch
import torch.nn.functional as F
from fatune import installing, masks, program, proving, tuning
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

import fakes
import models


def attend(*inputs, **options):
    return F.scaled_dot_product_attention(*inputs, **options)


def qkv(seq=models.TOKENS):
    return [torch.randn(models.BATCH, models.HEADS, seq, models.DIM).half() for _ in range(3)]


def full_mask(dtype=torch.bool):
    mask = torch.ones(models.TOKENS, models.TOKENS, dtype=torch.bool)
    return mask if dtype == torch.bool else torch.zeros(mask.shape, dtype=dtype)


def times_of(pytorch_us, ours_us):
    return proving.Times({proving.PYTORCH: [pytorch_us] * 8, proving.OURS: [ours_us] * 8})


class Recorded(unittest.TestCase):
    """One run for all tests: a step that once calls with a mask tensor of full attention."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.suite = fatune.capture(lambda: [attend(*qkv()), attend(*qkv(), attn_mask=full_mask())])
        cls.result = fatune.tune(cls.suite, out=pathlib.Path(cls.folder.name) / "run", device="recorded", budget=4,
                                 quiet=True)
        cls.pytorch = F.scaled_dot_product_attention

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.enterContext(fakes.on_the_cpu())
        self.addCleanup(self.assertIs, F.scaled_dot_product_attention, self.pytorch)

    def install(self, **options):
        return self.enterContext(fatune.install(self.result, unverified=True, **options))


class TuneTest(Recorded):
    def test_the_run_is_that_of_the_suite(self):
        self.assertEqual([row["name"] for row in self.result.problems], ["4-8-512-64"])
        self.assertTrue(self.result.recorded)
        self.assertEqual(self.result.device, fakes.DEVICE)
        self.assertIn("us hot", str(self.result))

    def test_a_folder_is_gone_on_with_and_nothing_is_measured_again(self):
        journal = self.result.folder / "journal.jsonl"
        lines = journal.read_text(encoding="utf-8").splitlines()
        journal.write_text("\n".join(lines[:len(lines) // 2]) + "\n", encoding="utf-8")
        again = fatune.tune(self.suite, out=self.result.folder, quiet=True)
        self.assertEqual(again.problems[0]["best"]["config"], self.result.problems[0]["best"]["config"])
        self.assertEqual(journal.read_text(encoding="utf-8").splitlines()[1:len(lines) // 2],
                         lines[1:len(lines) // 2])

    def test_a_run_is_gone_on_with_as_it_began(self):
        saved = tuning.suite_file(self.result.folder).read_text(encoding="utf-8")
        other = pathlib.Path(self.folder.name) / "other"
        other.mkdir()
        with (self.result.folder / "journal.jsonl").open(encoding="utf-8") as journal:
            header = json.loads(next(journal))
        del header["crc"]  # that of the line as it was
        text = json.dumps(header).replace('"batch": 4', '"batch": 2')
        (other / "journal.jsonl").write_text(text + "\n", encoding="utf-8")
        for folder, options, said in (
                (self.result.folder, {"budget": 5}, "--budget is '4 evaluations' in the journal and '5 evaluations' here"),
                (self.result.folder, {"baselines": "cudnn"}, "--baselines is '.*' in the journal and .*cudnn.* here"),
                (other, {}, "is '2,8,512,64 f16' in the journal and '4,8,512,64 f16' here")):
            with self.subTest(said), self.assertRaisesRegex(fatune.FatuneError, said) as caught:
                fatune.tune(self.suite, out=folder, quiet=True, **options)
            self.assertEqual(caught.exception.exit_code, 2)
        document = json.loads(json.dumps(self.suite.document))
        document["problems"][0]["causal"] = True
        with self.assertRaisesRegex(fatune.FatuneError, "is a run of other problems") as caught:
            fatune.tune(type(self.suite)(document), out=self.result.folder, quiet=True)
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertEqual(tuning.suite_file(self.result.folder).read_text(encoding="utf-8"), saved)
        again = fatune.tune(self.suite, out=self.result.folder, device="recorded", budget=4, quiet=True)
        self.assertEqual(again.problems[0]["best"]["config"], self.result.problems[0]["best"]["config"])

    def test_a_run_is_loaded_from_its_folder_with_its_suite(self):
        loaded = fatune.Result.load(self.result.folder)
        self.assertEqual(loaded.suite.document, self.suite.document)
        self.assertEqual(loaded.device, fakes.DEVICE)
        with contextlib.chdir(self.result.folder):
            self.assertEqual(fatune.Result.load(".").suite.document, self.suite.document)

    def test_a_file_of_another_form_is_refused_in_words(self):
        with tempfile.TemporaryDirectory() as folder:
            good = {"schema": "fatune.best/1", "fatune": "1", "recorded": True, "device": {"name": "x"}, "problems": []}
            for text, said in (
                    ('{"schema": "fatune.best/2"}', "sweep again"), ("[]", "another document"), ("{", "not valid JSON"),
                    ("[" * 200_000, "not valid JSON"), ({"device": None}, "field 'device' is missing"),
                    ({"problems": None}, "field 'problems' is missing"), ({"recorded": 1}, "must be true or false"),
                    ({"problems": [{"label": "x", "best": {"kernel": "x", "hot": {"median_us": "1"}}}]},
                     r"field 'problems\[0\].best.hot.median_us' must be a number, but is str")):
                text = text if isinstance(text, str) else json.dumps({**good, **text})
                (pathlib.Path(folder) / "best.json").write_text(text, encoding="utf-8")
                with self.assertRaisesRegex(fatune.FatuneError, said) as caught:
                    fatune.Result.load(folder)
                self.assertEqual(caught.exception.exit_code, 4)

    def test_links_in_a_runs_folder_lead_nowhere(self):
        mine, places = pathlib.Path(self.folder.name) / "mine", [
            tuning.suite_file(self.result.folder), self.result.folder / "sdpa.py"]
        mine.write_text(self.suite.text(), encoding="utf-8")
        for place in places:
            place.unlink(missing_ok=True)
            place.symlink_to(mine)
        fatune.tune(self.suite, out=self.result.folder, quiet=True)
        installing.export(self.result, unverified=True)
        self.assertEqual(mine.read_text(encoding="utf-8"), self.suite.text())
        self.assertFalse(any(place.is_symlink() for place in places))

    def test_a_suite_is_also_a_path_and_notebooks_show_both(self):
        again = fatune.tune(str(tuning.suite_file(self.result.folder)), out=self.result.folder, quiet=True)
        self.assertEqual(repr(again), f"<fatune.Result {self.result.folder}: {fakes.DEVICE}, recorded, problems: 1>")
        self.assertIn("<td>4-8-512-64</td>", again._repr_html_())
        self.assertEqual(repr(self.suite), "<fatune.Suite step: 1 to tune, 2 kinds of calls>")
        self.assertIn("<td>4,8,512,64 f16, none (a tensor)</td>", self.suite._repr_html_())

    def test_nothing_to_tune_is_an_answer_with_the_reasons(self):
        suite = fatune.capture(lambda: attend(*(each.float() for each in qkv(16))))
        with self.assertRaisesRegex(fatune.FatuneError, "nothing is to be tuned: its type is float32") as caught:
            fatune.tune(suite)
        self.assertEqual(caught.exception.exit_code, 1)

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_without_a_gpu_the_recording_must_be_asked_for(self):
        with self.assertRaisesRegex(fatune.FatuneError, "no NVIDIA GPU") as caught:
            fatune.tune(self.suite, out=pathlib.Path(self.folder.name) / "none")
        self.assertEqual(caught.exception.exit_code, 3)

    def test_what_the_program_refuses_is_said_with_its_exit_code(self):
        with self.assertRaisesRegex(fatune.FatuneError, "--budget") as caught:
            program.run(["sweep", "--shape", "4,8,512,64", "--budget", "much"])
        self.assertEqual(caught.exception.exit_code, 2)

    def test_the_folder_is_named_by_the_problems(self):
        other = fatune.capture(lambda: attend(*qkv(16)))
        folders = [tuning.default_folder(suite) for suite in (self.suite, self.suite, other)]
        self.assertEqual(folders[0], folders[1])
        self.assertNotEqual(folders[0], folders[2])
        other.document["name"] = "../x"
        self.assertEqual(tuning.default_folder(other).parent, pathlib.Path("runs"))
        named = []
        for text in ("t0=i32[16]:0*16", "t0=i32[16]:1*16", "t0=i32[8]:1*8"):
            other.document["problems"][0]["tensors"] = [text]
            named.append(tuning.default_folder(other))
        self.assertEqual((named[0] == named[1], named[1] == named[2]), (True, False))  # values do not count


class InstallTest(Recorded):
    def test_calls_of_the_problem_are_served_and_counted(self):
        inputs = qkv()
        theirs = attend(*inputs)
        with self.install() as installed:
            ours = attend(*inputs)
            attend(*qkv(100))
            self.assertIs(models.attention_by_another_name, F.scaled_dot_product_attention)
            models.by_another_name(*inputs)
        self.assertEqual(fakes.Route.launched, 2)
        torch.testing.assert_close(ours, theirs, atol=2e-3, rtol=2e-3)
        attend(*inputs)
        why = installed.why()
        self.assertEqual((why.served, why.unserved), (2, 1))
        self.assertEqual([(row.calls, row.reason) for row in why.rows],
                         [(2, None), (1, "no kernel is for these sizes, type and mask")])
        self.assertIn("2 calls by fatune's kernels, 1 by PyTorch", str(fatune.why()))

    def test_reasons(self):
        q, k, v = qkv()
        lower = torch.ones(models.TOKENS, models.TOKENS, dtype=torch.bool).tril()
        for reason, inputs, options in (
                ("its mask is causal", (q, k, v), {"attn_mask": lower}),  # for which there is no kernel
                ("gradients are wanted", (q.clone().requires_grad_(), k, v), {}),
                ("dropout", (q, k, v), {"dropout_p": 0.5}),
                ("scale", (q, k, v), {"scale": 1.0}),
                ("strides", (q.transpose(1, 2).contiguous().transpose(1, 2), k, v), {}),
                ("its mask is padding right", (q, k, v), {"attn_mask": lower[3:4]}),
                ("captured for these sizes", qkv(16), {"attn_mask": lower[:16, :16]})):
            with self.subTest(reason), self.install() as installed:
                attend(*inputs, **options)
                (row,) = installed.why().rows
                if reason == "its mask is causal":
                    reason = "no kernel is for these sizes, type and mask"
                self.assertIn(reason, row.reason)
        self.assertEqual(fakes.Route.launched, 0)

    def test_a_mask_tensor_counts_by_its_values(self):
        inputs = qkv()
        with self.install() as installed:
            for mask in (full_mask(), full_mask()[None, None], full_mask(torch.float16)):
                torch.testing.assert_close(attend(*inputs, attn_mask=mask), attend(*inputs))
            self.assertEqual(installed.why().served, 6)
            mask = full_mask()
            attend(*inputs, attn_mask=mask)
            mask[3, 5] = False
            theirs = self.pytorch(*inputs, attn_mask=mask)
            self.assertTrue(torch.equal(attend(*inputs, attn_mask=mask), theirs))
            self.assertEqual((installed.why().served, installed.why().unserved), (7, 1))

    def test_a_mask_is_read_once_until_it_is_written_to(self):
        mask, (q, k, _) = full_mask(), qkv()
        with unittest.mock.patch.object(masks, "kind_of", wraps=masks.kind_of) as read:
            known = self.install().masks
            for _ in range(3):
                self.assertEqual(known.kind(mask[:, :512], q, k), (masks.NONE, ""))
            self.assertEqual(read.call_count, 1)
            mask[0, 1] = False
            self.assertEqual(known.kind(mask[:, :512], q, k), (masks.OTHER, ""))
            self.assertEqual(read.call_count, 2)
            with torch.inference_mode():
                fresh = full_mask()
                known.kind(fresh, q, k), known.kind(fresh, q, k)
            self.assertEqual(read.call_count, 4)

    def test_captured_masks_are_trusted_only_when_told(self):
        inputs, changed = qkv(), full_mask()
        changed[3, 5] = False
        with self.install(assume_masks="captured") as installed:
            attend(*inputs, attn_mask=changed)
            self.assertEqual(installed.why().served, 1)
            self.assertIn("unread", str(installed.why()))
        with self.assertRaises(fatune.FatuneError) as caught:
            fatune.install(self.result, assume_masks="yes")
        self.assertEqual(caught.exception.exit_code, 2)

    def test_mask_objects_stay_what_they_are(self):
        inputs = qkv()
        for bias in (causal_lower_right(512, 512), causal_upper_left(512, 512)):
            theirs = attend(*inputs, attn_mask=bias)
            with self.install():
                self.assertTrue(torch.equal(attend(*inputs, attn_mask=bias), theirs))

    def test_installed_twice_and_undone_in_any_order(self):
        first = fatune.install(self.result, unverified=True)
        second = fatune.install(self.result, unverified=True)
        first.undo()
        self.assertIs(F.scaled_dot_product_attention, second.function)
        third = fatune.install(self.result, unverified=True)
        third.undo()
        self.assertIs(F.scaled_dot_product_attention, second.function)
        second.undo()
        second.undo()
        self.assertIs(F.scaled_dot_product_attention, self.pytorch)

    def test_threads_share_it(self):
        inputs = qkv()
        with self.install() as installed:
            attend(*inputs)
            threads = [threading.Thread(target=lambda: [attend(*inputs) for _ in range(10)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(installed.why().served, 41)

    def test_layers_whose_calls_are_tuned_leave_their_fast_path_meanwhile(self):
        mha, document = torch.backends.mha, json.loads(self.suite.text())
        plain, self.result = self.result, fatune.Result(
            self.result.folder, self.result.document, fatune.Suite(document))
        document["capture"]["calls"][0]["module"] = "layers.*.self_attn (MultiheadAttention)"
        self.addCleanup(setattr, self, "result", plain)
        first, second = self.install(), fatune.install(plain, unverified=True)
        third = self.install()
        states = [mha.get_fastpath_enabled()]
        for each in (first, third, second):
            each.undo()
            states.append(mha.get_fastpath_enabled())
        self.assertEqual(states, [False, False, True, True])
        with third.briefly():
            self.assertFalse(mha.get_fastpath_enabled())
        with second.briefly():
            self.assertTrue(mha.get_fastpath_enabled())
        mha.set_fastpath_enabled(False)
        self.addCleanup(mha.set_fastpath_enabled, True)
        with third.redo():
            pass
        self.assertFalse(mha.get_fastpath_enabled())

    def test_an_exception_undoes_it(self):
        with self.assertRaises(KeyError), self.install():
            raise KeyError

    def test_capture_sees_calls_of_installed_kernels(self):
        with self.install():
            suite = fatune.capture(attend, *qkv())
        self.assertEqual(suite.problems[0]["shape"], "4,8,512,64")
        self.assertEqual(fakes.Route.launched, 2)

    def test_compiled_code_calls_the_operator_without_a_graph_break(self):
        def step(q, k, v):
            return F.scaled_dot_product_attention(q * 1, k, v) + 1

        compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
        inputs = qkv()
        with torch.no_grad():
            before = compiled(*inputs)
            with self.install() as installed:
                ours = compiled(*inputs)
                self.assertEqual((fakes.Route.launched, installed.why().served), (1, 1))
            torch.testing.assert_close(ours, before, atol=4e-3, rtol=2e-3)
            compiled(*inputs)
        self.assertEqual(fakes.Route.launched, 1)

    def test_compiled_code_trusts_captured_masks_only_when_told(self):
        def step(q, k, v, mask):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        inputs = (*qkv(), full_mask())
        for assume, launched in ((None, 0), ("captured", 1)):
            with self.subTest(assume), self.install(assume_masks=assume), torch.no_grad():
                torch.compile(step, backend="aot_eager", fullgraph=True)(*inputs)
                self.assertEqual(fakes.Route.launched, launched)
                torch._dynamo.reset()

    def test_keys_expanded_for_all_heads_are_one_head(self):
        exported = self.install().exported
        one = torch.randn(4, 1, 512, 64).half()
        tensors = {"q": qkv()[0], "k": one.expand(4, 8, 512, 64), "v": one.expand(4, 8, 512, 64)}
        seen, gqa = exported._with_one_head(tensors, False)
        self.assertEqual((tuple(seen["k"].shape), gqa), ((4, 1, 512, 64), True))
        copied = {**tensors, "k": tensors["k"].contiguous()}
        self.assertEqual(exported._with_one_head(copied, False), (copied, False))


class WithKernels(Recorded):
    """Kernels for TOKENS and KINDS."""

    def mask(self, kind):
        return fakes.seen_by(kind, self.TOKENS, self.TOKENS).expand(self.TOKENS, self.TOKENS).clone()

    def expect(self, served, mask, attention=attend, **options):
        """The result is PyTorch's with this mask; a kernel makes it or does not."""
        before = fakes.Route.launched
        with torch.no_grad():
            ours = attention(*self.inputs, **(options or {"attn_mask": mask}))
            torch.testing.assert_close(ours, self.pytorch(*self.inputs, attn_mask=mask), atol=4e-3, rtol=4e-3)
        self.assertEqual(fakes.Route.launched - before, int(served))

    def exported(self):
        """The exported file as it is imported by hand."""
        def imported(file):
            spec = importlib.util.spec_from_file_location("sdpa", file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module

        with fakes.on_the_cpu(tokens=self.TOKENS, kinds=self.KINDS) as import_for_the_cpu:
            module = import_for_the_cpu(installing.export(self.result, unverified=True), imported)
        module._service.serve(module._own)
        self.addCleanup(module._service.__init__)
        return module


class MaskTest(WithKernels):
    """Kernels for each kind of mask, at one length, of a step that was captured with all of them."""

    TOKENS = 32
    KINDS = ("none", "causal", "causal-window:7", "window:5,3", "prefix:9")

    def setUp(self):
        super().setUp()
        self.inputs = qkv(self.TOKENS)
        self.enterContext(fakes.on_the_cpu(tokens=self.TOKENS, kinds=self.KINDS))
        suite = fatune.capture(lambda: [attend(*self.inputs, attn_mask=self.mask(kind)) for kind in self.KINDS])
        self.result = fatune.Result(self.result.folder, self.result.document, suite)

    def test_a_kernel_serves_the_tensor_that_is_its_mask_and_no_other(self):
        installed = self.install()
        for kind in self.KINDS:
            mask = self.mask(kind)
            for given in (mask, mask[None, None], mask.expand(models.BATCH, 1, -1, -1), mask.expand(4, 8, -1, -1),
                          torch.zeros(mask.shape).half().masked_fill(~mask, -math.inf)):
                self.expect(True, given)
        self.assertIn("4,8,32,64 f16 causal-window:7: a kernel", str(installed.why()))
        for kind in ("causal-window:6", "causal-window:8", "window:5,2", "window:6,3", "prefix:8", "prefix:10"):
            self.expect(False, self.mask(kind))
        varied = self.mask("window:5,3").repeat(models.BATCH, 1, 1, 1)
        varied[2] = self.mask("causal-window:7")
        self.expect(False, varied)
        self.assertEqual({(row.reason or "").partition(",")[0] for row in installed.why().rows},
                         {"", "no kernel is for these sizes", "its mask hides keys one by one"})

    def test_a_mask_that_is_written_to_is_another(self):
        self.install()
        mask = self.mask("causal-window:7")
        self.expect(True, mask)
        mask.copy_(self.mask("causal-window:8"))
        self.expect(False, mask)
        mask.copy_(self.mask("prefix:9"))
        self.expect(True, mask)

    def test_compiled_code_is_pytorchs_where_several_kinds_were_captured(self):
        installed = self.install(assume_masks="captured")
        self.expect(False, self.mask("causal-window:7"), torch.compile(attend, backend="aot_eager", fullgraph=True))
        torch._dynamo.reset()
        self.assertEqual(installed.masks.kind(self.mask("causal"), *self.inputs[:2]), ("causal", ""))

    def test_compiled_code_has_the_kernel_of_the_only_kind_that_was_captured(self):
        calls = [call for call in self.result.suite.calls if call["mask"]["kind"] == "causal-window:7"]
        self.result.suite.document["capture"]["calls"] = calls
        self.install(assume_masks="captured")
        compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
        self.expect(True, self.mask("causal-window:7"), compiled)
        self.inputs = [each.double() for each in self.inputs]
        self.expect(False, self.mask("causal-window:7"), compiled)
        torch._dynamo.reset()

    def test_the_exported_file_takes_an_equal_tensor(self):
        module = self.exported()
        for kind in self.KINDS:
            mask = self.mask(kind)
            for given in (mask, mask[None, None], mask.expand(4, 8, -1, -1)):
                self.expect(True, given, module.sdpa)
            self.assertIn("" if kind == "none" else f" {kind}:", module.explain(*self.inputs, mask))
            self.expect(False, torch.zeros(mask.shape).half().masked_fill(~mask, -math.inf), module.sdpa)
        for kind in ("causal-window:6", "causal-window:8", "window:5,2", "prefix:10"):
            self.expect(False, self.mask(kind), module.sdpa)
            self.assertEqual(module.explain(*self.inputs, self.mask(kind)), "PyTorch: no kernel takes such a mask")
        varied = self.mask("causal").repeat(models.BATCH, 1, 1, 1)
        varied[1, 0, 3, 9] = True
        self.expect(False, varied, module.sdpa)
        with unittest.mock.patch.object(module, "_mask_tensor") as made:
            mask = self.mask("causal")
            made.side_effect = lambda *given: self.mask(given[0])
            for _ in range(3):
                self.expect(True, mask, module.sdpa)
            self.assertLessEqual(made.call_count, len(self.KINDS))

    def test_the_exported_file_takes_a_window_by_its_numbers(self):
        module = self.exported()
        for window, kind, served in (
                ((6, 0), "causal-window:7", True), ((5, 3), "window:5,3", True), ((-1, 0), "causal", True),
                ((31, 0), "causal", True), ((-1, -1), "none", True), ((7, 0), "causal-window:8", False),
                ((5, -1), "window:5,31", False), ((-1, 3), "window:31,3", False)):
            for attention in (module.sdpa, lambda *given, **options: module.sdpa(*given, **options, scale=0.125)):
                self.expect(served, self.mask(kind), attention, window_size=window)
            said = module.explain(*self.inputs, window_size=window)
            self.assertEqual(said.startswith("PyTorch: no kernel is for these sizes"), not served, said)
        query, key, value = self.inputs
        self.assertIn("no kernel of the module has v of another head dim", module.explain(query, key, value[..., :8]))
        compiled = torch.compile(lambda *given: module.sdpa(*given, window_size=(6, 0)), backend="aot_eager", fullgraph=True)
        with unittest.mock.patch.dict(sys.modules, sdpa=module):
            self.expect(True, self.mask("causal-window:7"), lambda *given, **_: compiled(*given))
        for options in ({"is_causal": True}, {"attn_mask": self.mask("causal")}):
            with self.assertRaisesRegex(ValueError, "window_size says the whole mask"):
                module.sdpa(*self.inputs, **options, window_size=(6, 0))
        with unittest.mock.patch.object(module, "_pytorch", lambda query, *_, **__: query * math.nan):
            out = module.sdpa(self.inputs[0], *(each[:, :, :20] for each in self.inputs[1:]), window_size=(3, 2))
        self.assertEqual(out[0, 0, :, 0].isnan().tolist(), [False] * 10 + [True] * 22)  # rows that see no key are zeros
        wanted = [each.clone().requires_grad_() for each in self.inputs]
        self.assertTrue(module.sdpa(*wanted, window_size=(6, 0)).requires_grad)

    def test_masks_of_unlike_lengths_are_told_apart(self):
        module = self.exported()
        mask, key = module._mask_tensor, module._problem_key
        for rows, keys in ((1, 1), (1, 6), (4, 6), (6, 6), (6, 4)):
            seen = {}
            for kind in ("none", "causal", "causal-upper-left", *(f"window:{a},{b}" for a in range(7) for b in range(7)),
                         *(f"{name}:{n}" for name in ("causal-window", "prefix") for n in range(1, 8))):
                expected = fakes.seen_by(kind, rows, keys).expand(rows, keys)
                self.assertEqual(mask(kind, rows, keys, "cpu").tolist(), expected.tolist())
                shapes = (1, 1, rows, 8), (1, 1, keys, 8), (1, 1, keys, 8)
                seen.setdefault(str(expected.tolist()), set()).add(key(*shapes, "f16", kind, False))
            self.assertEqual({len(keys) for keys in seen.values()}, {1})
            self.assertEqual(len(set().union(*seen.values())), len(seen))


class BiasTest(WithKernels):
    """Kernels that add a tensor to scores or hide keys by it, one beside a kernel of a mask by name, and a softcap's."""

    TOKENS = 32
    KINDS = ("bias 4,1,1,32:bool", "bias 1,8,32,32@0:1:256:8", "bias 1,1,32,32:f32", "softcap 5", "bias 4,1,32,32:bool")

    def setUp(self):
        Recorded.setUp(self)
        self.inputs = qkv(self.TOKENS)
        self.enterContext(fakes.on_the_cpu(tokens=self.TOKENS, kinds=self.KINDS))
        self.padded = torch.arange(32) < torch.tensor([32, 9, 20, 31])[:, None, None, None]
        self.given = [self.padded, torch.randn(1, 32, 32, 8).half().permute(0, 3, 1, 2), torch.randn(32, 32),
                      self.padded & torch.ones(32, 32, dtype=torch.bool).tril()]
        suite = fatune.capture(lambda: [attend(*self.inputs, attn_mask=mask) for mask in self.given])
        self.assertEqual(["bias " + problem["bias"] for problem in suite.problems],
                         [kind for kind in self.KINDS if kind != "softcap 5"])
        self.result = fatune.Result(self.result.folder, self.result.document, suite)

    def unread(self):
        """No mask is read meanwhile."""
        return unittest.mock.patch.object(masks, "kind_of", side_effect=AssertionError("a mask was read"))

    def test_a_kernel_takes_any_values_unread(self):
        installed = self.install()
        with self.unread():
            for mask in (*self.given, ~self.padded, self.padded.expand(4, 8, 32, 32), torch.zeros(32, 32)):
                before = len(fakes.Route.biases)
                if mask.dtype == torch.bool and not mask.any(-1).all():
                    attend(*self.inputs, attn_mask=mask)
                else:
                    self.expect(True, mask)
                self.assertTrue(all(each is mask for each in fakes.Route.biases[before:]))
            with torch.inference_mode():
                self.expect(True, self.padded.clone())
        self.assertIn("4,8,32,64 f16 bias 4,1,1,32:bool: a kernel", str(installed.why()))
        self.assertEqual(installed.why().unserved, 0)

    def test_rows_that_see_no_key_are_zeros(self):
        self.install()
        out = attend(*self.inputs, attn_mask=~self.padded)
        self.assertEqual((out == 0).flatten(1).all(1).tolist(), [True, False, False, False])

    def test_other_sizes_types_and_strides_are_pytorchs_with_the_reason(self):
        installed = self.install()
        for mask in (self.padded[:, :, :, :1].expand(4, 8, 32, 1), self.padded.half(), self.given[1].contiguous(),
                     torch.randn(33, 32)[1:].T, self.padded[:1], torch.randn(2 * 32 * 32 + 1)[1:1025].view(32, 32)):
            self.expect(False, mask)
        self.assertEqual({row.reason.partition(" that")[0] for row in installed.why().rows},
                         {"no kernel is for these sizes, type and mask", installed.exported._MISALIGNED})
        with self.assertRaises(RuntimeError):  # PyTorch's own
            attend(*self.inputs, attn_mask=torch.rand(2, 1, 32, 32).half())
        self.inputs = qkv(16)
        self.expect(False, torch.rand(16, 16).half())
        self.assertIn(installing._UNCAPTURED, [row.reason for row in installed.why().rows])

    def test_gradients_of_inputs_and_of_the_mask_are_pytorchs(self):
        installed = self.install()
        learned = self.given[2].clone().requires_grad_()
        attend(*self.inputs, attn_mask=learned).float().square().sum().backward()
        self.assertGreater(float(learned.grad.abs().max()), 0)
        attend(self.inputs[0].clone().requires_grad_(), *self.inputs[1:], attn_mask=self.padded)
        self.assertEqual({row.reason for row in installed.why().rows}, {
            installing._LEARNED, "gradients are wanted, which no kernel computes"})
        with torch.no_grad():
            attend(*self.inputs, attn_mask=learned)
        self.assertEqual((fakes.Route.launched, installed.why().served), (1, 1))

    def test_graphs_and_compiled_code_are_served_without_a_word_of_trust(self):
        self.install()
        with self.unread(), fakes.graphs_on_the_cpu() as graphs:
            graphs.capturing = True
            self.expect(True, self.padded)
            graphs.capturing = False
        compiled = torch.compile(lambda *given, **options: attend(*given, **options) * 1, backend="aot_eager", fullgraph=True)
        for mask in self.given:
            self.expect(True, mask, compiled)
        self.expect(False, self.padded.half(), compiled)
        torch._dynamo.reset()

    def test_where_a_mask_by_name_was_captured_too_its_kernel_is_chosen_by_the_values(self):
        with fakes.on_the_cpu(tokens=self.TOKENS, kinds=(*self.KINDS, "causal")):
            lower = self.mask("causal").expand(4, 1, 32, 32).contiguous()
            suite = fatune.capture(lambda: [attend(*self.inputs, attn_mask=mask) for mask in (lower, *self.given)])
            self.result = fatune.Result(self.result.folder, self.result.document, suite)
            installed = self.install(assume_masks="captured")
            self.expect(True, lower)
            self.expect(True, self.given[3])
            with fakes.graphs_on_the_cpu() as graphs:
                graphs.capturing = True
                self.expect(True, lower.clone())
            self.expect(True, lower, torch.compile(attend, backend="aot_eager", fullgraph=True))
            torch._dynamo.reset()
        self.assertEqual([None if each is None else tuple(each.shape) for each in fakes.Route.biases],
                         [None, *[(4, 1, 32, 32)] * 3])
        self.assertEqual(installed.why().served, 4)

    def test_the_exported_file_takes_them(self):
        module = self.exported()
        with unittest.mock.patch.object(module, "_mask_tensor", side_effect=AssertionError("a mask was read")):
            for mask in self.given:
                self.expect(True, mask, module.sdpa)
                self.assertIn("bias", module.explain(*self.inputs, mask))
        self.expect(False, self.padded.half(), module.sdpa)
        self.assertEqual(module.explain(*self.inputs, self.padded.half()),
                         "PyTorch: no kernel is for these sizes, type and mask")
        compiled = torch.compile(lambda *given, **options: module.sdpa(*given, **options), backend="aot_eager", fullgraph=True)
        with unittest.mock.patch.dict(sys.modules, sdpa=module):
            self.expect(True, self.padded, compiled)
        torch._dynamo.reset()

    def test_the_files_own_check_compares_every_kernel(self):
        module, said, makers = self.exported(), io.StringIO(), {}
        for name in ("empty_strided", "empty", "randn"):
            maker = getattr(torch, name)
            makers[name] = lambda *given, maker=maker, **how: maker(*given, **{**how, "device": "cpu"})
        with unittest.mock.patch.multiple(torch, **makers), contextlib.redirect_stdout(said), \
                unittest.mock.patch.object(module, "_microseconds", lambda call, graph: call() is None):
            checked = [module._check(kernel, module._tensors_for(kernel).values()) for kernel in module._own]
            fakes.Route.wrong_by = 0.1
            wrong = [module._check(kernel, module._tensors_for(kernel).values()) for kernel in module._own]
        self.assertEqual((checked, wrong), ([True] * len(self.KINDS), [False] * len(self.KINDS)), said.getvalue())

    def test_names_of_tensors_are_those_of_captures(self):
        module, chance = self.exported(), random.Random(1)
        for _ in range(500):
            sizes = [chance.choice((1, each)) for each in (4, 8, 32, 32)]
            full = [each if chance.random() < 0.5 else size for size, each in zip(sizes, (4, 8, 32, 32))]
            order = chance.sample(range(4), 4)
            mask = torch.empty([sizes[i] for i in order], dtype=chance.choice((torch.bool, torch.float16, torch.float32)))
            mask = mask.permute([order.index(i) for i in range(4)])
            mask = mask.expand(full) if chance.random() < 0.5 else mask
            mask = mask[0] if mask.shape[0] == 1 and chance.random() < 0.5 else mask
            q, k, _ = (each[:, :, :chance.choice((1, 32))] for each in self.inputs)
            if any(size not in (1, whole) for size, whole in zip(mask.shape[::-1], (k.shape[2], q.shape[2], 8, 4))):
                continue
            text, reason = masks.as_bias(mask, (4, 8, q.shape[2], k.shape[2]), torch.float16)
            name = module._bias_name(mask, q, k)
            self.assertEqual(reason, "")
            if mask.shape[-1] == k.shape[2] > 1 and mask.stride(-1) or k.shape[2] == 1:
                self.assertEqual(name, "bias " + text)
            else:
                self.assertIn(":0", text)  # keys in one place, which no kernel has

    def test_a_softcap_is_a_kernels_or_pytorchs_operations(self):
        module, (q, k, v) = self.exported(), self.inputs
        lower = self.mask("causal")
        for options, mask, served in (({}, None, True), ({"is_causal": True}, lower, False), ({"attn_mask": lower}, lower, False),
                                      ({"attn_mask": self.given[2]}, self.given[2], False),
                                      ({"attn_mask": causal_lower_right(32, 32)}, lower, False),
                                      ({"window_size": (6, 0)}, self.mask("causal-window:7"), False), ({"scale": 1.0}, None, False)):
            scores = torch.tanh(q.double() @ k.double().transpose(-1, -2) * options.get("scale", 0.125) / 5) * 5
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
            before = fakes.Route.launched
            with torch.no_grad():
                ours = module.sdpa(q, k, v, **options, softcap=5.0)
            torch.testing.assert_close(ours.double(), scores.softmax(-1) @ v.double(), atol=4e-3, rtol=4e-3)
            self.assertEqual(fakes.Route.launched - before, int(served))
            said = module.explain(q, k, v, **options, softcap=5.0)
            self.assertEqual("softcap 5.0: " in said, served, said)
        self.assertTrue(torch.equal(module.sdpa(q, k, v, softcap=0.0), module.sdpa(q, k, v)))
        few = [each[:, ::4] for each in (k, v)]
        torch.testing.assert_close(module.sdpa(q, *few, softcap=4.0, enable_gqa=True), module.sdpa(
            q, *(each.repeat_interleave(4, 1) for each in few), softcap=4.0), atol=4e-3, rtol=4e-3)
        module.sdpa(q, k, v, softcap=4.0)
        self.assertEqual({row["call"].partition("f16 ")[2]: row["reason"] for row in module.counts() if "softcap" in row["call"]}, {
            "softcap 4.0": "no kernel is for these sizes, type and mask", "softcap 5.0": None, "softcap 5.0 scale 1": "no kernel for it has the scale 1.0",
            **dict.fromkeys(("causal softcap 5.0", "causal-upper-left softcap 5.0", "window:6,0 softcap 5.0",
                             "bias 1,1,32,32:f32 softcap 5.0", "bias 1,1,32,32:bool softcap 5.0"),
                            "no kernel is for these sizes, type and mask")})
        compiled = torch.compile(lambda *given: module.sdpa(*given, softcap=5.0), backend="aot_eager", fullgraph=True)
        before = fakes.Route.launched
        with unittest.mock.patch.dict(sys.modules, sdpa=module), torch.no_grad():
            compiled(q, k, v)
        self.assertEqual(fakes.Route.launched, before + 1)
        wanted = [each.clone().requires_grad_() for each in self.inputs]
        module.sdpa(*wanted, self.padded, softcap=5.0).sum().backward()
        self.assertTrue(all(each.grad.isfinite().all() for each in wanted))
        module.sdpa(q, k, v, softcap=5.0, dropout_p=0.5)
        with self.assertRaisesRegex(ValueError, "give no attn_mask"):
            module.sdpa(q, k, v, lower, is_causal=True, softcap=5.0)


class WithdrawalTest(Recorded):
    """Which kernels serve: those that are in place, and nothing else's."""

    TOKENS = 128  # of the other run

    def other(self, **options):
        """The other run installed: its kernels are for another length."""
        with fakes.on_the_cpu(tokens=self.TOKENS):
            return self.install(**options)

    def served(self, tokens, attention=attend):
        """Whether a kernel does a call of this length."""
        before = fakes.Route.launched
        with torch.no_grad():
            attention(*qkv(tokens))
        return fakes.Route.launched > before

    def imported_by_hand(self):
        def imported(file):
            spec = importlib.util.spec_from_file_location("sdpa", file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module

        with fakes.on_the_cpu() as import_for_the_cpu:
            module = import_for_the_cpu(self.result.folder / "sdpa.py", imported)
        self.enterContext(unittest.mock.patch.dict(sys.modules, sdpa=module))  # torch.compile looks it up
        self.addCleanup(module._service.__init__)
        return module

    def test_a_later_run_does_not_serve_the_calls_of_an_earlier_one(self):
        self.install().undo()
        later = self.other()
        self.assertEqual((self.served(512), self.served(self.TOKENS)), (False, True))
        self.assertEqual([row.reason for row in later.why().rows if row.reason],
                         ["no kernel is for these sizes, type and mask"])
        later.undo()
        self.assertEqual((self.served(512), self.served(self.TOKENS)), (False, False))

    def test_runs_that_are_in_place_together_serve_together(self):
        first, second = self.install(), self.other()
        self.assertEqual((self.served(512), self.served(self.TOKENS)), (True, True))
        self.assertEqual((first.why().served, second.why().served), (2, 2))
        first.undo()
        self.assertEqual((self.served(512), self.served(self.TOKENS)), (False, True))
        first.redo()
        second.undo()
        self.assertEqual((self.served(512), self.served(self.TOKENS)), (True, False))

    def test_a_run_that_is_in_place_twice_serves_until_both_are_undone(self):
        first, second = self.install(), self.install()
        first.undo()
        self.assertTrue(self.served(512))
        second.undo()
        self.assertFalse(self.served(512))

    def test_mask_tensors_of_every_run_in_place_are_known(self):
        self.install()
        with unittest.mock.patch.object(self.result, "suite", None):
            self.other()
        self.assertTrue(self.served(512, lambda *inputs: attend(*inputs, attn_mask=full_mask())))

    def test_a_function_that_is_still_held_is_pytorchs(self):
        with self.install():
            held = F.scaled_dot_product_attention
            self.assertTrue(self.served(512, held))
        self.assertFalse(self.served(512, held))
        with self.other():
            self.assertEqual((self.served(512, held), self.served(self.TOKENS, held)), (False, True))

    def test_code_that_was_compiled_meanwhile_is_pytorchs_afterwards(self):
        with self.install() as installed:
            held = F.scaled_dot_product_attention
            compiled = torch.compile(lambda *inputs: held(*inputs) * 2, backend="aot_eager", fullgraph=True)
            self.assertTrue(self.served(512, compiled))
        with unittest.mock.patch.object(torch._dynamo.config, "error_on_recompile", True):
            self.assertFalse(self.served(512, compiled))
            with self.other():
                self.assertFalse(self.served(512, compiled))
            with installed.redo():
                self.assertTrue(self.served(512, compiled))

    def test_a_choice_that_is_made_while_it_is_undone_is_not_remembered(self):
        installed = self.install()
        exported, held = installed.exported, F.scaled_dot_product_attention
        choose = exported._choose

        def late(*given):
            found = choose(*given)
            installed.undo()
            return found

        with unittest.mock.patch.object(exported, "_choose", late):
            self.assertTrue(self.served(512, held))
        self.assertFalse(self.served(512, held))

    def test_kernels_serve_in_turns_of_a_comparison(self):
        installed = self.install()
        installed.undo()
        for _ in range(2):
            with installed.briefly():
                self.assertTrue(self.served(512))
            self.assertFalse(self.served(512, installed.function))
        with self.other(), installed.briefly():
            self.assertEqual((self.served(512), self.served(self.TOKENS)), (True, True))

    def test_files_imported_by_hand_and_installed_ones_serve_apart(self):
        by_hand = self.imported_by_hand()
        with self.other() as installed:
            self.assertFalse(self.served(512))
            self.assertEqual((self.served(512, by_hand.sdpa), self.served(self.TOKENS, by_hand.sdpa)), (True, False))
            self.assertEqual((installed.why().served, installed.why().unserved), (0, 1))
            compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
            self.assertEqual((self.served(512, compiled), self.served(self.TOKENS, compiled)), (False, True))
        compiled = torch.compile(lambda *inputs: by_hand.sdpa(*inputs), backend="aot_eager", fullgraph=True)
        self.assertTrue(self.served(512, compiled))
        with self.install():
            self.assertTrue(self.served(512))
        self.assertEqual((self.served(512), self.served(512, by_hand.sdpa)), (False, True))

    def test_the_operator_by_its_name_is_that_of_what_there_is(self):
        with self.install():
            self.assertTrue(self.served(512, torch.ops.fatune.sdpa))
        self.assertFalse(self.served(512, torch.ops.fatune.sdpa))
        by_hand = self.imported_by_hand()
        self.assertTrue(self.served(512, torch.ops.fatune.sdpa))
        self.assertEqual(by_hand.counts()[0]["reason"], None)


class GradientsTest(Recorded):
    """Calls whose gradients are wanted: PyTorch computes them, whatever is installed."""

    def setUp(self):
        super().setUp()
        self.inputs = [each.requires_grad_() for each in qkv()]

    def passes(self, attention=attend):
        out = attention(*self.inputs)
        return [out, *torch.autograd.grad(out.float().square().sum(), self.inputs)]

    def expect_pytorchs(self, attention=attend):
        theirs = self.passes()
        installed = self.install()
        for ours, each in zip(self.passes(attention), theirs):
            torch.testing.assert_close(ours, each, atol=4e-3, rtol=4e-3)
        self.assertEqual(fakes.Route.launched, 0)
        return installed

    def test_a_call_is_pytorchs_with_the_reason(self):
        installed = self.expect_pytorchs()
        self.assertEqual([tuple(row) for row in installed.why().rows],
                         [("4,8,512,64 f16", "gradients are wanted, which no kernel computes", 1)])
        self.assertEqual(installed.exported.explain(*self.inputs),
                         "PyTorch: gradients are wanted, which no kernel computes")

    def test_one_input_is_enough(self):
        self.install()
        for i in range(3):
            inputs = [each.detach() for each in self.inputs]
            inputs[i].requires_grad_()
            found, = torch.autograd.grad(attend(*inputs).float().square().sum(), inputs[i])
            self.assertGreater(float(found.abs().max()), 0)
        self.assertEqual(fakes.Route.launched, 0)

    def test_without_gradients_it_is_a_kernels(self):
        installed = self.install()
        with torch.no_grad():
            self.assertFalse(attend(*self.inputs).requires_grad)
        self.assertEqual([tuple(row) for row in installed.why().rows], [("4,8,512,64 f16", None, 1)])

    def test_compiled_steps(self):
        compiled = torch.compile(lambda *given: F.scaled_dot_product_attention(*given), backend="aot_eager",
                                 fullgraph=True)
        self.expect_pytorchs(compiled)

    def test_recomputed_activations(self):
        from torch.utils.checkpoint import checkpoint
        self.expect_pytorchs(lambda *given: checkpoint(attend, *given, use_reentrant=False))

    def test_a_graph_that_was_traced_without_gradients_has_them_right_all_the_same(self):
        theirs = self.passes()
        installed = self.install()
        with torch.no_grad():
            torch.ops.fatune._sdpa_kernel(*self.inputs, False, None, False, True)
        self.assertEqual(fakes.Route.launched, 1)
        ours = self.passes(lambda *given: torch.ops.fatune._sdpa_kernel(*given, False, None, False, True))
        for each, other in zip(ours, theirs):
            torch.testing.assert_close(each, other, atol=4e-3, rtol=4e-3)
        self.assertEqual((fakes.Route.launched, installed.why().served), (1, 1))


class RefusalTest(unittest.TestCase):
    def result(self, device):
        return fatune.Result(pathlib.Path("runs/x"), {"device": {"name": device}, "recorded": False, "problems": []})

    def test_another_gpu_no_gpu_and_an_old_pytorch(self):
        cuda = unittest.mock.patch.multiple(torch.cuda, is_available=lambda: True,
                                            get_device_name=lambda: "NVIDIA H100")
        for patch, text, code in (
                (cuda, "was tuned on NVIDIA H200, and this is NVIDIA H100: tune here", 5),
                (unittest.mock.patch.object(torch.cuda, "is_available", lambda: False), "no NVIDIA GPU here", 3),
                (unittest.mock.patch.object(torch, "__version__", "2.4.1+cpu"), "2.4.1.* is too old", 3)):
            with self.subTest(text), patch, self.assertRaisesRegex(fatune.FatuneError, text) as caught:
                fatune.install(self.result("NVIDIA H200"))
            self.assertEqual(caught.exception.exit_code, code)

    def test_a_run_without_a_kernel(self):
        with fakes.on_the_cpu(), self.assertRaisesRegex(fatune.FatuneError, "no kernel to install") as caught:
            fatune.install(self.result("NVIDIA H200"))
        self.assertEqual(caught.exception.exit_code, 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
