#!/usr/bin/env python3
"""reference_test.py: Which references in PyTorch are attention, and why others are refused."""
import sys
import unittest

from fatune.benchmarks import python_reader, references, torch_values
from fatune.errors import FatuneError

IMPORTS = ("import torch, math\n"
           "import torch.nn.functional as F\n"
           "from torch.nn.attention.bias import causal_lower_right\n")
CALL = "    return F.scaled_dot_product_attention"
AT = "r: line 5: "


def read(body, q=(2, 8, 128, 64), k=None):
    module = python_reader.parse_python(IMPORTS + "def run(q, k, v, s):\n" + body, "r")
    shapes = {"q": q, "k": k or q, "v": k or q}
    arguments = [torch_values.tensor(shape, "float16", name) for name, shape in shapes.items()]
    return references.attention_of(references.find_function(module, "run"), [*arguments, 0.125],
                                   module, "r")


def words(body, q=(2, 8, 128, 64), k=None):
    """"2,8,128,64 f16 causal", or the error."""
    try:
        return read(body, q, k).words()
    except FatuneError as error:
        assert error.exit_code == 4, error.exit_code
        return str(error)


class Calls(unittest.TestCase):
    def test_a_call_is_the_problem_of_its_arguments(self):
        plain = "2,8,128,64 f16"
        for options, expected in (
                ("(q, k, v)", plain), ("(q, k, v, None, 0.0, True)", plain + " causal"),
                ("(query=q, key=k, value=v, is_causal=True, scale=s)", plain + " causal"),
                ("(q, k, v, scale=1 / math.sqrt(q.size(-1)))", plain),
                ("(q, k, v, scale=q.shape[-1] ** -0.5)", plain),
                ("(q.float(), k.to(torch.float32), v.double()).to(q.dtype)", plain)):
            self.assertEqual(words(f"{CALL}{options}\n"), expected)
        self.assertEqual(
            words("    b, h, n, d = q.shape\n    return {'out': F.scaled_dot_product_attention("
                  "q, k, v, scale=d ** -0.5)}\n"), plain)
        self.assertEqual(
            words(CALL + "(q, k, v, enable_gqa=True)\n", (2, 8, 1, 64), (2, 2, 99, 64)),
            "2,8(kv 2),1x99,64 f16")
        self.assertEqual(
            words(CALL + "(q, k, v, attn_mask=causal_lower_right(16, 99))\n", (2, 8, 16, 64),
                  (2, 8, 99, 64)), "2,8,16x99,64 f16 causal")

    def test_swapped_dimensions_are_layouts(self):
        swapped = "    q, k, v = q.transpose(1, 2), k.transpose(-2, -3), v.permute(0, 2, 1, 3)\n"
        stored = (2, 128, 8, 64)
        self.assertEqual(words(swapped + "    out = F.scaled_dot_product_attention(q, k, v)\n"
                                         "    return out.transpose(1, 2).contiguous()\n", stored),
                         "2,8,128,64 f16 bshd")
        self.assertEqual(
            read(swapped + CALL + "(q, k, v)\n", stored).layout, "q=bshd,k=bshd,v=bshd")
        moved = read(CALL + "(q.permute(1, 2, 0, 3), k, v)\n", (128, 2, 8, 64), (2, 8, 128, 64))
        self.assertEqual(moved.layout, "q=512:64:1024")
        out = read(CALL + "(q, k, v).permute(2, 0, 1, 3)\n")
        self.assertEqual(out.layout, "out=512:64:1024")

    def test_a_scale_is_read_and_the_usual_one_is_none(self):
        self.assertEqual(read(CALL + "(q, k, v, scale=1.0)\n").scale, 1.0)
        self.assertEqual(read(CALL + "(q, k, v, scale=1)\n").scale, 1.0)
        self.assertIsNone(read(CALL + "(q, k, v, scale=0.125)\n").scale)

    def test_statements_that_change_no_value(self):
        self.assertEqual(
            words("    'text'\n    assert q.shape[0] == 2\n    torch.manual_seed(1)\n    pass\n"
                  "    x: int = 3\n    with torch.no_grad():\n    " + CALL + "(q, k, v)\n"),
            "2,8,128,64 f16")


