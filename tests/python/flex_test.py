#!/usr/bin/env python3
"""flex_test.py: Translates mask_mods and score_mods, and serves calls of flex_attention by kernels that are CPU functions."""
import contextlib
import gc
import itertools
import json
import math
import pathlib
import re
import sys
import tempfile
import types
import unittest
import unittest.mock
import weakref

import fatune
import torch
import torch.nn.functional as F
from fatune import (block_masks, documents, exact, flex_compiled, flex_rules, flex_serving, installing, masks,
                    named_tensors, program)
from fatune.flex_rules import Refused, rule_of
from torch.nn.attention import flex_attention as module

import fakes
import models

GLOBAL_WINDOW = 3
BIAS, SLOPES, LENGTHS, DOCUMENTS = torch.randn(2, 3, 5, 6), torch.rand(3), torch.tensor([2, 4, 3, 1]), torch.arange(6)
PADDED = torch.arange(6) < LENGTHS[:2, None]
SPARSE = PADDED.to_sparse()


def nested(window):
    return module.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < window)


def rounded_down(a, b):
    return math.floor(a / b)


def value_of(text, names):
    """Computes an expression of C with Python's numbers."""
    for c, python in (("&&", " and "), ("||", " or "), ("!=", "<>"), ("!", " not "), ("<>", "!=")):
        text = text.replace(c, python)
    text = re.sub(r"\(([^()?]*) \? ([^()?:]*) : ([^()?:]*)\)", r"((\2) if (\1) else (\3))", text)
    text = re.sub(r"^(.*) \? (.*) : (.*)$", r"(\2) if (\1) else (\3)", text)
    whole = {name: getattr(math, name) for name in ("exp", "log", "tanh", "sqrt", "exp2")}
    return eval(text, {**whole, "floor_div": rounded_down, "floor_mod": lambda a, b: a % b, "INFINITY": math.inf, **names})


MASKS = {
    "q >= k": lambda b, h, q, k: q >= k,
    "k <= q": lambda b, h, q, k: k <= q,
    "q - k < 3": lambda b, h, q, k: q - k < GLOBAL_WINDOW,
    "q >= k && q - k < 4": nested(4),
    "q >= k || k < 2": module.or_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: k < 2),
    "abs(q - k) < 1 << h": lambda b, h, q, k: (q - k).abs() < (1 << h),
    "q / 2 == k / 2": lambda b, h, q, k: q // 2 == k // 2,
    "floor_mod(q - k, 4) == 0 || q < 4": lambda b, h, q, k: ((q - k) % 4 == 0) | (q < 4),
    "floor_div(q - k, 2) < h": lambda b, h, q, k: torch.div(q - k, 2, rounding_mode="floor") < h,
    "!(q < k) && !(h == 0 && k < 4)": lambda b, h, q, k: ~(q < k) & torch.logical_not(torch.logical_and(h == 0, k < 4)),
    "h < 1 ? q >= k : q <= k": lambda b, h, q, k: torch.where(h < 1, q >= k, q <= k),
    "(q >= k) != (b == 0)": lambda b, h, q, k: (q >= k) ^ (b == 0),
    "7 - q > k": lambda b, h, q, k: 7 - q > k,
    "7 - (q - k) > 5": lambda b, h, q, k: torch.tensor(7) - (q - k) > 5,
    "max(min(q, k), 2) == 2": lambda b, h, q, k: torch.clamp(torch.minimum(q, k), min=2) == 2,
    "(q & 1) == 0": lambda b, h, q, k: (q & 1) == 0,
    "-q < -2": lambda b, h, q, k: -q < -2,
    "q + k != 3": lambda b, h, q, k: torch.ne(q + 0 + k, 3) & (q >= 0) & torch.full((), True, device=q.device),
    "q * (k < 3 ? 1 : 0) > 2": lambda b, h, q, k: q * (k < 3) > 2,
    "(q < 2 || k < 3 ? 1 : 0) == 1": lambda b, h, q, k: (q < 2) + (k < 3) == 1,
    "q > 2 && k < 3": lambda b, h, q, k: (q > 2) * (k < 3),
    "": lambda b, h, q, k: q.new_ones((), dtype=torch.bool) & (q >= 0),
}
SCORES = {
    ("", 20.0): lambda s, b, h, q, k: 20 * torch.tanh(s / 20),
    ("score * 2", 30.0): lambda s, b, h, q, k: torch.tanh(s / 30.0) * 30.0 * 2,
    ("20 * tanh(score / 10)", None): lambda s, b, h, q, k: 20 * torch.tanh(s / 10),
    ("score + 20.0 * tanh(score / 20.0)", None): lambda s, b, h, q, k: s + 20. * torch.tanh(s / 20.),
    ("score + (k - q) * 0.25", None): lambda s, b, h, q, k: s + (k - q) * 0.25,
    ("score + exp2(-((h + 1) * 8.0 / 4)) * (k - q)", None):
        lambda s, b, h, q, k: s + torch.exp2(-((h + 1) * 8.0 / 4)) * (k - q),
    ("q >= k ? score : -INFINITY", None): lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")),
    ("abs(q - k) < 2 ? score : score * 0.5", None): lambda s, b, h, q, k: torch.where(abs(q - k) < 2, s, s * 0.5),
    ("score * log(float(q + 1))", None): lambda s, b, h, q, k: s * torch.log((q + 1).float()),
    ("score - float(q) / 3", None): lambda s, b, h, q, k: s - q / 3,
    ("", None): lambda s, b, h, q, k: s.to(torch.float32),
}
REFUSED = {
    "its mask_mod branches on its arguments": (lambda b, h, q, k: q if q > k else k, None),
    "its mask_mod computes with fractions, and a mask has integers only": (lambda b, h, q, k: k < q * 0.5, None),
    "its mask_mod returns a number": (lambda b, h, q, k: q & 1, None),
    "its mask_mod hides every key": (lambda b, h, q, k: False, None),
    "its mask_mod calls tril()": (lambda b, h, q, k: torch.tril(q), None),
    "its mask_mod uses .data_ptr": (lambda b, h, q, k: q.data_ptr(), None),
    "its mask_mod needs a number of Python where it has an argument": (lambda b, h, q, k: [True][q], None),
    "its mask_mod divides by zero": (lambda b, h, q, k: q // 0 == k, None),
    "its mask_mod uses 4294967296, which has more than 32 bits": (lambda b, h, q, k: q < 1 << 32, None),
    "its mask_mod does not run on symbols: no": (unittest.mock.Mock(side_effect=ValueError("no\nmore")), None),
    "its score_mod adds a tensor and its mask_mod hides keys by one": (
        lambda b, h, q, k: PADDED[b, k], lambda s, b, h, q, k: s + BIAS[b, h, q, k]),
    "its mask_mod reads a tensor of float64, and kernels read bool, int32": (
        lambda b, h, q, k: k < LENGTHS.double()[b], None),
    "its mask_mod takes an element in another form than tensor[b, h, q, k]": (lambda b, h, q, k: SPARSE[b, k], None),
    "its mask_mod takes a row of a tensor": (lambda b, h, q, k: BIAS[b] > 0, None),
    "its mask_mod reads a tensor of uint8, and kernels": (lambda b, h, q, k: COUNTS.byte()[q] - 1 > k, None),
    "its score_mod reads a tensor of (2, 3, 5, 6)[b, h, q, k], and expressions read tensors of up to 3 dimensions": (
        None, lambda s, b, h, q, k: s * BIAS[b, h, q, k]),
    "its score_mod reads a tensor of (2, 3, 5, 6)[b, h, q, q], and expressions": (
        None, lambda s, b, h, q, k: s + BIAS[b, h, q, q]),
    "its score_mod reads a tensor of (2, 3, 5, 6)[b, 3, q, k], and has 3 elements there": (
        None, lambda s, b, h, q, k: s + BIAS[b, 3, q, k]),
    "its score_mod returns a bool": (None, lambda s, b, h, q, k: q >= k),
}
TABLE, COUNTS, LEFT = torch.randn(3, 11), torch.tensor([3, 0, 2, 5, 1, 4], dtype=torch.int32), LENGTHS[:2]
NAMED = {  # mask_mods and score_mods that read tensors, by their texts; with the tensors
    ("t0[q] == t0[k]", ""): ((lambda b, h, q, k: DOCUMENTS[q] == DOCUMENTS[k], None), ("i32[6]", DOCUMENTS)),
    ("q >= k && t0[q] == t0[k]", ""): (
        (module.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: COUNTS[q] == COUNTS[k]), None), ("i32[6]", COUNTS)),
    ("k < t0[b]", ""): ((lambda b, h, q, k: k < LEFT[b], None), ("i32[2]", LEFT)),
    ("k < t0[b] || t1[q] != t1[k]", ""): ((lambda b, h, q, k: (k < LEFT[b]) | (COUNTS[q] != COUNTS[k]), None),
                                          ("i32[2]", LEFT), ("i32[6]", COUNTS)),
    ("!t0[b][q] || k < 2", ""): ((lambda b, h, q, k: ~PADDED[b, q] | (k < 2), None), ("i32[2][6]", PADDED)),
    ("t0[max(min(t0[q], 5), 0)] > k", ""): (
        (lambda b, h, q, k: COUNTS[torch.clamp(torch.clamp(COUNTS[q], max=5), min=0)] > k, None), ("i32[6]", COUNTS)),
    ("", "score + t0[h] * (k - q)"): ((None, lambda s, b, h, q, k: s + SLOPES[h] * (k - q)), ("f32[3]", SLOPES)),
    ("", "score + t0[h]"): ((None, lambda s, b, h, q, k: s + SLOPES[h]), ("f32[3]", SLOPES)),
    ("", "score + t0[h][k - q + 4]"): ((None, lambda s, b, h, q, k: s + TABLE[h, k - q + 4]), ("f32[3][11]", TABLE)),
    ("", "score + t0[k] + (score + t1[k])"): (
        (None, lambda s, b, h, q, k: (s + TABLE[0][k]) + (s + TABLE[1][k])), ("f32[11]", TABLE[0]), ("f32[11]", TABLE[1])),
    ("t0[q] == t0[k]", "score * t1[h][0]"): (
        (lambda b, h, q, k: DOCUMENTS[q] == DOCUMENTS[k], lambda s, b, h, q, k: s * TABLE[h, 0]),
        ("i32[6]", DOCUMENTS), ("f32[3][11]", TABLE)),
}
SIZES = (2, 3, 5, 6)


