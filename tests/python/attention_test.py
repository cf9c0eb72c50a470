#!/usr/bin/env python3
"""attention_test.py: Calls attention() of an exported file, whose kernels are CPU functions."""
import contextlib
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import fatune
import torch
from fatune import installing, program

import fakes
import models

TOKENS = 24
CONFIG = pathlib.Path(__file__).resolve().parents[1] / "data/cli/fa_mma.json"
HEADS, BATCH = models.HEADS, models.BATCH
BIAS = {"bias": f"{BATCH},1,1,{TOKENS}:bool"}
CASES = (  # of the problem; arguments of the call
    ({"mask": "padding:24,0,1,17"}, {"mask": "padding"}),
    ({"mask": "causal+padding-left:24,9", "lse": True}, {"mask": "causal+padding-left", "return_lse": True}),
    ({"mask": "causal-window:5+padding:20"}, {"mask": "window:4,0+padding"}),
    ({"batch": 1, "mask": "document:7,0,17"}, {"mask": "document"}),
    ({"batch": 1, "mask": "causal+document:7,17"}, {"mask": "causal+document"}),
    ({"mask": "causal", "alibi": True}, {"mask": "causal"}),
    ({"mask": "causal-window:6", "sink": True, "lse": True}, {"mask": "causal-window:6", "return_lse": True}),
    ({"mask": "padding:0,24,3,9", "sink": True, "alibi": True, **BIAS, "softcap": 3.0}, {"mask": "padding", "softcap": 3.0}),
    ({"mask": "causal", **BIAS, "lse": True}, {"mask": "causal", "return_lse": True}),
    ({"mask": "none", "value_dim": 16, "sink": True}, {}),
)
EXPRESSIONS = (
    ({"mask": "(q + k) % 4 != 3"}, {"mask": "(q+k) % 4 != 3"}),
    ({"mask": "none", "score": "score + h * (k - q)"}, {"score": "score + h*(k - q)"}),
    ({"mask": "doc[q] == doc[k]", "tensors": ["doc=i32[24]:0*9,5*8,1*7"]}, {"mask": "doc[q]==doc[k]"}),
    ({"mask": "k <= q && k < left[b]", "score": "score + table[h][k - q + 23]",
      "tensors": [f"table=f32[{HEADS}][47]", f"left=i32[{BATCH}]:9,24,0,7"], "lse": True}, {"return_lse": True}),
)


class AttentionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        suite = fatune.capture(lambda: torch.nn.functional.scaled_dot_product_attention(
            *[torch.randn(BATCH, HEADS, models.TOKENS, models.DIM).half() for _ in range(3)]))
        cls.result = fatune.tune(suite, out=pathlib.Path(cls.folder.name) / "run", device="recorded", budget=4, quiet=True)
        cls.file = installing.export(cls.result, unverified=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        torch.manual_seed(1)
        self.kinds = [dict(problem) for problem, _ in (*CASES, *EXPRESSIONS)]
        self.module = self.imported(self.kinds)

    def imported(self, kinds):
        """The file as it is imported by hand, with kernels of these problems."""
        with fakes.on_the_cpu(tokens=TOKENS, kinds=tuple(kinds)) as import_for_the_cpu:
            module = import_for_the_cpu(self.file, load)
        module._service.serve(module._own)
        self.addCleanup(module._service.__init__)
        return module

    def inputs(self, problem):
        batch, width = problem.get("batch", BATCH), problem.get("value_dim", models.DIM)
        return [torch.randn(batch, HEADS, TOKENS, columns).half() for columns in (models.DIM, models.DIM, width)]

    def asked(self, problem, given):
        """The arguments of a call with values for the problem's tensors."""
        found = next(kernel for kernel in self.module._own
                     if all(kernel.facts["problem"].get(name) == value for name, value in problem.items()))
        with unittest.mock.patch.multiple(torch, **on_cpu()):
            asked = self.module._arguments_for(found)
        return {**{name: value for name, value in asked.items() if value is not None}, **given}

    def launches(self, call):
        before = fakes.Route.launched
        with torch.no_grad():
            out = call()
        return out, fakes.Route.launched - before

    def test_kernels_serve_what_they_were_tuned_for(self):
        for problem, given in (*CASES, *EXPRESSIONS):
            with self.subTest(problem):
                tensors, asked = self.inputs(problem), self.asked(problem, given)
                _, launched = self.launches(lambda: self.module.attention(*tensors, **asked))
                self.assertEqual(launched, 1, self.module.counts())

    def test_operations_and_kernels_agree(self):
        for problem, given in CASES:
            with self.subTest(problem):
                tensors, asked = self.inputs(problem), self.asked(problem, given)
                ours = self.module.attention(*tensors, **asked)
                with unittest.mock.patch.object(self.module._service.table, "kernels", []):
                    self.module._service.table.routes.clear()
                    theirs, launched = self.launches(lambda: self.module.attention(*tensors, **asked))
                self.module._service.table.routes.clear()
                self.assertEqual(launched, 0)
                torch.testing.assert_close(ours, theirs, atol=4e-3, rtol=4e-3)

    def test_what_differs_is_computed_by_operations(self):
        problem, given = CASES[0]
        tensors, asked = self.inputs(problem), self.asked(problem, given)
        other = [each[:2].contiguous() for each in tensors]
        half = {**asked, "lengths": asked["lengths"][:2].contiguous()}
        for inputs, options in ((tensors, {**asked, "mask": "padding-left"}), (tensors, {**asked, "softcap": 2.0}),
                                (tensors, {**asked, "scale": 1.0}), (tensors, {**asked, "return_lse": True}), (other, half),
                                (tensors, {**asked, "mask": "causal+padding"}), (tensors, {**asked, "sink": torch.zeros(HEADS).half()})):
            _, launched = self.launches(lambda: self.module.attention(*inputs, **options))
            self.assertEqual(launched, 0, options)
        regrouped = [each.view(2, 16, TOKENS, -1) for each in tensors]
        _, launched = self.launches(lambda: self.module.attention(*regrouped, mask="padding", lengths=half["lengths"]))
        self.assertEqual(launched, 0)

    def test_expressions_without_a_kernel_are_refused(self):
        for problem, given in EXPRESSIONS[:2]:
            tensors = [each[:2].contiguous() for each in self.inputs(problem)]
            with self.assertRaisesRegex(ValueError, "no kernel is for these sizes.*PyTorch's operations know no expressions"):
                self.module.attention(*tensors, **given)
        with self.assertRaisesRegex(ValueError, "gradients are wanted"):
            self.module.attention(*[each.requires_grad_() for each in self.inputs({})], mask="k < 4")

    def test_named_tensors_that_differ_are_refused_by_name(self):
        documents, table = torch.zeros(TOKENS, dtype=torch.int32), torch.zeros(HEADS, 2 * TOKENS - 1)
        left = torch.full((BATCH,), TOKENS, dtype=torch.int32)
        both = {"mask": "k <= q && k < left[b]", "score": "score + table[h][k - q + 23]"}
        for tensors, options, why in (
                (None, {}, r"attention: mask or score reads doc\[...\]; give tensors={'doc': TENSOR}"),
                ({"doc": documents, "other": documents}, {}, "has 'other', which neither mask nor score reads; leave it out"),
                ({"doc": documents.long()}, {}, r"tensors\['doc'\] must be contiguous torch.int32 \(24,\) on cpu"),
                ({"doc": documents[1:]}, {}, r"tensors\['doc'\] must be contiguous torch.int32 \(24,\) on cpu"),
                ({"doc": torch.zeros(48, dtype=torch.int32)[::2]}, {}, "must be contiguous torch.int32"),
                ({"doc": documents.to("meta")}, {}, r"must be contiguous torch.int32 \(24,\) on cpu"),
                ({"doc": [0]}, {}, r"tensors\['doc'\] must be a torch.Tensor, not list"),
                ({"left": left, "table": table.double()}, both, r"\['table'\] must be contiguous torch.float32 \(8, 47\) on cpu"),
                ({"left": left}, both, "reads table"),
                ({"doc": documents.double()}, {"mask": "doc[q] < doc[k]"}, "contiguous torch.int32 or torch.float32 on cpu"),
                ({"doc": documents}, {"mask": "doc[q] < doc[k]"}, "no kernel is for these sizes.*know no expressions"),
                ({"doc": documents}, {"scale": 2.0}, "no kernel for it has the scale 2.0, and")):
            with self.subTest(why), self.assertRaisesRegex((ValueError, TypeError), why):
                self.module.attention(*self.inputs({}), **{"mask": "doc[q] == doc[k]", **options}, tensors=tensors)

    def test_values_of_named_tensors_are_not_remembered(self):
        tensors, documents = self.inputs({}), torch.zeros(TOKENS, dtype=torch.int32)
        outs = [self.module.attention(*tensors, mask="doc[q] == doc[k]", tensors={"doc": documents})]
        for each in (documents.fill_(3), torch.arange(TOKENS).int(), torch.arange(TOKENS).int()):
            outs.append(self.module.attention(*tensors, mask="doc[q] == doc[k]", tensors={"doc": each}))
        self.assertTrue(torch.equal(outs[0], outs[1]) and torch.equal(outs[2], outs[3]))
        torch.testing.assert_close(outs[2], tensors[2])
        self.assertEqual([row["calls"] for row in self.module.counts() if "doc=i32[24]" in row["call"]], [4])
        with self.assertRaisesRegex(ValueError, "gradients are wanted"):
            self.module.attention(*tensors, mask="k <= q && k < left[b]", score="score + table[h][k - q + 23]", tensors={
                "left": torch.zeros(BATCH, dtype=torch.int32), "table": torch.zeros(HEADS, 47, requires_grad=True)})

    def test_expressions_that_name_heads_know_the_batch(self):
        tensors = [each.view(2, 16, TOKENS, -1) for each in self.inputs({})]
        with self.assertRaisesRegex(ValueError, "no kernel is for these sizes"):
            self.module.attention(*tensors, score="score + h * (k - q)")

    def test_tensors_of_other_types_and_shapes_are_refused_by_name(self):
        tensors = self.inputs({})
        for given, why in (({"mask": "padding", "lengths": torch.ones(BATCH).long()}, "lengths must be contiguous torch.int32"),
                           ({"mask": "padding", "lengths": torch.ones(2, dtype=torch.int32)}, r"lengths must be contiguous torch.int32 \(4,\)"),
                           ({"mask": "padding"}, "mask 'padding' and lengths say the same; give both"),
                           ({"lengths": torch.ones(BATCH, dtype=torch.int32)}, "mask 'none' and lengths do not go together"),
                           ({"mask": "document", "lengths": torch.tensor([0, 24], dtype=torch.int32)}, "documents fill one sequence"),
                           ({"alibi": torch.ones(HEADS).half()}, "alibi must be contiguous torch.float32"),
                           ({"sink": torch.ones(HEADS)}, "sink must be contiguous torch.float16"),
                           ({"sink": torch.ones(1, HEADS).half()}, "sink must be contiguous torch.float16")):
            with self.assertRaisesRegex(ValueError, "attention: " + why):
                self.module.attention(*tensors, **given)

    def test_gradients_are_those_of_operations(self):
        problem, given = CASES[7]
        tensors, asked = [each.requires_grad_() for each in self.inputs(problem)], self.asked(problem, given)
        before = fakes.Route.launched
        self.module.attention(*tensors, **asked).sum().backward()
        self.assertTrue(all(each.grad.isfinite().all() for each in tensors))
        self.assertEqual(fakes.Route.launched, before)

    def test_compiled_code_calls_the_operator(self):
        for problem, given in (CASES[1], CASES[9], EXPRESSIONS[3]):
            tensors, asked = self.inputs(problem), self.asked(problem, given)
            compiled = torch.compile(lambda *inputs: self.module.attention(*inputs, **asked), backend="aot_eager", fullgraph=True)
            with unittest.mock.patch.dict(sys.modules, sdpa=self.module):
                ours, launched = self.launches(lambda: compiled(*tensors))
            self.assertEqual(launched, 1)
            torch.testing.assert_close(ours, self.module.attention(*tensors, **asked))
            torch._dynamo.reset()

    def test_another_head_dim_of_v_is_served_where_rows_lie(self):
        module = self.imported([{"mask": "causal", "value_dim": 16}])
        query, key, value = self.inputs({"value_dim": 16})
        out, launched = self.launches(lambda: module.sdpa(query, key, value, is_causal=True))
        self.assertEqual((launched, tuple(out.shape)), (1, (BATCH, HEADS, TOKENS, 16)))
        moved = [each.transpose(1, 2).contiguous().transpose(1, 2) for each in (query, key, value)]
        self.assertIn("no kernel for it takes these strides", module.explain(*moved, is_causal=True))
        self.assertEqual(module._new_output(moved[0], moved[2]).stride(), (TOKENS * HEADS * 16, 16, HEADS * 16, 1))

    def test_the_files_own_check_compares_every_kernel(self):
        said = io.StringIO()
        with unittest.mock.patch.multiple(torch, **on_cpu()), contextlib.redirect_stdout(said), \
                unittest.mock.patch.object(self.module, "_microseconds", lambda call, graph: call() is None):
            right, wrong = [], []
            for found in (right, wrong):
                for kernel in self.module._own[:len(CASES)]:
                    self.assertTrue(self.module._is_for_attention(kernel) or "value_dim" in kernel.facts["problem"])
                    found.append(self.module._check_every(kernel, list(self.module._tensors_for(kernel).values())))
                fakes.Route.wrong_by = 0.1
        self.assertEqual(right, [True] * len(CASES), said.getvalue())
        self.assertEqual(wrong, [False] * len(CASES), said.getvalue())

    def exported(self, problem):
        """The file of a kernel that is compiled for the problem."""
        words = [each for name in ("mask", "score") if problem.get(name, "none") != "none" for each in (f"--{name}", problem[name])]
        words += [each for text in problem.get("tensors", ()) for each in ("--tensor", text)] + ["--lse"] * problem.get("lse", False)
        file = pathlib.Path(self.folder.name) / f"expression_{len(words)}.py"
        program.run(["export", "--config", str(CONFIG), "--shape", f"{BATCH},{HEADS},{TOKENS},{models.DIM}", "--arch", "sm_90a",
                     "--unverified", *words, "--to", "torch", "-o", str(file)])
        with fakes.on_the_cpu() as import_for_the_cpu:
            module = import_for_the_cpu(file, load)
        module._service.serve(module._own)
        return module

    def test_launches_have_the_address_of_each_tensor(self):
        module = self.exported(EXPRESSIONS[3][0])
        (kernel,), (query, key, value), seen = module._own, self.inputs({}), []
        left, table = torch.zeros(BATCH, dtype=torch.int32), torch.zeros(HEADS, 47)
        first = (query, key, value, *(each.data_ptr() for each in (query, key, value)))
        with unittest.mock.patch.multiple(torch, **on_cpu()), unittest.mock.patch.multiple(
                kernel, create=True, on=lambda index: [], bound=lambda _, pointers, *rest: seen.append(pointers) or ((), (), ())), \
                unittest.mock.patch.multiple(module, _current_device=lambda: 0, _raw_stream=lambda index: 0):
            module._EveryRoute(kernel, 0, kernel.strides)(query, key, value, None, None, None, None, left, table)
            for route in (module._Route, module._LseRoute):
                route(kernel, 0, kernel.strides)(*first, None, left, table)
        for pointers in seen:
            self.assertEqual([pointers[name] for name in ("q", "k", "v", "bias", "tensor_left", "tensor_table")],
                             [*first[3:], 0, left.data_ptr(), table.data_ptr()])
            self.assertTrue(pointers["out"] and pointers["lse"])
            self.assertLessEqual(set(kernel.facts["stages"][0]["arguments"]), set(pointers))
        self.assertEqual(len(seen), 3)

    def test_the_files_own_check_evaluates_expressions(self):
        for problem, _ in EXPRESSIONS:
            with self.subTest(problem):
                module, said = self.exported(problem), io.StringIO()
                (kernel,), found = module._own, []
                with unittest.mock.patch.multiple(torch, **on_cpu()), contextlib.redirect_stdout(said), \
                        unittest.mock.patch.object(module, "_microseconds", lambda call, graph: call() is None):
                    for fakes.Route.wrong_by in (0.0, 0.1):
                        found.append(module._check_every(kernel, list(module._tensors_for(kernel).values())))
                self.assertEqual(found, [True, False], said.getvalue())


def load(file):
    """Imports an exported file as a program does."""
    spec = importlib.util.spec_from_file_location("sdpa", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_cpu():
    """Functions of torch that make tensors on the CPU, whatever device is asked for."""
    def maker(name):
        made = getattr(torch, name)
        return lambda *given, **how: made(*given, **{**how, "device": "cpu"})

    return {name: maker(name) for name in ("empty_strided", "empty", "rand", "randn", "tensor")}


if __name__ == "__main__":
    unittest.main(buffer=True)