class Refusals(unittest.TestCase):
    def test_other_attention_is_refused_with_its_line_and_reason(self):
        for options, why in (("(q, k, v, scale=q)", "scale= is no number"),
                             ("(q, k, v, scale=-1.0)",
                              "scale must be a number greater than 0, not -1"),
                             ("(q, k, v, dropout_p=0.1)", "dropout_p= is not 0"),
                             ("(q, k, v, attn_mask=q)",
                              "attn_mask= is given: no mask but causal is known"),
                             ("(q, k, v, None, causal_lower_right(1, 1))",
                              "dropout_p= is not 0"), ("(q, k, v, is_causal=s)",
                                                       "is_causal= is neither True nor False"),
                             ("(q, k, v, attn_mask=causal_lower_right(1, 1))",
                              "causal_lower_right() has other lengths than q and k"),
                             ("(q, k, k)", "query, key and value are not three tensors"),
                             ("(q * s, k, v)",
                              "a tensor is part of '*': more than attention is computed"),
                             ("(torch.relu(q), k, v)",
                              "torch.relu() is called: more than attention is computed"),
                             ("(q.transpose(1, 2).contiguous(), k, v)",
                              ".contiguous() copies an argument; a kernel reads it where it lies"),
                             ("(q.to(torch.int8), k, v)", ".to(torch.int8) is not understood"),
                             ("(torch.rand(2, 8, 128, 64), k, v)",
                              "attention is of a tensor that is made here"),
                             ("(q.transpose(2, 3), k.transpose(2, 3), v.transpose(2, 3))",
                              "q's columns do not lie side by side"),
                             ("(q, k, v).transpose(2, 3)",
                              "the output's columns do not lie side by side"),
                             ("(q, k, v, *s)",
                              "'*s' is not understood"), ("(q, k, v, **s)",
                                                          "'**=' is not understood")):
            self.assertEqual(words(f"{CALL}{options}\n"), AT + why)

    def test_sizes_that_no_kernel_has_are_refused(self):
        call = CALL + "(q, k, v)\n"
        self.assertEqual(words(call, (2, 8, 128, 64), (2, 2, 128, 64)),
                         AT + "k and v have other heads than q, without enable_gqa=True")
        self.assertEqual(words(call, (2, 8, 128)), AT + "q has 3 dimensions, not 4")
        self.assertEqual(words(call, (2, 8, 128, 64), (2, 8, 128, 32)),
                         AT + "q, k and v differ in batch or head_dim, or k and v in their sizes")
        self.assertEqual(words(call, (0, 8, 128, 64)), AT + "batch must be at least 1, but is 0")
        self.assertEqual(words(call, (1 << 20, 1 << 10, 1 << 10, 64)),
                         AT + "q and out would be larger than 1 TiB each")
        self.assertIn(
            "multiples of 16 bytes",
            words(CALL + "(q.permute(1, 2, 0, 3), k, v)\n", (128, 2, 7, 60), (2, 7, 128, 60)))
        self.assertTrue(
            words(CALL + "(q, k, v, is_causal=True)\n", (2, 8, 1, 64),
                  (2, 8, 99, 64)).startswith(AT +
                                             "is_causal=True aligns the mask with the first key"))

    def test_other_code_is_refused_with_its_line(self):
        for body, why in (
                ("    if s:\n        q = k\n    return q\n", "'if s:' is not understood"),
                ("    return q\n", "what is returned is not attention's output alone"),
                ("    x = 1\n", "nothing is returned behind it"),
                ("    return helper(q)\n", "'helper' is not known here"),
                ("    return [x for x in q]\n", "'[x for x in q]' is not understood"),
                ("    q[0] = k\n", "'q[0] =' is not understood"),
                ("    q += k\n", "'q += k' is not understood"),
                ("    return q.shape[9]\n", "it names no dimension"),
                ("    a = 1 // 0\n    return a\n", "'//' has no value"),
                ("    return (-8.0) ** 0.5\n", "'**' has no value"),
                ("    def inner():\n        return q\n    return inner\n",
                 "'def inner():' is not understood")):
            self.assertEqual(words(body), AT + why)
        module = python_reader.parse_python("@triton.jit\ndef run(q):\n    return q\n", "r")
        with self.assertRaisesRegex(FatuneError, "r: line 1: '@triton.jit' is not understood"):
            references.attention_of(module[0], [1], module, "r")

    def test_values_that_would_grow_without_end_are_refused(self):
        body = "    a = [1, 2]\n" + "    a = [a, a]\n" * 60
        self.assertIn("lists nest too deep", words(body + "    return a\n"))
        self.assertIn("a list is too long", words(f"    return [{'1, ' * 65}]\n"))
        self.assertIn("more than 10000 values are computed",
                      words(f"    a = [{'1, ' * 60}]\n" * 200))
        self.assertIn("a list is too long", words("    return [s for x in range(10 ** 18)]\n"))
        for number in ("2 ** 62 * 4", "9 ** 9 ** 9", "10.0 ** 62 * 1e300 * 1e300"):
            self.assertIn("r: line ", words(f"    a = {number}\n    return a\n"))
        self.assertEqual(words(f"    return {'9' * 40}\n"), AT + "a number is too large")

    def test_hostile_text_is_refused_in_words(self):
        for text, why in (("(" * 5000, "is not valid Python"), ("x = " + "-" * 60_000 + "1\n", ""),
                          ("x = a" + ".b" * 30_000, ""), ("#" * 70_000, "holds more than 64 KiB"),
                          ("x = '", "line 1: is not valid Python"), ("x = \0",
                                                                     "is not valid Python"),
                          ("if x:\n" + "".join(" " * i + "if x:\n" for i in range(1, 200)), "")):
            with self.assertRaisesRegex(FatuneError, "^r: .*" + why):
                module = python_reader.parse_python(text, "r")
                run = python_reader.parse_python("def run(q):\n    return q\n", "r")[0]
                references.attention_of(run, [1], module, "r")


if __name__ == "__main__":
    sys.exit(unittest.main())