class TranslateTest(unittest.TestCase):
    """Texts are compared, and the values of each with those of the function itself."""

    def test_mask_mods(self):
        for text, mask_mod in MASKS.items():
            with self.subTest(text):
                self.assertEqual(rule_of(mask_mod, None, 5, 6), flex_rules.Rule(text))
                dense = module.create_mask(mask_mod, *SIZES, device="cpu")
                for b, h, q, k in itertools.product(*map(range, SIZES)):
                    self.assertEqual(bool(value_of(text.replace("/", "//") or "True", {"b": b, "h": h, "q": q, "k": k})),
                                     bool(dense[b, h, q, k]), (b, h, q, k))

    def test_score_mods(self):
        for (text, softcap), score_mod in SCORES.items():
            with self.subTest(text, softcap=softcap):
                rule = rule_of(None, score_mod, 5, 6)
                self.assertEqual(rule, flex_rules.Rule("", text, softcap))
                for place in itertools.product(*map(range, SIZES)):
                    score = capped = 0.1 + place[2] - place[3] * 0.7
                    if softcap:
                        capped = softcap * math.tanh(score / softcap)
                    names = {**dict(zip("bhqk", place)), "score": capped, "float": float}
                    expected = float(score_mod(torch.tensor(score), *map(torch.tensor, place)))
                    self.assertAlmostEqual(value_of(text or "score", names), expected, 4, place)

    def test_the_program_takes_each_text(self):
        problems = [{"mask": text} for text in MASKS if text]
        problems += [{"score": text} for text, _ in SCORES if text]
        problems += [{**{name: text for name, text in zip(("mask", "score"), texts) if text}, "tensors": [
            f"t{i}={form}" + (f":1*{tensor.numel()}" if "i32" in form else "") for i, (form, tensor) in enumerate(tensors)]}
            for texts, (_, *tensors) in NAMED.items()]
        problems += [{"mask": "q >= k && q - k < 4", "score": "score * 2", "softcap": 30.0}]
        with tempfile.TemporaryDirectory() as folder:
            for problem in problems:
                with self.subTest(problem):
                    entry = {"name": "asked", "shape": "2,3,5,64" if "tensors" in problem else "2,8,32,64",
                             **({"seq_kv": 6} if "tensors" in problem else {}), **problem}
                    path = documents.write_text(pathlib.Path(folder) / "suite.json", json.dumps(
                        {"schema": "fatune.problems/1", "name": "asked", "summary": "asked", "problems": [entry]}))
                    answer = program.run(["inspect", "--suite", str(path), "--kernel", "naive"], accept=(0, 1))
                    self.assertTrue(answer["supported"], answer)
        self.assertEqual(answer["problem"]["mask"], "causal-window:4")  # of the last one

    def test_tensors_have_names_in_the_order_of_their_first_use(self):
        for (mask, score), ((mask_mod, score_mod), *tensors) in NAMED.items():
            with self.subTest(mask=mask, score=score):
                rule = rule_of(mask_mod, score_mod, 5, 6)
                self.assertEqual((rule.mask, rule.score, rule.bias), (mask, score, None))
                self.assertEqual([each.form for each in rule.tensors], [f"t{i}={form}" for i, (form, _) in enumerate(tensors)])
                for each, (_, tensor) in zip(rule.tensors, tensors):
                    self.assertTrue(torch.equal(each.tensor, tensor))
                named = {each.form.partition("=")[0]: each.tensor for each in rule.tensors}
                for place in itertools.product(*map(range, SIZES)):
                    names, given = {**named, **dict(zip("bhqk", place)), "score": 0.7}, list(map(torch.tensor, place))
                    if mask:
                        self.assertEqual(bool(value_of(mask, names)), bool(mask_mod(*given)), place)
                    if score:
                        self.assertAlmostEqual(float(value_of(score, names)), float(score_mod(torch.tensor(0.7), *given)), 5)

    def test_a_text_with_tensors_is_made_once_whatever_they_hold(self):
        def of_documents(documents):
            return lambda b, h, q, k: documents[q] == documents[k]

        flex_rules._memories["mask_mod"].forms.clear()
        with unittest.mock.patch.object(flex_rules, "_mask_rule", wraps=flex_rules._mask_rule) as traced:
            documents = torch.arange(6)
            mask_mod = of_documents(documents)
            first = rule_of(mask_mod, None, 5, 6)
            self.assertIs(rule_of(mask_mod, None, 5, 6), first)
            documents.fill_(3)
            self.assertIsNot(rule_of(mask_mod, None, 5, 6), first)
            other = torch.zeros(6, dtype=torch.int64)
            self.assertIs(rule_of(of_documents(other), None, 5, 6).tensors[0].tensor, other)
            self.assertEqual(traced.call_count, 1)
            self.assertEqual(rule_of(of_documents(torch.zeros(7).int()), None, 5, 6).tensors[0].form, "t0=i32[7]")

    def test_kernels_read_copies_that_are_made_once_for_each_version(self):
        cpu = torch.device("cpu")
        for tensor in (torch.zeros(6).int(), torch.zeros(2, 3)):
            self.assertIs(named_tensors.ready(tensor, cpu), tensor)
        for tensor, dtype in ((torch.arange(6), torch.int32), (torch.arange(6).int()[::2], torch.int32), (PADDED, torch.int32),
                              (torch.arange(4).half(), torch.float32), (torch.randn(3, 2).T, torch.float32)):
            copy = named_tensors.ready(tensor, cpu)
            self.assertEqual((copy.dtype, copy.is_contiguous()), (dtype, True))
            self.assertTrue(torch.equal(copy.double(), tensor.double()))
            self.assertIs(named_tensors.ready(tensor, cpu), copy)
        tensor[0] = 7
        self.assertEqual(named_tensors.ready(tensor, cpu)[0, 0], 7)
        with torch.inference_mode():  # which hides that a tensor was written to
            tensor = torch.arange(6)
            named_tensors.ready(tensor, cpu)
            tensor[0] = 7
            self.assertEqual(named_tensors.ready(tensor, cpu)[0], 7)
        with unittest.mock.patch.object(masks, "is_being_captured", return_value=True):
            tensor = torch.tensor([1 << 40, -1 << 40, 5])
            copies = [named_tensors.ready(tensor, cpu) for _ in range(2)]
            self.assertEqual([copy.tolist() for copy in copies], [[(1 << 30) - 1, 1 - (1 << 30), 5]] * 2)
            self.assertIsNot(*copies)
        for wrong, why in ((torch.tensor([1 << 30]), "reads numbers beyond 1073741823"), (torch.tensor([-1 << 63]), "reads numbers beyond"), (tensor.to("meta"), "a tensor on meta, and q is on cpu")):
            with self.assertRaisesRegex(Refused, why):
                named_tensors.ready(wrong, cpu)

    def test_values_for_tuning_are_runs(self):
        for tensor, text in ((torch.tensor([[0, 0], [0, 5]]), "t=i32[2][2]:0*3,5"), (PADDED[1], "t=i32[6]:1*4,0*2"),
                             (torch.tensor([1 << 40, -1]), "t=i32[2]:1073741823,-1"), (SLOPES, "t=f32[3]")):
            form = named_tensors.read(0, tensor).form.replace("t0", "t")
            self.assertEqual(named_tensors.with_values(form, tensor), text)
        said = named_tensors.with_values("t=i32[10000]", torch.arange(10000))
        self.assertTrue(said.startswith("t=i32[10000]:0*3,3*3,6*3,"), said[:40])
        self.assertTrue(said.endswith(",9996*3,9999"), said[-40:])

    def test_what_has_no_text_is_named(self):
        for why, mods in REFUSED.items():
            with self.subTest(why), self.assertRaises(Refused) as caught:
                rule_of(*mods, 5, 6)
            self.assertIn(why, str(caught.exception))

    def test_a_bias_is_seen_as_batch_heads_queries_keys(self):
        swapped = BIAS.permute(3, 1, 0, 2)
        for shape, score_mod, expected in (
                ((2, 3, 5, 6), lambda s, b, h, q, k: s + BIAS[b, h, q, k], BIAS),
                ((1, 1, 5, 6), lambda s, b, h, q, k: BIAS[1, 2, q, k] + s, BIAS[1:, 2:]),
                ((2, 1, 5, 6), lambda s, b, h, q, k: s + BIAS[b][0][q][k], BIAS[:, :1]),
                ((1, 3, 1, 6), lambda s, b, h, q, k: s + BIAS[0, h, 0, k], BIAS[:1, :, :1]),
                ((2, 3, 5, 6), lambda s, b, h, q, k: s + swapped[k, h, b, q], BIAS)):
            rule = rule_of(None, score_mod, 5, 6)
            self.assertEqual((tuple(rule.bias.shape), rule.score, rule.softcap), (shape, "", None))
            self.assertTrue(torch.equal(rule.bias, expected))
        longer = torch.randn(9, 9)
        capped = rule_of(None, lambda s, b, h, q, k: 5 * torch.tanh(s / 5) + longer[q, k], 5, 6)
        self.assertEqual((tuple(capped.bias.shape), capped.softcap), ((1, 1, 5, 6), 5.0))

    def test_a_bool_tensor_among_the_conditions_of_a_mask_is_a_bias(self):
        for mask_mod, text in ((lambda b, h, q, k: PADDED[b, k], ""), (lambda b, h, q, k: (q >= k) & PADDED[b, k], "q >= k"),
                               (module.and_masks(lambda b, h, q, k: PADDED[b, k], nested(4)), "q >= k && q - k < 4")):
            rule = rule_of(mask_mod, None, 5, 6)
            self.assertEqual((rule.mask, tuple(rule.bias.shape), rule.held == (PADDED,)), (text, (2, 1, 1, 6), True))
            self.assertTrue(torch.equal(rule.bias[:, 0, 0], PADDED))

    def test_a_function_is_called_again_when_what_it_holds_changes(self):
        global GLOBAL_WINDOW
        calls, window = [], 4

        def set_window(value):
            nonlocal window
            window = value

        def mask_mod(b, h, q, k):
            calls.append(None)
            return q - k < window

        del mask_mod  # a list is an object that may change, so this one would be called each time
        seen = unittest.mock.Mock(side_effect=flex_rules._mask_rule)
        with unittest.mock.patch.object(flex_rules, "_mask_rule", seen):
            texts = []
            for window in (4, 4, 5, True, 1.0):
                with contextlib.suppress(Refused):
                    texts.append(rule_of(lambda b, h, q, k: q - k < window, None, 5, 6).mask)
            self.assertEqual((texts, seen.call_count), (["q - k < 4", "q - k < 4", "q - k < 5", "q - k < 1"], 4))
            for GLOBAL_WINDOW in (7, 7, 8):
                texts.append(rule_of(MASKS["q - k < 3"], None, 5, 6).mask)
            GLOBAL_WINDOW = 3
            self.assertEqual((texts[-3:], seen.call_count), (["q - k < 7", "q - k < 7", "q - k < 8"], 6))
            window, inner = 4, lambda b, h, q, k: q - k < window
            number, holder, window_of = torch.tensor(4), types.SimpleNamespace(window=2), [4]
            for mask_mod, change in ((lambda b, h, q, k: q - k < number, lambda: number.fill_(6)),
                                     (lambda b, h, q, k: inner(b, h, q, k), lambda: set_window(9)),
                                     (lambda b, h, q, k: q - k < holder.window, lambda: setattr(holder, "window", 3)),
                                     (lambda b, h, q, k, get=window_of.__getitem__: q - k < get(0), lambda: window_of.insert(0, 9)),
                                     (lambda b, h, q, k, window=[4]: q - k < window[0],
                                      lambda: mask_mod.__defaults__[0].append(mask_mod.__defaults__[0].pop() + 1))):
                before = rule_of(mask_mod, None, 5, 6).mask
                change()
                self.assertNotEqual(rule_of(mask_mod, None, 5, 6).mask, before)
            seen.reset_mock()
            held = torch.zeros(6, 6)
            score_mod, texts = lambda s, b, h, q, k: s + held[q, k], []
            with unittest.mock.patch.object(flex_rules, "_score_rule", wraps=flex_rules._score_rule) as scored:
                for change, calls in ((None, 1), (None, 1), (held.fill_, 1), (None, 1)):  # its values are not used
                    if change:
                        change(1.0)
                    self.assertTrue(torch.equal(rule_of(None, score_mod, 5, 6).bias[0, 0], held[:5]))
                    self.assertEqual(scored.call_count, calls)
                held = torch.ones(5, 6)
                self.assertEqual(rule_of(None, score_mod, 5, 6).bias.data_ptr(), held.data_ptr())
                held = torch.ones(5, 6).requires_grad_()
                self.assertTrue(rule_of(None, score_mod, 5, 6).bias.requires_grad)
        for _ in range(2):
            with self.assertRaisesRegex(Refused, "returns a number"):
                rule_of(lambda b, h, q, k: q & 1, None, 5, 6)

    def test_a_rule_is_the_same_object_until_something_changes(self):
        def padded(tensor, window=4):
            return module.and_masks(lambda b, h, q, k: q - k < window, lambda b, h, q, k: tensor[b, k])

        for inference in (False, True):
            with torch.inference_mode(inference), self.subTest(inference=inference), unittest.mock.patch.object(
                    flex_rules, "_mask_rule", wraps=flex_rules._mask_rule) as traced:
                flex_rules._memories["mask_mod"].forms.clear()
                tensor = PADDED.clone()
                mask_mod = padded(tensor)
                first = rule_of(mask_mod, None, 5, 6)
                self.assertIs(rule_of(mask_mod, None, 5, 6), first)
                self.assertEqual(rule_of(mask_mod, None, 5, 3).bias.shape, (2, 1, 1, 3))
                other = rule_of(padded(PADDED.clone()), None, 5, 6)  # as transformers has it in each step
                self.assertEqual((other.mask, other.bias.shape, traced.call_count), (first.mask, first.bias.shape, 1))
                self.assertNotEqual(other.bias.data_ptr(), first.bias.data_ptr())
                last = rule_of(mask_mod, None, 5, 6)
                if not inference:  # such tensors do not tell that they were written to
                    tensor[0, 0] = False
                    self.assertIsNot(rule_of(mask_mod, None, 5, 6), last)
                tensor.set_(torch.ones(2, 6, dtype=torch.bool))
                self.assertEqual(rule_of(mask_mod, None, 5, 6).bias.data_ptr(), tensor.data_ptr())
                self.assertEqual((rule_of(padded(tensor, 5), None, 5, 6).mask, traced.call_count), ("q - k < 5", 2))
                self.assertEqual(rule_of(padded(tensor[:, :3]), None, 5, 6).bias.shape, (2, 1, 1, 3))

    def test_values_that_were_used_are_used_again_when_they_changed(self):
        for inference in (False, True):
            with torch.inference_mode(inference), self.subTest(inference=inference):
                number, scores, flags = torch.tensor(4), torch.ones(2, 6), torch.ones(2, 6, dtype=torch.bool)
                for value in (4, 5):
                    number.fill_(value)
                    self.assertEqual(rule_of(lambda b, h, q, k: flags[b, k] & (number > q - k), None, 5, 6).mask, f"{value} > q - k")
                mask_mod = lambda b, h, q, k: (scores > 0)[b, k]  # a tensor that is made anew
                branch = lambda b, h, q, k: q >= k if bool(flags.all()) else q > k
                for value, text in ((1, "q >= k"), (0, "q > k")):
                    scores.fill_(value), flags.fill_(value)
                    self.assertEqual(bool(rule_of(mask_mod, None, 5, 6).bias.any()), bool(value))
                    self.assertEqual(rule_of(branch, None, 5, 6).mask, text)


