#!/usr/bin/env python3
"""capture_test.py: Checks which attention calls a step makes and what is kept of each call."""
import contextlib
import importlib
import io
import json
import math
import random
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

import fatune
import torch
import torch.nn.functional as F
from fatune import block_masks, calls, fastpath, masks, options, program, support
from torch.nn.attention.bias import causal_lower_right

import fakes
import models

capture_module = importlib.import_module("fatune.capturing")


def only_call(step, *inputs, **options):
    calls = fatune.capture(step, *inputs, **options).calls
    assert len(calls) == 1, calls
    return calls[0]


def only_problem(step, *inputs, **options):
    suite = fatune.capture(step, *inputs, **options)
    assert len(suite.problems) == 1, suite
    return {key: value for key, value in suite.problems[0].items() if key not in ("name", "source")}


def command(*words):
    return capture_module.main(options.parse("capture", words))


def attend(*inputs, **options):
    return F.scaled_dot_product_attention(*inputs, **options)


class Attention(torch.nn.Module):
    def __init__(self, causal: bool = False):
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


class Outer(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, q, k, v):
        return [layer(q, k, v) for layer in self.layers]


class CaptureTest(unittest.TestCase):
    def test_calls_of_a_model_are_counted_by_place(self):
        model, x = models.model_and_input(layers=3, tokens=16)
        suite = fatune.capture(model, x)
        (call,) = suite.calls
        self.assertEqual(call["counts"], [3, 3])
        self.assertEqual(call["module"], "layers.* (Layer)")
        self.assertRegex(call["site"], r"^models\.py:\d+$")
        self.assertTrue(0 < call["share"] < 1)
        self.assertEqual(suite.document["capture"]["clock"], "wall time on the CPU")
        self.assertEqual([problem["shape"] for problem in suite.problems], ["4,8,16,64"])

    def test_nothing_stays_behind(self):
        before, call = F.scaled_dot_product_attention, torch.nn.Module.__call__
        with self.assertRaises(ZeroDivisionError):
            fatune.capture(lambda: 1 / 0)
        self.assertIs(F.scaled_dot_product_attention, before)
        self.assertIs(models.attention_by_another_name, before)
        self.assertIs(torch.nn.Module.__call__, call)

    def test_a_file_that_is_imported_meanwhile_finds_pytorchs_own(self):
        before, found = F.scaled_dot_product_attention, []
        fatune.capture(lambda: found.append(F.scaled_dot_product_attention._recorded))
        self.assertEqual(found, [before, before])

    def test_a_function_imported_by_name_is_seen(self):
        self.assertEqual(only_call(models.by_another_name, *models.packed())["function"],
                         "scaled_dot_product_attention")

    def test_attention_inside_of_pytorch_is_seen_where_no_gradients_are_wanted(self):
        layer = torch.nn.MultiheadAttention(64, 2, batch_first=True).eval().to(torch.float16)
        x = torch.randn(2, 8, 64).to(torch.float16)
        call = only_call(lambda: layer(x, x, x, need_weights=False))
        self.assertTrue(call["gradients"])
        self.assertIn("gradients are wanted", call["reason"])

    def test_layers_are_seen_that_have_a_fast_path(self):
        layer = torch.nn.TransformerEncoderLayer(64, 2, 64, batch_first=True)
        encoder = torch.nn.TransformerEncoder(layer, 2).eval().half()
        x = torch.randn(2, 8, 64).half()
        with torch.inference_mode():
            call = only_call(encoder, x)
        self.assertEqual((call["module"], call["counts"]),
                         ("layers.*.self_attn (MultiheadAttention)", [2, 2]))
        self.assertIsNotNone(call["problem"])
        with torch.inference_mode():
            padded = only_call(encoder, x, src_key_padding_mask=torch.arange(8) >= torch.tensor([[8], [5]]))
        self.assertEqual((padded["mask"]["kind"], padded["mask"]["bias"]), (masks.PADDING_RIGHT, "2,2,1,8"))
        self.assertIsNotNone(padded["problem"])
        self.assertTrue(fastpath.hides([call]))
        self.assertFalse(fastpath.hides([{**call, "module": "layers.* (Layer)"}, {**call, "problem": None}]))
        self.assertTrue(torch.backends.mha.get_fastpath_enabled())

    def test_the_result_is_that_of_the_step_itself(self):
        q, k, v = models.packed()
        kept = []
        fatune.capture(lambda: kept.append(attend(q, k, v, attn_mask=causal_lower_right(16, 16))))
        self.assertTrue(torch.equal(kept[0], attend(q, k, v, attn_mask=causal_lower_right(16, 16))))

    def test_compiled_steps_show_their_calls(self):
        compiled = torch.compile(attend, backend="eager")
        compiled(*models.packed())
        self.assertEqual(only_call(compiled, *models.packed())["counts"], [1, 1])

    def test_flex_attention_has_the_mask_that_its_mask_mod_says(self):
        from torch.nn.attention import flex_attention as module
        q, k, v = models.packed()
        lengths = torch.tensor([9, 12])
        seen = torch.arange(16) < lengths[:, None]
        told = "install() leaves it as it is: its mask_mod reads a tensor of float64"
        for heads, mask_mod, mask, rule in (
                (1, None, {}, ""), (1, lambda b, h, i, j: i >= j, {"causal": True}, "q >= k"),
                (4, lambda b, h, i, j: (i >= j) & (i - j < 5), {"mask": "causal-window:5"}, "q >= k && q - k < 5"),
                (4, lambda b, h, i, j: (i - j) % (h + 2) == 0, {"mask": "floor_mod(q - k, h + 2) == 0"},
                 "floor_mod(q - k, h + 2) == 0"),
                (1, lambda b, h, i, j: (j <= i) & seen[b, j], {"causal": True, "bias": "2,1,1,16:bool"}, "k <= q"),
                (1, lambda b, h, i, j: j < lengths[b], {"mask": "k < t0[b]", "tensors": ["t0=i32[2]:9,12"]}, "k < t0[b]"),
                (1, lambda b, h, i, j: j < lengths.double()[b], {"bias": "2,1,1,16:bool"}, None)):
            blocks = mask_mod and module.create_block_mask(mask_mod, 2, heads, 16, 16, device="cpu")
            suite = fatune.capture(lambda: module.flex_attention(q, k, v, block_mask=blocks))
            (call,), (problem,) = suite.calls, suite.problems
            self.assertEqual({name: told for name, told in problem.items() if name not in ("name", "source")},
                             {"shape": "2,4,16,32", "layout": "packed", **mask})
            self.assertEqual((call["function"], call["mask"]["form"]), ("flex_attention", "BlockMask" if blocks else "nothing"))
            self.assertEqual((call["mask"]["rule"], told in str(suite)), (rule, rule is None))

    def test_flex_attention_has_the_softcap_bias_and_lse_that_it_asks_for(self):
        from torch.nn.attention import flex_attention as module
        q, k, v = models.packed()
        bias, table = torch.randn(4, 16, 16), torch.randn(4, 31)
        for score_mod, lse, change in (
                (lambda score, b, h, i, j: score + table[h][j - i + 15], False,
                 {"score": "score + t0[h][k - q + 15]", "tensors": ["t0=f32[4][31]"]}),
                (lambda score, b, h, i, j: 20 * torch.tanh(score / 20), False, {"softcap": 20.0}),
                (lambda score, b, h, i, j: score + 0.5 * (j - i), False, {"score": "score + 0.5 * (k - q)"}),
                (None, True, {"lse": True}), (lambda score, b, h, i, j: score, False, {}),
                (lambda score, b, h, i, j: score + bias[h, i, j], False, {"bias": "1,4,16,16:f32"})):
            options = {"return_aux": module.AuxRequest(lse=True)} if lse else {}
            problem = only_problem(lambda: module.flex_attention(q, k, v, score_mod=score_mod, **options))
            self.assertEqual(problem, {"shape": "2,4,16,32", "layout": "packed", **change})

    def test_masks_of_flex_attention_in_other_words_are_one_problem(self):
        from torch.nn.attention import flex_attention as module
        q, k, v = models.packed()
        bias = torch.randn(4, 16, 16)
        blocks = [module.create_block_mask(mask_mod, None, None, 16, 16, device="cpu")
                  for mask_mod in (lambda b, h, i, j: i >= j, lambda b, h, i, j: j <= i)]
        suite = fatune.capture(lambda: [module.flex_attention(
            q, k, v, block_mask=each, score_mod=lambda score, b, h, i, j: score + bias[h, i, j]) for each in blocks])
        self.assertEqual([row["mask"]["rule"] for row in suite.calls].count("q >= k"), 1)
        self.assertEqual([problem.get("causal") for problem in suite.problems], [True])

    def test_tensors_that_flex_attention_reads_are_of_a_problem_whatever_they_hold(self):
        from torch.nn.attention import flex_attention as module
        (q, k, v), steps = models.packed(), []

        def step():
            documents = torch.arange(16) // (len(steps) + 5)
            steps.append(module.create_block_mask(lambda b, h, i, j: documents[i] == documents[j], None, None, 16, 16, device="cpu"))
            return module.flex_attention(q, k, v, block_mask=steps[-1])

        suite = fatune.capture(step)
        (call,), (problem,) = suite.calls, suite.problems
        self.assertEqual((call["counts"], call["tensors"], call["mask"]["kind"]), ([1, 1], ["t0=i32[16]"], "t0[q] == t0[k]"))
        self.assertEqual((problem["mask"], problem["tensors"]), ("t0[q] == t0[k]", ["t0=i32[16]:0*5,1*5,2*5,3"]))
        one = torch.zeros(16, dtype=torch.int32)
        blocks = module.create_block_mask(lambda b, h, i, j: one[i] == one[j], None, None, 16, 16, device="cpu")
        self.assertEqual(only_problem(lambda: module.flex_attention(q, k, v, block_mask=blocks))["mask"], "t0[q] == t0[k]")

    def test_flex_attention_that_was_compiled_alone_is_seen(self):
        from torch.nn.attention import flex_attention as module
        q, k, v = models.packed()
        holder = types.ModuleType("holder_of_flex")
        holder.flex = torch.compile(module.flex_attention, backend="eager")
        with unittest.mock.patch.dict(sys.modules, {holder.__name__: holder}):
            before = holder.flex
            self.assertEqual(only_call(lambda: holder.flex(q, k, v))["counts"], [1, 1])
            self.assertIs(holder.flex, before)

    def test_flex_attention_that_no_problem_says_is_named(self):
        from torch.nn.attention import flex_attention as module
        q, k, v = models.packed()
        lengths = torch.tensor([9, 12])
        ragged = module.create_block_mask(lambda b, h, i, j: j < lengths.double()[b], 2, 1, 16, 16, device="cpu")
        table = torch.randn(16)
        divided = module.create_block_mask(lambda b, h, i, j: i // lengths[b] == 0, 2, 1, 16, 16, device="cpu")
        before = module.create_block_mask(lambda b, h, i, j: i <= j, 1, 1, 16, 16, device="cpu")
        other = module.BlockMask.from_kv_blocks(torch.zeros(1, 1, 1, dtype=torch.int32), torch.zeros(1, 1, 1, 1, dtype=torch.int32),
                                                mask_mod=lambda b, h, i, j: i >= j, seq_lengths=(16, 16))
        one_head = module.create_block_mask(lambda b, h, i, j: (h == 0) | (j < 5), 1, 1, 16, 16, device="cpu", BLOCK_SIZE=8)
        for options, reason in (
                ({"score_mod": lambda score, b, h, i, j: score + i if i > j else score}, "its score_mod branches on its arguments"),
                ({"score_mod": lambda score, b, h, i, j: torch.special.expit(score)}, "its score_mod calls special_expit()"),
                ({"return_aux": module.AuxRequest(max_scores=True)}, "it returns the largest scores, too"),
                ({"block_mask": other}, "the blocks of its BlockMask are not those that its mask_mod says"),
                ({"block_mask": one_head}, "the blocks of its BlockMask are not those that its mask_mod says"),
                ({"block_mask": ragged}, "its mask_mod reads a tensor of float64"),
                ({"score_mod": lambda score, b, h, i, j: score + lengths[i]},
                 "score 'score + t0[q]': index 1 of 't0' is from 0 to 15, but must be from 0 to 1: use min and max"),
                ({"score_mod": lambda score, b, h, i, j: score + table[lengths[b]]},  # which holds for these values
                 "index 1 of 't0' is from -1073741823 to 1073741823, but must be from 0 to 15: use min and max"),
                ({"block_mask": divided}, "may divide by 0"),
                ({"block_mask": before}, "its mask_mod says more than 0 MiB of a mask, so its BlockMask is not checked")):
            size = 255 if options.get("block_mask") in (ragged, before) else block_masks._MOST_OF_A_MASK
            with self.subTest(reason), unittest.mock.patch.object(block_masks, "_MOST_OF_A_MASK", size):
                call = calls.describe("flex_attention", (q, k, v), options, "", "")
                self.assertIn(reason, calls.problem_of(call)[1])

    def test_flash_attn_is_seen_and_not_tuned(self):
        library = types.ModuleType("flash_attn")
        library.flash_attn_func = lambda q, k, v, **options: q
        q, k, v = (part.transpose(1, 2) for part in models.packed())
        for options, kind in (({}, masks.NONE), ({"causal": True}, masks.CAUSAL),
                              ({"window_size": (4, 0)}, "causal-window:5"), ({"window_size": (-1, 3)}, "window:15,3"),
                              ({"window_size": (4, -1), "causal": True}, "causal-window:5"),
                              ({"window_size": (15, 15)}, masks.NONE), ({"window_size": (15, 0)}, masks.CAUSAL),
                              ({"softcap": 30.0}, masks.BIAS)):
            with self.subTest(kind), unittest.mock.patch.dict(sys.modules, flash_attn=library):
                call = only_call(lambda: library.flash_attn_func(q, k, v, **options))
                self.assertEqual((call["query"]["shape"], call["mask"]["kind"]), ([2, 4, 16, 32], kind))
                self.assertIn("it is a call of flash_attn_func", call["reason"])

    def test_calls_that_no_kernel_could_see_are_named_and_the_step_goes_on(self):
        q, k, v = models.packed()
        nested = torch.nested.nested_tensor([torch.randn(n, 2, 16) for n in (5, 7)], layout=torch.jagged)
        unhashable = type("Own", (torch.nn.Module,), {
            "forward": lambda self: attend(q, k, v), "__eq__": lambda self, other: True, "__hash__": None})
        for step, reason in (
                (lambda: torch.vmap(attend)(q[None], k[None], v[None]), "it is inside of torch.func"),
                (lambda: torch.func.grad(lambda q: attend(q, k, v).sum())(q), "it is inside of torch.func"),
                (lambda: attend(*[nested.transpose(1, 2)] * 3), "its tensors are of type NestedTensor"),
                (lambda: torch.jit.trace(attend, (q, k, v)), "PyTorch traces it"),
                (lambda: torch.export.export(Attention(), (q, k, v), strict=False), "PyTorch traces it"),
                (lambda: torch.fx.symbolic_trace(Attention()), "its tensors are of type Proxy"),
                (lambda: attend(q, k, v, scale=math.inf), "its scale is inf"), (lambda: unhashable()(), "")):
            with self.subTest(reason):
                suite = fatune.capture(step)
                self.assertIn(reason, [call["reason"][:len(reason)] for call in suite.calls])
                json.dumps(suite.document, allow_nan=False)

    def test_what_is_compiled_in_the_step_works_and_is_known_as_before(self):
        inputs = models.packed()
        self.assertEqual(fatune.capture(lambda: torch.jit.script(Attention())(*inputs)).calls, [])
        self.assertEqual(fatune.capture(lambda: torch.export.export(Attention(), inputs, strict=True)).calls, [])
        self.assertEqual(only_call(lambda: torch.compile(attend, backend="eager")(*inputs))["counts"], [1, 1])
        torch.compile(attend, backend="eager", fullgraph=True)(*inputs)

    def test_layers_whose_calls_differ_are_numbered(self):
        q, k, v = models.packed()
        model = torch.nn.Sequential(*(Attention(causal) for causal in (True, False, True)))
        suite = fatune.capture(Outer(model), q, k, v)
        self.assertEqual({call["module"] for call in suite.calls},
                         {"layers.0, layers.2 (Attention)", "layers.1 (Attention)"})

    def test_calls_that_differ_between_runs_are_marked_and_tuned(self):
        sizes = iter((16, 24))
        suite = fatune.capture(lambda: attend(*models.packed(tokens=next(sizes))))
        self.assertEqual([(call["differs"], call["counts"]) for call in suite.calls],
                         [(True, [1, 0]), (True, [0, 1])][::1 if suite.calls[0]["counts"] == [1, 0] else -1])
        self.assertEqual(len(suite.problems), 2)


class ProblemTest(unittest.TestCase):
    def test_layouts(self):
        q, k, v = models.packed()
        self.assertEqual(only_problem(attend, q, k, v), {"shape": "2,4,16,32", "layout": "packed"})
        apart = [torch.randn(2, 16, 4, 32).half().transpose(1, 2) for _ in range(3)]
        self.assertEqual(only_problem(attend, *apart)["layout"], "bshd")
        self.assertNotIn("layout", only_problem(attend, *(each.contiguous() for each in apart)))
        cached = [apart[0], *(each.contiguous() for each in apart[1:])]
        self.assertEqual(only_problem(attend, *cached)["layout"], "bshd,k=bhsd,v=bhsd")
        by_token = [torch.randn(16, 2, 4, 32).half().permute(1, 2, 0, 3) for _ in range(3)]
        self.assertEqual(only_problem(attend, *by_token)["layout"],
                         "q=128:32:256,k=128:32:256,v=128:32:256,out=128:32:256")

    def test_the_program_reads_every_layout_that_is_captured(self):
        chance, problems = random.Random(1), []
        for _ in range(300):
            batch, heads, rows, keys, kv = (chance.choice(each) for each in ((1, 2), (1, 4), (1, 16), (1, 7, 16), (1, 4)))
            kv = min(kv, heads)
            whole = torch.empty(batch, 16, heads + 2 * kv, 32).half().transpose(1, 2)
            parts = {True: whole.split([heads, kv, kv], dim=1), False: [self.laid_out(chance, batch, each) for each in
                                                                         (heads, kv, kv)]}
            q, k, v = (parts[chance.random() < 0.7][i] for i in range(3))
            with unittest.mock.patch.object(support, "why_no_kernel", return_value=None):
                entry, reason = calls.problem_of(calls.describe(calls.SERVED, (
                    q[:, :, :rows], k[:, :, :keys], v[:, :, :keys]), {"enable_gqa": True}, "", ""))
            self.assertTrue(entry, reason)
            capture_module._named(entry, problems)
        self.assertGreater(len({each.get("layout") for each in problems}), 30)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "suite.json"
            path.write_text(json.dumps({"schema": "fatune.problems/1", "name": "x", "summary": "x", "problems": problems}))
            with self.assertRaisesRegex(fatune.FatuneError, "^inspect shows one problem"):
                program.run(["inspect", "--suite", str(path), "--kernel", "fa_mma"])

    @staticmethod
    def laid_out(chance, batch, heads):
        order = chance.sample(range(3), 3)
        sizes = [(batch, heads, 16)[i] for i in order]
        return torch.empty(*sizes, 32).half().permute(*(order.index(i) for i in range(3)), 3)

    def test_types_and_autocast(self):
        self.assertEqual(only_problem(attend, *models.packed(dtype=torch.bfloat16))["dtype"], "bf16")
        self.assertIn("float32", only_call(attend, *models.packed(dtype=torch.float32))["reason"])
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(only_problem(attend, *models.packed(dtype=torch.float32))["dtype"], "bf16")

    def test_heads(self):
        q = models.packed()[0]
        two, one = (torch.randn(2, heads, 16, 32).half() for heads in (2, 1))
        self.assertEqual(only_problem(attend, q, two, two, enable_gqa=True)["kv_heads"], 2)
        repeated = two.repeat_interleave(2, dim=1)
        self.assertNotIn("kv_heads", only_problem(attend, q, repeated, repeated))
        expanded = one.expand(2, 4, 16, 32)
        self.assertEqual(only_problem(attend, q, expanded, expanded)["kv_heads"], 1)

    def test_head_dims(self):
        for dim in (8, 72, 112):
            self.assertEqual(only_problem(attend, *models.packed(dim=dim))["shape"], f"2,4,16,{dim}")

    def test_another_head_dim_of_v(self):
        q, k, v = models.packed()
        problem = {"shape": "2,4,16,32", "value_dim": 16}
        self.assertEqual(only_problem(attend, q, k, v[..., :16]),
                         {**problem, "layout": "bshd,q=6144:32:384,k=6144:32:384,v=6144:32:384"})
        plain = [each.contiguous() for each in (q, k, v[..., :16])]
        suite = fatune.capture(attend, *plain)
        self.assertEqual(suite.problems[0].items() & problem.items(), problem.items())
        self.assertIn("-v16", suite.problems[0]["name"])

    def test_scale(self):
        q, k, v = models.packed()
        self.assertNotIn("scale", only_problem(attend, q, k, v, scale=32 ** -0.5))
        self.assertEqual(only_problem(attend, q, k, v, scale=1.0)["scale"], 1.0)
        self.assertEqual(only_problem(attend, q, k, v, scale=torch.tensor(0.5))["scale"], 0.5)

    def test_gradients(self):
        q, k, v = models.packed()
        suite = fatune.capture(attend, q, k, v.requires_grad_())
        self.assertEqual(suite.problems, [])
        self.assertIn("2,4,16,32 f16, with gradients", str(suite))
        self.assertIn("not tuned: gradients are wanted, which no kernel computes; torch.inference_mode()", str(suite))
        with torch.no_grad():
            self.assertEqual(only_problem(attend, q, k, v), {"shape": "2,4,16,32", "layout": "packed"})

    def test_what_is_not_tuned(self):
        q, k, v = models.packed()
        odd = torch.randn(2, 4, 16, 33).half()[..., 1:]
        for reason, inputs, options in (
                ("dropout", (q, k, v), {"dropout_p": 0.1}),
                ("gradients are wanted", (q.clone().requires_grad_(), k, v), {}),
                ("3 dimensions", (q[0], k[0], v[0]), {}),
                ("first queries see no key", (q, k[:, :, :8], v[:, :, :8]), {"attn_mask": causal_lower_right(16, 8)}),
                ("expanded", (q[:1].expand(2, -1, -1, -1), k, v), {}),
                ("no kernel has the head dim 36: fa_mma needs", [q.new_zeros(1, 1, 8, 36)] * 3, {}),
                ("scale must be a number greater than 0, not 0", (q, k, v), {"scale": 0.0}),
                ("k does not begin at a multiple of 16 bytes",
                 [q.new_zeros(513)[at:at + 512].view(1, 1, 16, 32) for at in (0, 1, 0)], {}),
                ("bias 1,1,16,16@0:0:1:0 has keys in one place", (q, k, v), {"attn_mask": torch.rand(16, 1).half()}),
                ("has several elements in one place", (q, k, v), {"attn_mask": torch.rand(16, 16).half().as_strided((16, 16), (8, 1))}),
                ("its mask does not begin at a multiple of 16 bytes", (q, k, v),
                 {"attn_mask": torch.rand(257).half()[1:].view(16, 16)}),
                ("gradients are wanted", (q, k, v), {"attn_mask": torch.rand(16, 16).half().requires_grad_()}),
                ("16 bytes", (odd, odd, odd), {})):
            with self.subTest(reason):
                call = only_call(attend, *inputs, **options)
                self.assertIsNone(call["problem"])
                self.assertIn(reason, call["reason"])

    def test_mask_tensors_as_they_are(self):
        q, k, v = models.packed()
        lower = torch.ones(16, 16, dtype=torch.bool).tril()
        additive = torch.zeros(16, 16).half().masked_fill(~lower, torch.finfo(torch.float16).min)
        for mask in (lower, lower[None, None], additive):
            call = only_call(attend, q, k, v, attn_mask=mask)
            self.assertEqual((call["mask"]["kind"], call["mask"]["form"]), (masks.CAUSAL, "tensor"))
            self.assertIsNotNone(call["problem"])
        self.assertTrue(only_problem(attend, q, k, v, attn_mask=lower)["causal"])
        self.assertNotIn("causal", only_problem(attend, q, k, v, attn_mask=torch.ones_like(lower)))
        call = only_call(attend, q, k, v, attn_mask=lower[3:4].clone())
        self.assertEqual((call["mask"]["kind"], call["mask"]["bias"]), (masks.PADDING_RIGHT, "1,1,1,16:bool"))

    def test_a_mask_of_no_kind_is_a_bias(self):
        q, k, v = models.packed()
        padded, rand = torch.arange(16) < torch.tensor([9, 12])[:, None, None, None], torch.rand
        for mask, bias in (
                (padded, "2,1,1,16:bool"), (padded.expand(2, 4, 16, 16), "2,1,1,16:bool"),
                (padded & torch.ones(16, 16, dtype=torch.bool).tril(), "2,1,16,16:bool"),
                (rand(16, 16).half(), "1,1,16,16"), (rand(4, 16, 16).half(), "1,4,16,16"), (rand(2, 1, 1, 16), "2,1,1,16:f32"),
                (rand(1, 16, 16, 4).half().permute(0, 3, 1, 2), "1,4,16,16@0:1:64:4"),  # T5's
                (rand(2, 1, 16, 32).half()[..., :16], "2,1,16,16@512:0:32:1")):
            with self.subTest(bias):
                problem = only_problem(attend, q, k, v, attn_mask=mask)
                self.assertEqual(problem, {"shape": "2,4,16,32", "layout": "packed", "bias": bias})
        suite = fatune.capture(attend, q, k, v, attn_mask=padded)
        self.assertEqual(suite.problems[0]["name"], "2-4-16-32-bias-2-1-1-16-bool-packed")
        with torch.autocast("cpu", torch.bfloat16):
            wide = [each.float() for each in (q, k, v)]
            self.assertEqual(only_problem(attend, *wide, attn_mask=rand(16, 16))["bias"], "1,1,16,16:f32")
            self.assertEqual(only_problem(attend, *wide, attn_mask=rand(16, 16).bfloat16())["bias"], "1,1,16,16")
            self.assertIn("its mask is of float16; kernels", only_call(attend, *wide, attn_mask=rand(16, 16).half())["reason"])
        with torch.no_grad():
            self.assertIn("bias", only_problem(attend, q, k, v, attn_mask=rand(16, 16).half().requires_grad_()))

    def test_masks_of_problems_have_their_numbers(self):
        q, k, v = models.packed()
        short = q[:, :, :8].contiguous()
        for mask in ("causal-window:5", "window:4,3", "prefix:6"):
            suite = fatune.capture(attend, q, k, v, attn_mask=fakes.seen_by(mask, 16, 16))
            self.assertEqual(suite.problems[0]["mask"], mask)
            self.assertEqual(suite.calls[0]["mask"]["kind"], mask)
        self.assertEqual(suite.problems[0]["name"], "2-4-16-32-prefix-6-packed")
        self.assertEqual(only_problem(attend, short, k, v, is_causal=True)["mask"], masks.UPPER_LEFT)
        self.assertTrue(only_problem(attend, short, k, v, attn_mask=fakes.seen_by("causal", 8, 16))["causal"])
        suite = fatune.capture(attend, q, k[:, :, :8], v[:, :, :8], attn_mask=fakes.seen_by("window:3,7", 16, 8))
        self.assertIn("first queries see no key", suite.calls[0]["reason"])

    def test_nothing_of_the_data_is_kept(self):
        q, k, v = models.packed()
        text = fatune.capture(attend, q.fill_(0.123456), k, v).text()
        self.assertNotIn("0.123", text)


class MaskTest(unittest.TestCase):
    def kind(self, mask):
        return masks.kind_of(mask, *mask.shape[-2:])

    def test_kinds(self):
        rows, columns = torch.arange(6)[:, None], torch.arange(6)[None, :]
        lengths = torch.tensor([2, 6, 3])[:, None, None, None]
        self.assertEqual(self.kind(torch.ones(6, 6, dtype=torch.bool)), masks.NONE)
        self.assertEqual(self.kind(columns <= rows), masks.CAUSAL)
        self.assertEqual(self.kind((columns <= rows)[:4]), masks.UPPER_LEFT)
        self.assertEqual(self.kind((columns <= rows)[2:]), masks.CAUSAL)
        self.assertEqual(masks.kind_of((columns < lengths), 6, 6), masks.PADDING_RIGHT)
        self.assertEqual(masks.kind_of((columns >= lengths), 6, 6), masks.PADDING_LEFT)
        self.assertEqual(masks.kind_of((columns < lengths).expand(3, 1, 6, 6), 6, 6), masks.PADDING_RIGHT)
        self.assertEqual(masks.kind_of((columns < lengths) & (columns <= rows), 6, 6), "causal_padding_right")
        self.assertEqual(self.kind((columns <= rows) & (columns > rows - 3)), "causal-window:3")
        self.assertEqual(self.kind((columns - rows).abs() < 2), "window:1,1")
        self.assertEqual(self.kind(columns < rows), masks.OTHER)
        self.assertEqual(self.kind((columns + rows) % 2 == 0), masks.OTHER)
        self.assertEqual(self.kind(torch.rand(6, 6)), masks.BIAS)
        self.assertEqual(self.kind(torch.zeros(6, 6)), masks.NONE)

    def test_every_mask_of_a_problem_is_found_as_what_it_is_and_no_other(self):
        names = [f"window:{before},{after}" for before in range(8) for after in range(8)]
        names += [f"{kind}:{number}" for kind in ("causal-window", "prefix") for number in range(1, 9)]
        for lengths in ((1, 1), (1, 6), (4, 6), (6, 6), (6, 4), (6, 1)):
            found = {}
            for name in (masks.NONE, masks.CAUSAL, masks.UPPER_LEFT, *names):
                mask = fakes.seen_by(name, *lengths).expand(lengths)
                kind = masks.kind_of(mask, *lengths)
                if not mask.any():
                    continue
                self.assertTrue(torch.equal(fakes.seen_by(kind, *lengths).expand(lengths), mask), (name, kind, lengths))
                self.assertEqual(masks.hides_all_of_a_row(kind, *lengths), not mask.any(-1).all(), (name, lengths))
                numbers = tuple(map(int, name[7:].split(","))) if name.startswith("window") else None
                self.assertEqual(masks.window(*numbers, *lengths) if numbers and kind != masks.UPPER_LEFT else kind, kind)
                self.assertEqual(found.setdefault(kind, mask).tolist(), mask.tolist())
            self.assertEqual(len({str(mask.tolist()) for mask in found.values()}), len(found))  # one name each

    def test_a_mask_is_found_in_every_form(self):
        window = fakes.seen_by("causal-window:3", 6, 6)
        batch = window.expand(3, 1, 6, 6)
        for mask in (window, window[None, None], batch, batch.contiguous(), window.expand(3, 8, 6, 6),
                     torch.zeros(6, 6).masked_fill(~window, -math.inf),
                     torch.zeros(3, 1, 6, 6).half().masked_fill(~window, torch.finfo(torch.float16).min)):
            self.assertEqual(self.kind(mask), "causal-window:3")
        self.assertEqual(masks.kind_of(window[-1:], 1, 6), "causal-window:3")  # one query beside a cache
        for at in range(3):
            varied = batch.clone()
            varied[at] = fakes.seen_by("causal-window:4", 6, 6)
            self.assertEqual(self.kind(varied), masks.OTHER)
        self.assertEqual(masks.kind_of(window[:5], 6, 6), masks.OTHER)

    def test_one_wrong_element_makes_another_kind(self):
        for name in (masks.CAUSAL, "causal-window:6", "window:4,2", "prefix:5"):
            for place in ((0, 0), (5, 9), (15, 15)):
                changed = fakes.seen_by(name, 16, 16)
                changed[place] = ~changed[place]
                self.assertFalse(masks.is_of_problems(self.kind(changed)))


class CommandTest(unittest.TestCase):
    def run_script(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            script, out = pathlib.Path(folder) / "script.py", pathlib.Path(folder) / "suite.json"
            script.write_text(text, encoding="utf-8")
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = command("-o", str(out), str(script), *arguments)
            return code, json.loads(out.read_text(encoding="utf-8")), said.getvalue()

    def test_a_script_with_arguments(self):
        code, suite, said = self.run_script(
            "import sys, models, torch\n"
            "assert __name__ == '__main__' and sys.argv[1:] == ['--layers', '2']\n"
            "model, x = models.model_and_input(layers=int(sys.argv[2]), tokens=16)\n"
            "for _ in range(3): model(x)\n", "--layers", "2")
        self.assertEqual(code, 0)
        self.assertEqual(suite["schema"], "fatune.problems/1")
        self.assertEqual((suite["capture"]["steps"], suite["capture"]["calls"][0]["counts"]), (3, [6]))
        self.assertIn("6 x  4,8,16,64 f16", said)

    def test_json_is_alone_on_stdout(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "script.py"
            script.write_text("print('hello')\nimport models\nmodel, x = models.model_and_input(1, 16)\nmodel(x)\n",
                              encoding="utf-8")
            said, errors = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
                command("-o", f"{folder}/suite.json", "--json", str(script))
        self.assertEqual(json.loads(said.getvalue())["name"], "script")
        self.assertEqual(errors.getvalue(), "hello\n")

    def test_options_behind_the_script_are_warned_of(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.run_script("", "--json", "--own=1")
        self.assertRegex(errors.getvalue(), "^fatune: warning: --json stands behind [^\\n]*\n$")

    def test_what_cannot_be_called_is_refused_in_words(self):
        for step, options_ in ((torch.ones(1), {}), (None, {"graph": True})):
            with self.assertRaisesRegex(fatune.FatuneError, "cannot be called") as caught:
                fatune.capture(step, **options_)
            self.assertEqual(caught.exception.exit_code, 2)

    def test_a_script_without_attention_is_an_answer(self):
        code, suite, said = self.run_script("print('hello')\n")
        self.assertEqual((code, suite["problems"]), (1, []))
        self.assertIn("no call of attention was seen", said)

    def test_a_failing_script_is_told_with_its_own_traceback(self):
        with self.assertRaises(fatune.FatuneError) as caught:
            self.run_script("def step():\n    raise KeyError('lost')\nstep()\n")
        self.assertEqual(caught.exception.exit_code, 1)
        self.assertIn("KeyError: 'lost'", str(caught.exception))
        self.assertIn("script.py\", line 2, in step", str(caught.exception))
        self.assertNotIn("runpy", str(caught.exception))

    def test_a_step_is_for_graphs(self):
        with self.assertRaises(SystemExit) as caught, contextlib.redirect_stderr(io.StringIO()):
            command("--step", "run", "script.py")
        self.assertEqual(caught.exception.code, 2)

    def test_there_is_no_such_script(self):
        with self.assertRaises(fatune.FatuneError) as caught:
            command("/nowhere/script.py")
        self.assertEqual(caught.exception.exit_code, 4)


if __name__ == "__main__":
    sys.exit(unittest.main())
