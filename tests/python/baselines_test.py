"""baselines_test.py: Compares what the helper of baselines gives PyTorch and packages with a plain
formula, on the CPU: biases, slopes, sinks, lengths, documents, and rivals of declared operations."""
import contextlib
import itertools
import math
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src/worker/baselines"))
from torch_helper import attention, basics, contestant, function, problem, sdpa
from torch_helper.expression import named_tensor
from torch_helper.packages import fa4, flex

BATCH, HEADS, KEYS, DIM = 3, 4, 13, 8
SLOPES, SINKS = [0.5, 0.25, 0.125, 0.0625], [0.5, -1, 2, 0.25]
WIDTHS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "bool": torch.bool, "i32": torch.int32}


class OnHost(TorchFunctionMode):
    """Makes tensors on the CPU that are asked for on the GPU."""

    def __torch_function__(self, function, kinds, arguments=(), named=None):
        named = dict(named or {})
        if named.get("device") == "cuda":
            named["device"] = "cpu"
        return function(*arguments, **named)


def order_of(memory, sizes, inputs):
    """The order that fatune sends, with the inputs in the memory: (type, tensor) by name."""
    out = inputs["q"][1] @ inputs["k"][1].transpose(2, 3)[:, :1] @ inputs["v"][1][:, :1]
    return {**order_with(memory, sizes, inputs, {"out": (sizes["dtype"], out)}),
            "mask_expression": sizes.get("mask_calls"), "score_expression": sizes.get("score_calls")}