TOKENS = 32
WORDS = {  # of kernels, by the texts of rules without a bias
    ("q >= k", "", None): "causal", ("q - k < 5 << h", "", None): "q - k < 5 << h",
    ("", "score + (k - q) * 0.5", None): " score score + (k - q) * 0.5", ("", "", 2.0): " softcap 2.0", ("", "", None): None}
BESIDE = {("", "", None, True): None, ("q >= k", "", None, True): " beside causal"}
OF_DOCUMENTS = {"mask": "t0[q] == t0[k]", "tensors": ["t0=i32[32]:0*32"]}
OF_LENGTHS = {"mask": "k < t0[b]", "score": "score + t1[h][k - q + 31]", "tensors": ["t0=i32[4]:0*4", "t1=f32[8][63]"], "lse": True}
KINDS = (OF_DOCUMENTS, OF_LENGTHS, "none", "causal", "q - k < 5 << h", "score score + (k - q) * 0.5", "softcap 2.0", "bias 1,8,32,32:f32", "lse none",
         "lse causal", "bias 4,1,1,32:bool beside causal", "bias 1,8,32,32:f32 beside causal")


class Named(torch.overrides.TorchFunctionMode):
    """Sees the names of PyTorch's functions that are called."""

    def __init__(self):
        self.seen = set()

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        self.seen.add(function.__name__)
        return function(*args, **kwargs or {})


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        q, k, v = cls.qkv(models.TOKENS)
        cls.suite = fatune.capture(lambda: [module.flex_attention(q, k, v), F.scaled_dot_product_attention(q, k, v)], runs=1)
        cls.result = fatune.tune(cls.suite, out=pathlib.Path(cls.folder.name) / "run", device="recorded", budget=4, quiet=True)
        cls.pytorch = module.flex_attention, module.create_block_mask

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.addCleanup(lambda: self.assertEqual((module.flex_attention, module.create_block_mask), self.pytorch))

    @staticmethod
    def qkv(tokens=TOKENS):
        return [torch.randn(models.BATCH, models.HEADS, tokens, models.DIM).half() for _ in range(3)]

    def install(self):
        self.enterContext(fakes.on_the_cpu(TOKENS, KINDS))
        installed = self.enterContext(fatune.install(self.result, unverified=True))
        installed.flex.words.update({(*texts, False, TOKENS, TOKENS, ()): word for texts, word in WORDS.items()})
        installed.flex.words.update({(*texts, TOKENS, TOKENS, ()): word for texts, word in BESIDE.items()})
        installed.recount()
        return installed

    def served(self, installed):
        why = installed.why()
        installed.recount()
        return why.served, [row.reason for row in why.rows if row.reason]

    def test_the_captured_call_is_served(self):
        (tuned,) = self.suite.problems
        self.assertEqual([(row["function"], row["problem"]) for row in sorted(self.suite.calls, key=lambda row: row["function"])],
                         [("flex_attention", tuned["name"]), ("scaled_dot_product_attention", tuned["name"])])
        self.assertNotIn("leaves it", str(self.suite))
        q, k, v = self.qkv(models.TOKENS)
        with fakes.on_the_cpu(), fatune.install(self.result, unverified=True) as installed:
            out = module.flex_attention(q, k, v)
            self.assertEqual(self.served(installed), (1, []))
        torch.testing.assert_close(out, F.scaled_dot_product_attention(q, k, v), atol=2e-3, rtol=0)

    def test_rules_are_found_by_the_texts_that_were_captured(self):
        def row(problem, rule, bias="", **changes):
            return {"function": "flex_attention", "problem": problem, "mask": {"rule": rule, "bias": bias}, "score": "",
                    "softcap": None, "tensors": [], "query": {"shape": [1, 1, 8, 64]}, "key": {"shape": [1, 1, 9, 64]}, **changes}

        calls = [row("a", "q >= k"), row("b", "q >= k", "1,1,1,9:bool"), row("c", "", score="score*2", softcap=3.0),
                 row("f", "t0[q] == t0[k]", tensors=["t0=i32[32]"]), row("d", "q - k < 2 << h"), row("e", None), row("not tuned", "q == k"), {**row("a", "k == q"), "function": "sdpa"}]
        problems = [{"name": name, "best": {"kernel": "naive"}, "problem": problem} for name, problem in (
            ("a", {"mask": "causal"}), ("b", {"mask": "causal", "bias": "1,1,1,9:bool"}), ("e", {"mask": "causal"}),
            ("f", OF_DOCUMENTS), ("c", {"mask": "none", "score": "score * 2", "softcap": 3.0}), ("d", {"mask": "q - k < 2 << h"}))]
        suite = fatune.Suite({"name": "s", "problems": [], "capture": {"calls": calls}})
        flex = flex_serving.Flex(self.install().exported, suite, [*problems, {"name": "not tuned", "best": None}])
        self.assertEqual(flex.words, {
            ("q >= k", "", None, False, 8, 9, ()): "causal", ("q >= k", "", None, True, 8, 9, ()): " beside causal",
            ("", "score*2", 3.0, False, 8, 9, ()): " softcap 3.0 score score * 2",
            ("q - k < 2 << h", "", None, False, 8, 9, ()): "q - k < 2 << h",
            ("t0[q] == t0[k]", "", None, False, 8, 9, ("t0=i32[32]",)): "t0[q] == t0[k] with t0=i32[32]"})

    def test_each_rule_has_its_kernel(self):
        bias, window = torch.randn(models.HEADS, TOKENS, TOKENS), 5
        blocks = [module.create_block_mask(mask_mod, None, models.HEADS, TOKENS, TOKENS, device="cpu")
                  for mask_mod in (lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < window << h)]
        seen = torch.arange(TOKENS) < torch.tensor([32, 5, 17, 0])[:, None]
        padded = module.create_block_mask(lambda b, h, q, k: (q >= k) & seen[b, k], models.BATCH, None, TOKENS, TOKENS, device="cpu")
        calls = ({}, {"block_mask": blocks[0]}, {"block_mask": blocks[1]}, {"return_aux": module.AuxRequest(lse=True)},
                 {"block_mask": blocks[0], "return_lse": True}, {"score_mod": lambda s, b, h, q, k: s + (k - q) * 0.5},
                 {"score_mod": lambda s, b, h, q, k: 2 * torch.tanh(s / 2)},
                 {"score_mod": lambda s, b, h, q, k: s + bias[h, q, k]}, {"block_mask": padded},
                 {"block_mask": blocks[0], "score_mod": lambda s, b, h, q, k: s + bias[h, q, k]})
        q, k, v = self.qkv()
        expected = [module.flex_attention(q, k, v, **options) for options in calls]
        installed = self.install()
        for options, theirs in zip(calls, expected):
            with self.subTest(options):
                ours = module.flex_attention(q, k, v, **options)
                self.assertEqual(self.served(installed), (1, []))
                self.assertEqual(type(ours), type(theirs))
                torch.testing.assert_close(ours, theirs, atol=4e-3, rtol=0)
        window = 6
        q = q[:, :, :TOKENS]
        module.flex_attention(q, k, v, block_mask=module.create_block_mask(
            lambda b, h, q, k: q - k < window << h, None, models.HEADS, TOKENS, TOKENS, device="cpu"))
        self.assertEqual(self.served(installed), (0, [f"flex_attention: {flex_serving._UNCAPTURED}"]))

    def test_tensors_that_functions_read_may_change(self):
        q, k, v = self.qkv()
        before = torch.arange(TOKENS) // 9
        installed = self.install()
        for problem in (OF_DOCUMENTS, OF_LENGTHS):
            forms = tuple(each.partition(":")[0] for each in problem["tensors"])
            installed.flex.words[flex_rules.Asked(problem["mask"], problem.get("score", ""), None, False, TOKENS, TOKENS, forms)] = (
                installed.flex._word(problem))

        def blocks(documents):
            return module.create_block_mask(lambda b, h, q, k: documents[q] == documents[k], None, None, TOKENS, TOKENS, device="cpu")

        with unittest.mock.patch.object(block_masks, "check_blocks", wraps=block_masks.check_blocks) as checked:
            for documents in (before, (before + 1).int(), torch.stack((before, before), 1)[:, 0], torch.arange(TOKENS) % 2 == 0):
                made = blocks(documents)
                theirs = self.pytorch[0](q, k, v, block_mask=made)
                for _ in range(2):
                    torch.testing.assert_close(module.flex_attention(q, k, v, block_mask=made), theirs, atol=4e-3, rtol=0)
                self.assertEqual(self.served(installed), (2, []))
            self.assertEqual(checked.call_count, 0)
            made = blocks(before)
            before[3:] = 2  # the blocks are those of the former values; all of one block here
            torch.testing.assert_close(module.flex_attention(q, k, v, block_mask=made), self.pytorch[0](q, k, v, block_mask=made), atol=4e-3, rtol=0)
            self.assertEqual((checked.call_count, self.served(installed)), (1, (1, [])))
        lengths, half = torch.tensor([32, 5, 17, 1]), torch.randn(models.HEADS, 2 * TOKENS - 1).half()
        padded = module.create_block_mask(lambda b, h, q, k: k < lengths[b], models.BATCH, None, TOKENS, TOKENS, device="cpu")
        for table in (half, half.float() * 2):
            options = {"block_mask": padded, "score_mod": lambda s, b, h, q, k: s + table[h, k - q + 31]}
            for ours, theirs in zip(module.flex_attention(q, k, v, return_lse=True, **options), self.pytorch[0](q, k, v, return_lse=True, **options)):
                torch.testing.assert_close(ours, theirs, atol=4e-3, rtol=0)
        self.assertEqual(self.served(installed), (2, []))
        for documents, reason in ((torch.arange(TOKENS + 1), flex_serving._UNCAPTURED), (before + (1 << 40), "reads numbers beyond")):
            module.flex_attention(q, k, v, block_mask=blocks(documents))
            served, (why,) = self.served(installed)
            self.assertEqual(served, 0)
            self.assertIn(reason, why)
        table = half.float().requires_grad_()
        module.flex_attention(q, k, v, **options)
        self.assertIn("gradients are wanted", self.served(installed)[1][0])

    def test_other_calls_are_pytorchs_and_counted_with_the_reason(self):
        q, k, v = self.qkv()
        held = module.create_block_mask(lambda b, h, q, k: k < LENGTHS[b], models.BATCH, None, TOKENS, TOKENS, device="cpu")
        installed = self.install()
        for inputs, options, reason in (
                ((q, k, v), {"block_mask": held}, flex_serving._UNCAPTURED),
                ((q, k, v), {"score_mod": lambda s, b, h, q, k: s * 3}, flex_serving._UNCAPTURED),
                ((q.float(), k.float(), v.float()), {}, "no kernel is for these sizes, type and mask"),
                ((q[:2], k[:2], v[:2]), {}, "no kernel is for these sizes, type and mask"),
                ((q, k, v), {"scale": 2.0}, "has the scale 2.0")):
            with self.subTest(reason):
                out = module.flex_attention(*inputs, **options)
                served, (why,) = self.served(installed)
                self.assertEqual(served, 0)
                self.assertIn(reason, why)
                torch.testing.assert_close(out, self.pytorch[0](*inputs, **options), atol=1e-3, rtol=1e-3)
        with self.assertRaisesRegex(NotImplementedError, "backward on CPU"):
            module.flex_attention(q.clone().requires_grad_(), k, v)
        self.assertIn("gradients are wanted", self.served(installed)[1][0])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            module.flex_attention(q, k, v)
        self.assertIn("autocast", self.served(installed)[1][0])
        longer = module.create_block_mask(lambda b, h, q, k: q >= k, None, None, TOKENS, 2 * TOKENS, device="cpu")
        with self.assertRaisesRegex(ValueError, "block_mask was created for"):
            module.flex_attention(q, k, v, block_mask=longer)

    def test_a_block_mask_is_checked_once_unless_it_is_made_while_installed(self):
        q, k, v = self.qkv()
        before = module.create_block_mask(lambda b, h, q, k: q >= k, None, None, TOKENS, TOKENS, device="cpu")
        installed = self.install()
        checked = unittest.mock.Mock(side_effect=block_masks.check_blocks)
        with unittest.mock.patch.object(block_masks, "check_blocks", checked):
            made = module.create_block_mask(lambda b, h, q, k: q >= k, None, None, TOKENS, TOKENS, device="cpu")
            for blocks, checks in ((made, 0), (before, 1), (before, 1)):
                module.flex_attention(q, k, v, block_mask=blocks)
                self.assertEqual(checked.call_count, checks)
            made.mask_mod = lambda b, h, q, k: q - k < 5 << h
            module.flex_attention(q, k, v, block_mask=made)
            self.assertEqual(checked.call_count, 2)
        self.assertEqual(self.served(installed), (4, []))
        seen = torch.ones(models.BATCH, TOKENS, dtype=torch.bool)
        with unittest.mock.patch.object(block_masks, "check_blocks", checked):
            made = module.create_block_mask(lambda b, h, q, k: (q >= k) & seen[b, k], models.BATCH, None, TOKENS, TOKENS, device="cpu")
            for change, checks in ((lambda: None, 2), (lambda: seen[1].fill_(True), 3), (lambda: None, 3)):
                change()
                module.flex_attention(q, k, v, block_mask=made)
                self.assertEqual(checked.call_count, checks)
        self.assertEqual(self.served(installed), (3, []))
        none = torch.zeros(1, 1, 1, dtype=torch.int32)
        other = module.BlockMask.from_kv_blocks(none, none[None], mask_mod=lambda b, h, q, k: q >= k, seq_lengths=(TOKENS, TOKENS))
        self.assertTrue(torch.equal(*(attend(q, k, v, block_mask=other) for attend in (module.flex_attention, self.pytorch[0]))))
        self.assertIn("the blocks of its BlockMask are not those", self.served(installed)[1][0])

    def test_what_makes_block_masks_is_compiled_once(self):
        real, seen = torch.compile, torch.rand(models.BATCH, TOKENS) < 0.5
        self.install()
        with unittest.mock.patch.object(torch, "compile", side_effect=lambda function: real(function, backend="eager")) as compiled:
            for options, times in (({}, 0), ({"device": "cpu"}, 1), ({"device": "cpu"}, 1), ({"BLOCK_SIZE": 64, "device": "cpu"}, 1),
                                   ({"device": None}, 3)):  # PyTorch compiles it itself for a device that it chooses
                for mask_mod in (lambda b, h, q, k: q >= k, lambda b, h, q, k: (q >= k) & seen[b, k]):
                    given = mask_mod, models.BATCH, None, TOKENS, TOKENS
                    with unittest.mock.patch.object(torch.accelerator, "current_accelerator", return_value=None):
                        made = module.create_block_mask(*given, **options, _compile=bool(options))
                    for name, each in vars(self.pytorch[1](*given, **{**options, "device": "cpu"})).items():
                        if isinstance(each, torch.Tensor):
                            self.assertTrue(torch.equal(each, vars(made)[name]), name)
                        else:
                            self.assertEqual(each, vars(made)[name])
                    self.assertIs(made.mask_mod, mask_mod)
                self.assertEqual(compiled.call_count, times)

    def test_a_served_call_reads_no_values_and_looks_at_its_mask_once(self):
        """Layers share a BlockMask, each step makes another, and each call has a score_mod of its own."""
        with torch.inference_mode():
            q, k, v = self.qkv()
            installed, lengths = self.install(), torch.tensor([32, 5, 17, 0])[:, None]
            step = lambda seen: module.create_block_mask(
                lambda b, h, q, k: (q >= k) & seen[b, k], models.BATCH, None, TOKENS, TOKENS, device="cpu")
            module.flex_attention(q, k, v, block_mask=step(torch.arange(TOKENS) < lengths))
            with unittest.mock.patch.object(flex_rules, "_mask_rule") as traced, \
                    unittest.mock.patch.object(block_masks, "check_blocks") as checked, \
                    unittest.mock.patch.object(block_masks, "_fault", wraps=block_masks._fault) as looked:
                for steps in (1, 2):
                    made = step(torch.arange(TOKENS) < lengths - steps)
                    with Named() as named:
                        for _ in range(3):
                            out = module.flex_attention(q, k, v, block_mask=made, score_mod=lambda s, b, h, q, k: s)
                    self.assertEqual(named.seen & {"item", "tolist", "any", "all", "equal", "__bool__", "cpu", "nonzero"}, set())
                    self.assertIn("data_ptr", named.seen)
                    self.assertEqual((traced.call_count, checked.call_count, looked.call_count), (0, 0, steps))
                    torch.testing.assert_close(out, self.pytorch[0](q, k, v, block_mask=made).nan_to_num(), atol=4e-3, rtol=0)
            self.assertEqual(self.served(installed), (7, []))

    def test_a_mask_that_was_not_tuned_is_not_served_whatever_was_before(self):
        q, k, v = self.qkv()
        installed, made = self.install(), module.create_block_mask(lambda b, h, q, k: q >= k, None, None, TOKENS, TOKENS, device="cpu")
        module.flex_attention(q, k, v, block_mask=made)
        self.assertEqual(self.served(installed), (1, []))
        for change in (dict(mask_mod=lambda b, h, q, k: q <= k), dict(
                mask_mod=made.mask_mod, full_kv_num_blocks=made.kv_num_blocks, full_kv_indices=made.kv_indices)):
            vars(made).update(change)
            with unittest.mock.patch.object(block_masks, "check_blocks", wraps=block_masks.check_blocks) as checked:
                for _ in range(2):
                    torch.testing.assert_close(module.flex_attention(q, k, v, block_mask=made), self.pytorch[0](q, k, v, block_mask=made), atol=0, rtol=0)
            served, (reason,) = self.served(installed)
            self.assertEqual(served, 0)
            self.assertEqual(checked.call_count, int("blocks" in reason), reason)  # the fault is remembered
        self.assertIn("the blocks of its BlockMask are not those", reason)

    def test_what_was_compiled_alone_is_replaced_and_has_its_own_calls(self):
        holder, q, k, v = types.ModuleType("holder_of_flex"), *self.qkv()
        holder.flex = compiled = torch.compile(module.flex_attention, backend="eager")
        with unittest.mock.patch.dict(sys.modules, {holder.__name__: holder}):
            installed = self.install()
            torch.testing.assert_close(holder.flex(q, k, v), compiled(q, k, v), atol=2e-3, rtol=0)
            self.assertEqual(self.served(installed), (1, []))
            holder.flex(q, k, v, score_mod=lambda s, b, h, q, k: s * 3)
            self.assertEqual(self.served(installed), (0, [f"flex_attention: {flex_serving._UNCAPTURED}"]))
            again = torch.compile(module.flex_attention, backend="eager")
            again(q, k, v)
            self.assertEqual(self.served(installed), (1, []))
            installed.undo()
            self.assertIs(holder.flex, compiled)

    def test_transformers_is_served_where_it_compiles_flex_attention(self):
        theirs, seen = types.ModuleType("transformers.integrations.flex_attention"), []

        def compile_friendly_flex_attention(query, key, value, training=False, **options):
            seen.append((training, options))
            return self.pytorch[0](query, key, value, **options)

        theirs.compile_friendly_flex_attention = compile_friendly_flex_attention
        q, k, v = self.qkv()
        with unittest.mock.patch.dict(sys.modules, {theirs.__name__: theirs}):
            suite = fatune.capture(lambda: theirs.compile_friendly_flex_attention(q, k, v, training=True, return_aux=None), runs=1)
            self.assertEqual([row["function"] for row in suite.calls], ["flex_attention"])
            seen.clear()
            with self.install() as installed:
                theirs.compile_friendly_flex_attention(q, k, v, training=True)
                theirs.compile_friendly_flex_attention(q, k, v, training=True, scale=2.0)
                self.assertEqual([(training, options["scale"]) for training, options in seen], [(True, 2.0)])
                self.assertEqual(self.served(installed)[0], 1)
            self.assertIs(theirs.compile_friendly_flex_attention, compile_friendly_flex_attention)

    def test_a_compiled_model_has_the_kernel_while_it_is_installed(self):
        q, k, v = self.qkv()
        window, installed = 5, self.install()
        made = [module.create_block_mask(mask_mod, None, models.HEADS, TOKENS, TOKENS, device="cpu")
                for mask_mod in (lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < window << h)]
        for backend in ("aot_eager", "inductor"):
            for options, lse in (({"block_mask": made[0]}, False), ({"block_mask": made[1]}, False), ({}, False), ({}, True),
                                 ({"score_mod": lambda s, b, h, q, k: s + (k - q) * 0.5}, False)):
                def step(q, k, v, options=options, lse=lse):
                    return module.flex_attention(q * 2, k, v, **options, return_aux=module.AuxRequest(lse=True) if lse else None)

                if lse and backend == "inductor":  # which has no lse on a CPU
                    continue
                expected = self.pytorch[0](q * 2, k, v, **options, return_aux=module.AuxRequest(lse=True) if lse else None)
                with self.subTest(backend=backend, options=options, lse=lse), torch.no_grad():
                    torch._dynamo.reset()  # which keeps few versions of one function
                    compiled = torch.compile(step, backend=backend, fullgraph=True)
                    for in_place in (True, False, True):
                        (installed.redo if in_place else installed.undo)()
                        installed.recount()
                        before = fakes.Route.launched
                        torch.testing.assert_close(compiled(q, k, v), expected, atol=4e-3, rtol=0)
                        self.assertEqual(fakes.Route.launched - before, in_place)

    def test_a_compiled_call_without_a_kernel_is_pytorchs(self):
        q, k, v = self.qkv()
        unmarked = module.create_block_mask(lambda b, h, q, k: q >= k, None, None, TOKENS, TOKENS, device="cpu")
        installed = self.install()
        marked = module.create_block_mask(lambda b, h, q, k: q >= k, None, None, TOKENS, TOKENS, device="cpu")
        one_head = module.create_block_mask(lambda b, h, q, k: q - k < 5 << h, None, None, TOKENS, TOKENS, device="cpu")
        bias = torch.randn(models.HEADS, TOKENS, TOKENS)
        wide = [torch.randn(models.BATCH, models.HEADS, TOKENS, 2 * models.DIM).half() for _ in range(3)]
        for inputs, options, launches in (
                ((q, k, v), {"block_mask": marked}, 1), ((q, k, v), {"block_mask": unmarked}, 0), ((q, k, v), {"block_mask": one_head}, 0),
                ((q, k, v), {"score_mod": lambda s, b, h, q, k: s + bias[h, q, k]}, 0), ((q, k, v), {"scale": 2.0}, 0),
                ((q, k, v), {"score_mod": lambda s, b, h, q, k: s * 3}, 0), (wide, {}, 0)):
            with self.subTest(options), torch.no_grad():
                torch._dynamo.reset()
                before = fakes.Route.launched
                out = torch.compile(lambda *given: module.flex_attention(*given, **options), backend="aot_eager", fullgraph=True)(*inputs)
                self.assertEqual(fakes.Route.launched - before, launches)
                torch.testing.assert_close(out, self.pytorch[0](*inputs, **options), atol=4e-3, rtol=0)
        window = 5
        compiled = torch.compile(lambda q, k, v: module.flex_attention(q, k, v, block_mask=changing), backend="aot_eager")
        changing = module.create_block_mask(lambda b, h, q, k: q - k < window << h, None, models.HEADS, TOKENS, TOKENS, device="cpu")
        for window, launches in ((5, 1), (6, 0)):
            changing = module.create_block_mask(lambda b, h, q, k: q - k < window << h, None, models.HEADS, TOKENS, TOKENS, device="cpu")
            before = fakes.Route.launched
            torch.testing.assert_close(compiled(q, k, v), self.pytorch[0](q, k, v, block_mask=changing), atol=4e-3, rtol=0)
            self.assertEqual(fakes.Route.launched - before, launches)
        self.assertGreater(installed.why().served, 0)

    def test_a_compiled_call_that_the_kernel_refuses_is_computed(self):
        q, k, v = self.qkv()
        self.install()
        held = torch.zeros(q.numel() + 1, dtype=q.dtype)[1:].view(q.shape).copy_(q)
        compiled = torch.compile(lambda q, k, v: module.flex_attention(q, k, v, score_mod=lambda s, b, h, q, k: s + (k - q) * 0.5),
                                 backend="aot_eager", fullgraph=True)
        with torch.no_grad():
            for query, launches in ((q, 1), (held, 0)):  # one that does not begin at a multiple of 16 bytes
                before = fakes.Route.launched
                out = compiled(query, k, v)
                self.assertEqual(fakes.Route.launched - before, launches)
                torch.testing.assert_close(out, self.pytorch[0](
                    q, k, v, score_mod=lambda s, b, h, q, k: s + (k - q) * 0.5), atol=4e-3, rtol=0)

    def test_nothing_is_kept_of_an_installation_that_is_gone(self):
        q, k, v = self.qkv()

        def serve():
            with fakes.on_the_cpu(TOKENS, KINDS), fatune.install(self.result, unverified=True) as installed, torch.no_grad():
                installed.flex.words.update({("", "", None, False, TOKENS, TOKENS, ()): None})
                torch.compile(lambda q, k, v: module.flex_attention(q, k, v), backend="aot_eager", fullgraph=True)(q, k, v)
                self.assertEqual(fakes.Route.launched, 1)
                *_, name = installed.flex._compiled.calls
            return name, weakref.ref(installed.flex._compiled.calls[name])

        name, call = serve()
        torch._dynamo.reset()
        installing._last = None  # which why() tells of
        gc.collect()
        self.assertEqual((call(), name.partition("|")[0] in flex_compiled._servings), (None, False))
        with self.assertRaisesRegex(RuntimeError, "compiled for kernels that are no longer installed"):
            torch.ops.fatune._flex(q, k, v, 1.0, name)

    def test_installations_end_in_any_order(self):
        q, k, v = self.qkv()
        first = self.install()
        shown = module.flex_attention
        second = fatune.install(self.result, unverified=True)
        self.assertIsNot(module.flex_attention, shown)
        first.undo()
        second.flex.words.update({("", "", None, False, TOKENS, TOKENS, ()): None})
        module.flex_attention(q, k, v)
        self.assertEqual(second.why().served, 1)
        second.undo()
        with first.briefly():
            self.assertIs(module.flex_attention, shown)
        self.assertIs(module.flex_attention, self.pytorch[0])

    def test_the_reference_of_a_proof_is_in_double_precision(self):
        q, k, v = self.qkv()
        few, blocks = [each[:, ::2] for each in (k, v)], module.create_block_mask(
            lambda b, h, q, k: (q >= k) & (k != h), None, models.HEADS, TOKENS, TOKENS, device="cpu")
        options = {"block_mask": blocks, "score_mod": lambda s, b, h, q, k: s * h, "enable_gqa": True}
        wide, lse = self.pytorch[0](q.double(), *(each.double() for each in few), **options, return_lse=True)
        for scores in (exact._SCORES_AT_ONCE, 1):
            with exact.in_place_of_pytorchs(torch.float64), unittest.mock.patch.object(exact, "_SCORES_AT_ONCE", scores):
                out, aux = module.flex_attention(q, *few, **options, return_aux=module.AuxRequest(lse=True))
                self.assertTrue(torch.equal(module.flex_attention(q, *few, **options), out))
            self.assertEqual((out.dtype, aux.lse.dtype, aux.max_scores), (torch.float16, torch.float32, None))
            self.assertTrue(torch.equal(out, wide.half()))
            torch.testing.assert_close(aux.lse, lse.float())


if __name__ == "__main__":
    unittest.main()