def order_with(memory, sizes, inputs, outputs):
    tensors, end, input_bytes = [], 0, 0
    for held in (inputs, outputs):
        input_bytes = end
        for name, (word, tensor) in held.items():
            tensors.append({"name": name, "type": word, "shape": list(tensor.shape), "place": end,
                            "strides": [] if tensor.is_contiguous() else list(tensor.stride()), "output": held is outputs})
            end += -(-tensor.untyped_storage().nbytes() // 64) * 64
    memory.write_bytes(bytes(end))
    return {"problem": sizes, "tensors": tensors, "flush_bytes": 1, "varies_within": 0.1,
            "memory": {"path": str(memory), "bytes": end, "inputs": input_bytes}}


def make_inputs(sizes, bias=None, word="f16", alibi=False, sink=False):
    def numbers(*shape):
        return torch.randn(*shape).to(WIDTHS[sizes["dtype"]])

    keys = (sizes["batch"], sizes["kv_heads"], sizes["seq_kv"])
    inputs = {"q": numbers(sizes["batch"], sizes["heads"], sizes["seq_q"], DIM), "k": numbers(*keys, DIM),
              "v": numbers(*keys, sizes.get("value_dim", DIM))}
    inputs = {name: (sizes["dtype"], tensor) for name, tensor in inputs.items()}
    if bias is not None:
        shape, order = bias
        tensor = torch.randn(*(shape[i] for i in order)).permute(*(order.index(i) for i in range(4)))
        tensor = tensor > -0.5 if word == "bool" else tensor.to(WIDTHS[word])
        if word == "bool":
            tensor[..., 0] = True  # every row sees a key
        inputs["bias"] = (word, tensor)
    if "padding" in sizes["mask"] or "document" in sizes["mask"]:
        inputs["lengths"] = ("i32", torch.zeros(sizes["batch"], dtype=torch.int32))
    for text in sizes.get("tensors", []):
        with OnHost():
            name, elements = named_tensor(text)
        inputs["tensor_" + name] = ("f32", torch.randn(HEADS, KEYS)) if elements is None else ("i32", elements)
    if alibi:
        inputs["alibi"] = ("f32", torch.tensor(SLOPES) * float(torch.rand(())))
    if sink:
        inputs["sink"] = (sizes["dtype"], torch.tensor(SINKS).to(WIDTHS[sizes["dtype"]]))
    return inputs


def visible(text, batch, query, key, queries, keys):
    """The table of docs/attention.md."""
    position, seen = query + keys - queries, True
    for part in text.split("+"):
        form, _, numbers = part.partition(":")
        numbers = [int(number) for number in numbers.split(",") if number]
        if form == "causal":
            seen &= key <= position
        elif form == "causal-window":
            seen &= position - numbers[0] < key <= position
        elif form == "window":
            seen &= position - numbers[0] <= key <= position + numbers[1]
        elif form == "padding":
            seen &= key < numbers[batch % len(numbers)]
        elif form == "padding-left":
            seen &= key >= keys - numbers[batch % len(numbers)]
        elif form == "document":
            ends = list(itertools.accumulate(numbers))
            seen &= sum(end <= query for end in ends) == sum(end <= key for end in ends)
    return seen


def plain(sizes, inputs):
    """The formula of docs/attention.md in fp64."""
    q, k, v = (inputs[name][1].double() for name in "qkv")
    k, v = (tensor.repeat_interleave(HEADS // sizes["kv_heads"], 1) for tensor in (k, v))
    queries, keys = sizes["seq_q"], sizes["seq_kv"]
    scores = q @ k.transpose(2, 3) * sizes.get("scale", DIM ** -0.5)
    if "softcap" in sizes:
        scores = sizes["softcap"] * torch.tanh(scores / sizes["softcap"])
    if "bias" in inputs:
        word, bias = inputs["bias"]
        scores = scores.masked_fill(~bias, -math.inf) if word == "bool" else scores + bias.double()
    for batch, query, key in itertools.product(range(sizes["batch"]), range(queries), range(keys)):
        if "alibi" in inputs:
            scores[batch, :, query, key] -= inputs["alibi"][1].double() * abs(query + keys - queries - key)
        shown = visible(sizes["mask"], batch, query, key, queries, keys)
        for head in range(HEADS):
            place = (batch, head, query, key)
            if "tensor_bias" in inputs:
                scores[place] += inputs["tensor_bias"][1][head, key]
            scores[place] = sizes.get("score", lambda score, *_: score)(float(scores[place]), *place[:2], query, key)
            if not shown or not sizes.get("shows", lambda *_: True)(*place):
                scores[place] = -math.inf
    if "sink" in inputs:
        column = inputs["sink"][1].double()[None, :, None, None].expand(*scores.shape[:3], 1)
        return torch.cat([scores, column], 3).softmax(3)[..., :-1] @ v
    return scores.softmax(3) @ v


class Fake4:
    """FlashAttention-4 in a few lines, whose masks end at the last key of each entry."""

    @staticmethod
    def flash_attn_func(q, k, v, softmax_scale=None, causal=False, window_size=(None, None), softcap=0.0, learnable_sink=None):
        sizes = {"batch": q.shape[0], "seq_q": q.shape[1], "seq_kv": k.shape[1], "kv_heads": k.shape[2], "mask": "none"}
        before, after = (KEYS if side is None else side for side in window_size)
        if causal or window_size != (None, None):
            sizes["mask"] = "causal" if causal else f"window:{before},{after}"
        if softmax_scale:
            sizes["scale"] = softmax_scale
        if softcap:
            sizes["softcap"] = softcap
        inputs = {name: ("", tensor.transpose(1, 2)) for name, tensor in zip("qkv", (q, k, v))}
        if learnable_sink is not None:
            assert learnable_sink.shape == (q.shape[2],) and learnable_sink.is_contiguous()
            inputs["sink"] = ("", learnable_sink)
        return plain(sizes, inputs).transpose(1, 2).to(q.dtype), None

    @staticmethod
    def flash_attn_varlen_func(q, k, v, cu_seqlens_q=None, cu_seqlens_k=None, max_seqlen_q=None, max_seqlen_k=None,
                               seqused_k=None, **options):
        for tensor in (cu_seqlens_q, cu_seqlens_k, seqused_k):
            assert tensor is None or tensor.dtype == torch.int32 and tensor.is_contiguous()
        if seqused_k is not None:
            assert max_seqlen_k == int(seqused_k.max()) and q.dim() == 4
            return torch.cat([Fake4.flash_attn_func(q[i:i + 1], k[i:i + 1, :length], v[i:i + 1, :length], **options)[0]
                              for i, length in enumerate(seqused_k.tolist())]), None
        assert q.dim() == 3 and cu_seqlens_q.equal(cu_seqlens_k)
        starts = cu_seqlens_q.tolist()
        assert starts[-1] == q.shape[0] and max_seqlen_q == max_seqlen_k == max(b - a for a, b in zip(starts, starts[1:]))
        return torch.cat([Fake4.flash_attn_func(*(each[None, a:b] for each in (q, k, v)), **options)[0][0]
                          for a, b in zip(starts, starts[1:])]), None


def eager(function, backend="eager", mode="default", **options):
    assert mode in torch._inductor.list_mode_options()
    return torch_compile(function, backend=backend, **options)


def in_time(work, title):
    """In this thread: tracing in one thread after another can crash PyTorch."""
    with torch.overrides._pop_mode_temporarily():
        return work()


torch_compile = torch.compile
torch.compile = eager
torch.set_grad_enabled(False)
torch.cuda.synchronize = lambda: None
torch.cuda.get_device_capability = lambda ordinal: (9, 0)
sdpa.Sdpa.forced = lambda self: contextlib.nullcontext()
sdpa.Sdpa.choice = lambda self: self.name
contestant.in_time = function.in_time = in_time
fa4.installed = flex.installed = lambda name: "0"
sys.modules["flash_attn"] = types.ModuleType("flash_attn")
sys.modules["flash_attn.cute"] = Fake4
KINDS = {"flex": flex.FlexAttention, "fa4": fa4.FlashAttention4}


def sizes_of(mask, dtype="f16", **more):
    documents = "document" in mask
    return {"batch": 1 if documents else BATCH, "heads": HEADS, "kv_heads": HEADS, "seq_q": KEYS if documents else 6,
            "seq_kv": KEYS, "head_dim": DIM, "dtype": dtype, "mask": mask, **more}


def fill(held, inputs):
    for name, (_, tensor) in inputs.items():
        if name != "lengths":
            view = torch.as_strided(held.host_inputs.view(tensor.dtype), tensor.shape, tensor.stride(),
                                    held.places[name] // tensor.element_size())
            view.copy_(tensor)


def run(backend, sizes, **tensors):
    """Opens the backend before it has inputs, then gives it others twice, as fatune does."""
    inputs = make_inputs(sizes, **tensors)
    with tempfile.TemporaryDirectory() as folder, OnHost():
        held = attention.Attention(order_of(pathlib.Path(folder) / "memory", sizes, inputs))
        opened = KINDS.get(backend, sdpa.Sdpa)(held, backend)
    held.contestants[backend] = opened
    mask = opened.options.get("attn_mask")
    for seed in (1, 2):
        torch.manual_seed(seed)
        inputs = make_inputs(sizes, **tensors)
        fill(held, inputs)
        with OnHost():
            held.upload()
        assert opened.options.get("attn_mask") is mask, "a graph reads the old one"
        difference = (opened.call().double() - plain(sizes, inputs)).abs().max()
        limit = 0.01 if sizes["dtype"] == "f16" else 0.06
        assert difference < limit, (backend, sizes, list(tensors), float(difference))
    return opened


def refusal(backend, sizes, **tensors):
    try:
        run(backend, sizes, **tensors)
    except basics.Refused as refused:
        assert refused.kind == "infeasible"
        return str(refused)
    raise AssertionError(f"{backend} takes {sizes} and {list(tensors)}")


ROWS, COLUMNS = 5, 16
NORM = "F.rms_norm(x, (COLUMNS,), weight, 1e-6)"
FUNCTIONS = """import torch
def norm(x, weight, *, ROWS, COLUMNS):
    assert x.shape == (ROWS, COLUMNS)
    return torch.nn.functional.rms_norm(x, (COLUMNS,), weight, 1e-6)
def columns(x, weight, *, COLUMNS):
    return x
"""


def open_declared(backend, inputs, outputs, sizes):
    """The backend on the inputs of a declared operation, after a run: it, and what it left in the memory."""
    with tempfile.TemporaryDirectory() as folder, OnHost():
        file = pathlib.Path(folder) / "mine.py"
        file.write_text(FUNCTIONS)
        order = order_with(pathlib.Path(folder) / "memory", {"operation": "declared", "sizes": sizes}, inputs, outputs)
        held = problem.Declared(order)
        kind = function.Function if backend.startswith("python:") else function.Expression
        fill(held, inputs)
        opened = held.contestants[backend] = kind(held, backend.replace("FILE", str(file)))
        held.upload()
        opened.run()
    return opened, [out.clone() for out in held.outs.values()]


def norm(backend):
    torch.manual_seed(1)
    inputs = {"x": ("f16", torch.randn(ROWS, COLUMNS).half()), "weight": ("f16", torch.rand(COLUMNS).half())}
    opened, (y,) = open_declared(backend, inputs, {"y": ("f16", torch.zeros(ROWS, COLUMNS).half())},
                                 {"ROWS": ROWS, "COLUMNS": COLUMNS})
    x, weight = (tensor.double() for _, tensor in inputs.values())
    assert torch.allclose(y.double(), x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt() * weight, atol=2e-3)
    return opened


def declared_refusal(backend):
    try:
        norm(backend)
    except basics.Refused as refused:
        return str(refused)
    raise AssertionError(f"{backend} is taken")


WHOLE, KEY_PADDING = (BATCH, HEADS, 6, KEYS), (BATCH, 1, 1, KEYS)
PLAIN = (0, 1, 2, 3)
MASKS = ["padding:13,7,1", "padding-left:7,13,9", "causal+padding:9,13,11", "causal-window:9+padding-left:13,9,13",
         "document:4,1,8", "causal+document:4,9", "window:2,1+document:6,7", "causal", "causal-window:3"]


class Baselines(unittest.TestCase):
    def test_sdpa(self):
        for backend in ("efficient", "math"):
            for mask in MASKS:
                run(backend, sizes_of(mask))
            for mask in ("none", "causal", "padding:13,7,8"):
                run(backend, sizes_of(mask), alibi=True)
                run(backend, sizes_of(mask), bias=(WHOLE, PLAIN))
                run(backend, sizes_of(mask), bias=((1, HEADS, 6, KEYS), (0, 2, 1, 3)))
                run(backend, sizes_of(mask), bias=(KEY_PADDING, PLAIN), word="bool")
                run(backend, sizes_of(mask), bias=(WHOLE, PLAIN), word="bool", alibi=True)

    def test_masks_are_never_copied_in_a_launch(self):
        """PyTorch pads rows that are not 16 bytes apart, and turns booleans into numbers."""
        for mask in MASKS[:6]:
            told = run("efficient", sizes_of(mask)).options["attn_mask"]
            assert told.dtype == torch.float16 and told.stride(-1) == 1
            assert all(stride % 8 == 0 for stride in told.stride()[:-1])
        opened = run("efficient", sizes_of("none"), bias=(KEY_PADDING, PLAIN), word="bool")
        assert opened.options["attn_mask"].data_ptr() == opened.problem.device["bias"].data_ptr()

    def test_flex(self):
        for mask in MASKS:
            run("flex", sizes_of(mask, softcap=2.0))
        run("flex", sizes_of("causal", kv_heads=2), alibi=True)
        for shape in (WHOLE, (1, HEADS, 1, KEYS), (1, 1, 1, KEYS)):
            run("flex", sizes_of("causal+padding:9,13,11", softcap=2.0), bias=(shape, PLAIN), word="f32", alibi=True)
        run("flex", sizes_of("none"), bias=((1, HEADS, 6, KEYS), (0, 2, 1, 3)))
        run("flex", sizes_of("none"), bias=(KEY_PADDING, PLAIN), word="bool")

    def test_expressions(self):
        wide = {"mask_calls": 'o["||"](o["<"](k, 4), o["<"](o["abs"](o["-"](q, k)), o["+"](o["%"](h, 3), 2)))',
                "shows": lambda b, h, q, k: k < 4 or abs(q - k) < h % 3 + 2}
        thirds = {"mask_calls": 'o["?"](o["=="](b, 1), o["!="](o["/"](k, 3), 1), o[">"](o["<<"](k, 1), q))',
                  "shows": lambda b, h, q, k: k // 3 != 1 if b == 1 else 2 * k > q}
        change = {"score_calls": 'o["+"](o["*"](score, 0.5), o["?"](o[">"](k, q), o["tanh"](score), o["-"](h)))',
                  "score": lambda score, b, h, q, k: score * 0.5 + (math.tanh(score) if k > q else -h)}
        for backend in ("efficient", "math", "flex"):
            for mask in ("none", "causal", "padding:13,7,8"):
                run(backend, sizes_of(mask, **wide))
            run(backend, sizes_of("none", **thirds))
        run("flex", sizes_of("causal", softcap=2.0, **change))
        run("flex", sizes_of("none", **wide, **change), alibi=True)

    def test_named_tensors(self):
        documents = {"tensors": ["doc=i32[13]:0*4,7,1*8"], "mask_calls": 'o["=="](o["["](t["doc"], q), o["["](t["doc"], k))',
                     "shows": lambda b, h, q, k: ([0] * 4 + [7] + [1] * 8)[q] == ([0] * 4 + [7] + [1] * 8)[k]}
        table = {"tensors": ["bias=f32[%d][%d]" % (HEADS, KEYS)], "score_calls": 'o["+"](score, o["["](t["bias"], h, k))'}
        for backend in ("efficient", "math", "flex"):
            for mask in ("none", "causal"):
                run(backend, sizes_of(mask, **documents))
        run("flex", sizes_of("causal", **table))
        self.assertEqual(refusal("flash", sizes_of("none", **documents)), "it is not given the tensor_doc")

    def test_an_expression_keeps_the_text_of_its_mask(self):
        sizes = sizes_of("causal")
        with tempfile.TemporaryDirectory() as folder, OnHost():
            order = order_of(pathlib.Path(folder) / "memory", sizes, make_inputs(sizes))
            order.update(problem={**sizes, "mask": "causal && k < 4"}, mask_bounds="causal", mask_expression='o["<"](k, 4)')
            mask = attention.Attention(order).mask
            self.assertEqual((mask.text, mask.kind), ("causal && k < 4", "expression"))
            self.assertFalse(mask.tensor()[..., 4:].any())

    def test_v_of_another_head_dim(self):
        for backend, dtype in (("efficient", "f16"), ("math", "f16"), ("flex", "f16"), ("fa4", "bf16")):
            for columns in (8, 48):
                opened = run(backend, sizes_of("causal", dtype, value_dim=columns))
                assert opened.problem.outs["out"].shape[3] == columns == opened.problem.device["v"].shape[3]

    def test_fa4(self):
        for mask in ("padding:13,7,1", "document:4,1,8", "causal+document:4,9", "window:2,1+document:6,7"):
            run("fa4", sizes_of(mask, "bf16", scale=0.25, kv_heads=2))
            run("fa4", sizes_of(mask, "bf16"), sink=True)
        run("fa4", sizes_of("causal", "bf16", softcap=2.0), sink=True)

    def test_rivals_of_declared_operations(self):
        self.assertEqual(norm(f"torch:{NORM}").ran, "an expression")
        compiled = norm(f"torch.compile:{NORM}")
        self.assertEqual((compiled.ran, compiled.compiles), ("torch.compile max-autotune-no-cudagraphs", True))
        self.assertEqual((norm("python:FILE:norm").ran, norm("python:FILE:norm").notes), ("norm", []))

    def test_several_outputs_and_other_types(self):
        x, counts = torch.arange(12).view(3, 4).double(), torch.full((3,), 7, dtype=torch.int64)
        inputs, outputs = {"x": ("f64", x), "counts": ("i64", counts)}, {"counts": ("i64", counts), "most": ("u8", torch.zeros(3, dtype=torch.uint8))}
        # An output that is read and written is an input, too, and a run leaves the input alone.
        _, (added, most) = open_declared("torch:(counts + (x > LEAST).sum(1), x.amax(1).to(torch.uint8))", inputs, outputs, {"LEAST": 4})
        self.assertEqual((added.tolist(), most.tolist()), ([7, 10, 11], [3, 7, 11]))
        with self.assertRaisesRegex(basics.Refused, "returned 1 outputs, not 2: counts, most"):
            open_declared("torch:counts + 1", inputs, outputs, {})
        with self.assertRaisesRegex(basics.Refused, "returned as most torch.float64, not torch.uint8"):
            open_declared("torch:(counts + 1, x.amax(1))", inputs, outputs, {})
        with self.assertRaisesRegex(basics.Refused, "inputs: the kernel changed counts"):
            open_declared("torch:(counts.add_(1).clone(), x.amax(1).to(torch.uint8))", inputs, outputs, {})

    def test_only_floats_may_vary(self):
        held = types.SimpleNamespace(words={"y": "f32", "n": "i32"}, outs={"y": 0, "n": 0}, varies_within=0.1)
        y, n = torch.ones(4), torch.ones(4, dtype=torch.int32) * 1000
        self.assertTrue(problem.Problem.same(held, (y * 1.01, n), (y, n)))
        self.assertFalse(problem.Problem.same(held, (y, n + 1), (y, n)))

    def test_refused_rivals(self):
        for expression, reason in {
                "x * weigth": "the expression: name 'weigth' is not defined; it may use x, weight, ROWS, COLUMNS, torch, F",
                "x *": "'x *' is no expression of Python: invalid syntax",
                "x.float()": "the expression returned torch.float32, not torch.float16",
                "x[:1]": "the expression returned a view of an input, which computes nothing",
                "x.sum(1)": "the expression returned the shape (5,), not (5, 16)",
                "ROWS": "the expression returned a int, not a tensor",
                "x.to('meta')": "the expression returned a tensor that is not on the GPU",
                "x @ x": "the expression raised RuntimeError: mat1 and mat2 shapes cannot be multiplied (5x16 and 5x16)"}.items():
            self.assertEqual(declared_refusal(f"torch:{expression}"), reason)
        self.assertEqual(declared_refusal("torch.compile:torch._dynamo.graph_break() or x * 2")[:20], "torch.compile raised")
        self.assertIn("unexpected keyword argument 'ROWS'", declared_refusal("python:FILE:columns"))
        with mock.patch.object(torch, "uint32"):
            del torch.uint32
            inputs = {"x": ("u32", torch.zeros(4, dtype=torch.int32))}
            with self.assertRaisesRegex(basics.Refused, f"PyTorch {torch.__version__} has no type u32".replace("+", ".")):
                open_declared("torch:x + 1", inputs, inputs, {})

    def test_triton_has_a_folder_that_it_may_make(self):
        with tempfile.TemporaryDirectory() as home, mock.patch.dict("os.environ", {"HOME": home}):
            os.environ.pop("TRITON_CACHE_DIR", None)
            (pathlib.Path(home) / ".triton").mkdir()
            basics.name_cache_of_triton()
            self.assertNotIn("TRITON_CACHE_DIR", os.environ)
            (pathlib.Path(home) / ".triton").rmdir()
            basics.name_cache_of_triton()
            self.assertTrue(os.environ["TRITON_CACHE_DIR"].startswith(tempfile.gettempdir()))

    def test_refusals(self):
        assert refusal("flash", sizes_of("padding:7")) == "it is not given the lengths"
        assert refusal("math", sizes_of("none"), sink=True) == "it is not given the sink"
        assert refusal("flex", sizes_of("none"), sink=True) == "it is not given the sink"
        assert refusal("fa4", sizes_of("none"), alibi=True) == "it is not given the alibi"
        assert refusal("fa4", sizes_of("none"), bias=(WHOLE, PLAIN)) == "it is not given the bias"
        for mask in ("padding-left:7", "causal+padding:13,9,13"):
            assert refusal("fa4", sizes_of(mask)).endswith("without another mask, not " + mask)


if __name__ == "__main__":
    sys.exit(unittest.main())
