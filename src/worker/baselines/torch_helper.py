"""torch_helper.py - orders as JSON lines to outputs and times of PyTorch's attention and its neighbours'.

fatune starts it (torch_process.cpp), and a hand can talk to it: echo '{"do": "hello"}' | python3 torch_helper.py
Each line holds one order; its answer is one line: {"ok": true, ...} or {"ok": false, "kind": "environment" or "failed",
"reason": "...", "ends": whether the helper ends now}. What PyTorch says besides goes to stderr. The orders:

  hello    versions and the device; of neighbours, the packages beside PyTorch, empty where one is not installed
  load     {backend}: imports a neighbour, as open does
  problem  {problem, strides, memory, flush_bytes, layer}: frees the problem before; `memory` says where q, k, v and out begin
           in a file, `strides` how they lie in it, `layer` {layers, tokens, hidden, packed, cached_keys} what to time it
           in, or null
  open     {backend}: forces flash, cudnn, efficient or math, or leaves the choice to PyTorch (auto), or takes a neighbour
           (flashinfer, fa4); says which one runs
  run      {backend, upload}: one pass; `upload` takes the inputs from the memory first, the output always goes there
  prepare  {backend, upload}: makes a graph of launches, ready to be timed
  turn     {backend, cold_launches}: {hot_us, cold_us} of a launch, by the method of docs/measuring.md
  layer_turn {backend}: in_layer_us where the problem came with a layer, and whether it was `steady`; else nothing
"""
import sys

if sys.path and sys.path[0] == "":
    del sys.path[0]  # what happens to lie in the present folder is none of our modules

import contextlib
import gc
import importlib
import importlib.metadata
import importlib.util
import json
import math
import mmap
import os
import pathlib
import statistics
import threading
import traceback
import warnings

GRAPH_US = 400  # of a replay; this and the next three as in src/worker/timing/sampler.hpp and src/worker/device/judged.cpp
MAX_GRAPH_LAUNCHES = 256
SLOW_US = 1_000  # a launch this long is measured cold once a turn
LONG_US = 20_000  # one launch stands for hot and cold
STEADY = 0.005  # as in src/worker/timing/layer_time.hpp
MOST_PASSES = 8  # over all layers in a replay, as in src/worker/timing/layer.cpp
ELEMENT_BYTES = {"e4m3": 1, "e5m2": 1, "f16": 2, "bf16": 2, "f32": 4}
HIDE_CYCLES = 1_000_000  # chosen: half a millisecond, in which Python queues any of these calls

PATIENCE_S = 20  # chosen: fatune waits 30 s for an answer
COMPILES = "{} compiles its kernels for this problem, which it does once and which may take minutes; try again then"

torch = None


class Refused(Exception):
    """An answer that is no; `kind` is for the reader's outcome."""

    def __init__(self, reason, kind="failed"):
        super().__init__(reason)
        self.kind = kind


def shortened(error):
    """The first line of what PyTorch says, without the places in its sources."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].split(" (Triggered internally")[0][:300]


def import_torch():
    global torch
    try:
        module = importlib.import_module("torch")
        importlib.import_module("torch.nn.attention")
    except (ImportError, OSError) as error:
        raise Refused(f"{sys.executable} has no PyTorch that can be used: {shortened(error)}", "environment")
    if not module.cuda.is_available():
        if module.version.cuda is None:
            raise Refused(f"PyTorch {module.__version__} of {sys.executable} is built without CUDA", "environment")
        try:
            module.cuda.init()
            reason = "no reason given"
        except Exception as error:
            reason = shortened(error)
        raise Refused(f"PyTorch {module.__version__} finds no GPU: {reason}", "environment")
    torch = module
    torch.set_grad_enabled(False)


def installed(package):
    """Its version without importing it; empty if there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def not_usable(kind, error):
    return Refused(f"{sys.executable} has no {kind.TITLE} that can be used: {shortened(error)}; install it beside PyTorch "
                   f"with 'pip install {kind.PACKAGE}'", "environment")


def import_neighbour(kind):
    try:
        return importlib.import_module(kind.MODULE)
    except Exception as error:  # they look for compilers and devices
        raise not_usable(kind, error)


def in_time(work, what):
    """What the work returns. Work that takes too long is refused with `what`, and goes on meanwhile."""
    results, errors = [], []

    def run():
        try:
            results.append(work())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    if thread.is_alive():
        raise Refused(what)
    if errors:
        raise errors[0]
    return results[0]


def hello():
    import_torch()
    cudnn = torch.backends.cudnn.version() or 0
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}" if cudnn else "",
        "neighbours": {name: installed(kind.PACKAGE) for name, kind in NEIGHBOURS.items()},
        "device": torch.cuda.get_device_name(0),
    }


def type_of(word):
    return {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "f16": torch.float16, "bf16": torch.bfloat16,
            "f32": torch.float32}[word]


def same_bits(a, b):
    return torch.equal(a.contiguous().view(torch.int16), b.contiguous().view(torch.int16))


def difference(a, b):
    """The norm of a - b over that of b; infinite for a NaN."""
    a, b = a.float(), b.float()
    part = float((a - b).norm()) / max(float(b.norm()), 1e-30)
    return part if math.isfinite(part) else math.inf


def captured(warm_up, warm_ups, work, times):
    """A graph of the work so many times; before it, some runs on a stream of their own, in which libraries settle."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm_ups):
            warm_up()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            work()
    return graph


def timed(*works):
    """Microseconds of each, one behind the other, between events, queued while the device is kept waiting, so that
    Python's slowness is not part of it."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(1 + len(works))]
    if hasattr(torch.cuda, "_sleep"):
        torch.cuda._sleep(HIDE_CYCLES)
    events[0].record()
    for work, end in zip(works, events[1:]):
        work()
        end.record()
    events[-1].synchronize()
    return [begin.elapsed_time(end) * 1e3 for begin, end in zip(events, events[1:])]


class Problem:
    """The tensors of a problem, on the device and in the memory shared with fatune."""

    def __init__(self, order):
        sizes, memory = order["problem"], order["memory"]
        self.causal = sizes["mask"] == "causal"
        self.gqa = sizes["kv_heads"] != sizes["heads"]
        self.scale = sizes.get("scale")  # none: 1/sqrt(head_dim)
        self.dtype = type_of(sizes["dtype"])
        query = (sizes["batch"], sizes["heads"], sizes["seq_q"], sizes["head_dim"])
        key = (sizes["batch"], sizes["kv_heads"], sizes["seq_kv"], sizes["head_dim"])
        with open(memory["path"], "r+b") as file:
            mapped = mmap.mmap(file.fileno(), memory["bytes"])
        self.shapes, self.strides = {"q": query, "k": key, "v": key, "out": query}, dict(order["strides"])
        self.words = dict.fromkeys("qkv", sizes["dtype"]) | {"out": sizes.get("out_dtype", sizes["dtype"])}
        self.factors = [name for name in memory["places"] if name.endswith("_descale")]
        for name in self.factors:  # of each key head
            self.shapes[name], self.strides[name], self.words[name] = key[:2], (key[1], 1), "f32"
        self.places = memory["places"]
        whole = torch.frombuffer(mapped, dtype=torch.int16, count=memory["bytes"] // 2, offset=0)
        self.out = self.view("out", whole)
        self.host_inputs = whole[:self.places["out"] // 2]
        self.inputs = torch.zeros(self.places["out"] // 2, dtype=torch.int16, device="cuda")
        self.device = {name: self.view(name, self.inputs) for name in ["q", "k", "v", *self.factors]}
        l2_bytes = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0)
        self.flush = torch.empty(max(2 * l2_bytes, order["flush_bytes"], 1), dtype=torch.uint8, device="cuda")
        self.varies_within = order["varies_within"]
        self.contestants = {}
        self.layer_plan, self.layer = order.get("layer"), None

    def view(self, name, memory):
        word = self.words[name]
        return torch.as_strided(memory.view(type_of(word)), self.shapes[name], self.strides[name],
                                self.places[name] // ELEMENT_BYTES[word])

    def upload(self):
        self.inputs.copy_(self.host_inputs)
        self.untouched = self.inputs.clone()
        for contestant in self.contestants.values():
            contestant.expected = None

    def in_layer(self, call):
        """A graph of the layers, where the problem came with some."""
        if not self.layer_plan:
            return None
        self.layer = self.layer or Layer(self, self.layer_plan)
        return self.layer.graph(call)

    def check_inputs(self):
        if same_bits(self.inputs, self.untouched):
            return
        changed = [name for name in self.device if not same_bits(self.device[name], self.view(name, self.untouched))]
        raise Refused(f"inputs: the kernel changed {', '.join(changed) or 'what lies between rows'}")


class Layer:
    """Attention between its two products, over layers with weights of their own: as Layer of src/worker/timing/layer.hpp,
    with PyTorch's products. Rows with gaps between them have no layer here."""

    def __init__(self, problem, plan):
        self.problem, self.tokens, self.hidden = problem, plan["tokens"], plan["hidden"]
        dtype, scale = problem.dtype, self.hidden ** -0.5

        def weights(columns):
            return torch.randn(columns, self.hidden, device="cuda").mul_(scale).to(dtype)

        self.hidden_states = torch.randn(self.tokens, self.hidden, device="cuda").to(dtype)
        self.last_output = torch.randn(self.tokens, self.hidden, device="cuda").to(dtype)
        columns = {name: problem.shapes[name][1] * problem.shapes[name][3] for name in "qkv"}
        self.packed, self.cached = plan["packed"], plan["cached_keys"]
        written = ["q"] if self.cached else ["q", "k", "v"]
        sizes = [sum(columns.values())] if self.packed else [columns[name] for name in written]
        self.firsts = {"q": 0, "k": columns["q"], "v": columns["q"] + columns["k"]} if self.packed else dict.fromkeys("qkv", 0)
        self.written = written
        self.layers = [{"before": [weights(size) for size in sizes], "after": weights(self.hidden),
                        "cache": {name: self.cache(name) for name in "qkv" if name not in written}}
                       for _ in range(plan["layers"])]
        strides = problem.strides["out"]
        self.by_token = strides[1] <= strides[2]
        self.passes = 1
        self.without = self.graph(None)
        pass_us = timed(self.without.replay, self.without.replay)[1]
        self.passes = min(MOST_PASSES, math.ceil(GRAPH_US / max(pass_us, 1e-3)))
        if self.passes > 1:
            self.without = self.graph(None)

    def cache(self, name):
        shape, strides = self.problem.shapes[name], self.problem.strides[name]
        span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
        return torch.randn(span, device="cuda").to(self.problem.dtype).as_strided(shape, strides)

    def pass_through(self, call):
        linear = torch.nn.functional.linear
        for layer in self.layers:
            results = [linear(self.hidden_states, weights) for weights in layer["before"]]
            output = self.last_output
            if call is not None:
                tensors = dict(layer["cache"])
                for i, name in enumerate(self.written):
                    memory = results[0 if self.packed else i]
                    tensors[name] = memory.as_strided(self.problem.shapes[name], self.problem.strides[name],
                                                      self.firsts[name])
                output = self.as_it_lies(call(tensors))
            linear(output, layer["after"])

    def as_it_lies(self, output):
        """Rows of the next product. Without a copy, in whatever order an output of another layout than asked has them."""
        span = 1 + sum((size - 1) * stride for size, stride in zip(output.shape, output.stride()))
        if not self.by_token and span == math.prod(output.shape):
            return output.as_strided((self.tokens, self.hidden), (self.hidden, 1))
        return (output.transpose(1, 2) if self.by_token else output).reshape(self.tokens, self.hidden)

    def graph(self, call):
        """One or more passes over all layers, so that a replay is long against the jitter of events."""
        return captured(lambda: self.pass_through(call), 1, lambda: self.pass_through(call), self.passes)


class Contestant:
    """One implementation on a problem: the call, its graph, and the output that timed launches must leave."""

    library = ""  # where it is none of PyTorch's

    def __init__(self, problem, name):
        self.problem, self.name = problem, name
        self.notes = []  # what a reader of the time must know
        self.graph, self.launches, self.each_us = None, 1, 0.0
        self.in_layer = None  # a graph
        self.expected, self.output = None, None
        self.ran = self.first_run()

    def call(self, tensors=None):
        """Attention of q, k and v, (batch, heads, rows, head_dim) in any memory format; the problem's unless others are
        given."""
        raise NotImplementedError

    def call_in_layer(self, tensors=None):
        return self.call(tensors)

    def first_run(self):
        """Shows that it can do the problem; the name of what does."""
        raise NotImplementedError

    def forced(self):
        return contextlib.nullcontext()

    def note_layout(self, output):
        lies = [stride for size, stride in zip(output.shape, output.stride()) if size > 1]
        wanted = [stride for size, stride in zip(output.shape, self.problem.strides["out"]) if size > 1]
        if lies != wanted:
            self.notes.append("its output lies otherwise than asked")

    def call_and_keep(self):
        self.output = None  # so that each launch of a graph has the same memory for it
        self.output = self.call()

    def run(self):
        with self.forced():
            output = self.call()
        self.problem.out.copy_(output)
        torch.cuda.synchronize()
        self.problem.check_inputs()

    def prepare(self):
        self.graph, self.output = None, None
        with self.forced():
            self.expected = self.call().clone()
            self.each_us = min(timed(self.call)[0] for _ in range(3))
            self.launches = max(1, min(MAX_GRAPH_LAUNCHES, math.ceil(GRAPH_US / max(self.each_us, 1e-3))))
            if self.each_us >= LONG_US:
                return
            self.graph = captured(self.call, 3, self.call_and_keep, self.launches)
            self.in_layer = self.problem.in_layer(self.call_in_layer)
        self.graph.replay()
        torch.cuda.synchronize()
        self.check_output(self.output)

    def check_output(self, output):
        """The output of an untimed launch passed fatune's gates; a timed one must leave the same, but for what a
        library that adds up in no fixed order may differ by."""
        if same_bits(output, self.expected):
            return
        if difference(output, self.expected) > self.problem.varies_within:
            raise Refused("accuracy: the timed launches leave another output than a single one")

    def turn(self, cold_launches):
        if self.expected is None:
            with self.forced():
                self.expected = self.call().clone()
        if self.graph is None:
            with self.forced():
                both_us = timed(self.call_and_keep)[0]
            self.check_output(self.output)
            return {"hot_us": both_us, "cold_us": both_us}
        # Twice: the contestant before left the caches empty of this one's data.
        hot_us = timed(self.graph.replay, self.graph.replay)[1] / self.launches
        self.check_output(self.output)
        cold_us = []
        with self.forced():
            for _ in range(1 if self.each_us >= SLOW_US else cold_launches):
                self.problem.flush.zero_()
                cold_us += timed(self.call)
        return {"hot_us": hot_us, "cold_us": statistics.median(cold_us)}

    def layer_turn(self):
        """A layer with attention less its neighbours without, and whether those took as long behind as before."""
        if self.in_layer is None:
            return {}
        layer = self.problem.layer
        without = layer.without.replay
        before, within, behind = timed(without, without, self.in_layer.replay, without)[1:]
        attention = within - (before + behind) / 2
        return {"in_layer_us": attention / (len(layer.layers) * layer.passes),
                "steady": abs(behind - before) <= STEADY * max(before, attention)}


def starts(count, step):
    """Where each of the batch begins, and the last ends."""
    return torch.arange(count + 1, dtype=torch.int32, device="cuda") * step


def by_token(tensor):
    """(tokens, heads, head_dim) of (batch, heads, rows, head_dim), whose tokens are one behind the other."""
    size, stride = tensor.shape, tensor.stride()
    return tensor.as_strided((size[0] * size[2], size[1], size[3]), (stride[2], stride[1], 1))


def refuse_other_tokens(problem, title):
    for name in "qkv":
        shape, stride = problem.shapes[name], problem.strides[name]
        if shape[0] > 1 and stride[0] != shape[2] * stride[2]:
            raise Refused(f"{title} cannot do this: it takes tokens one behind the other, batch after batch, as bshd and "
                          f"packed have them; {name} lies otherwise")


class Sdpa(Contestant):
    """One backend of PyTorch's scaled_dot_product_attention, forced, or its own choice."""

    BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION",
                "math": "MATH"}

    def __init__(self, problem, name):
        self.backend = None
        if name != "auto":
            self.backend = getattr(torch.nn.attention.SDPBackend, self.BACKENDS[name], None)
            if self.backend is None:
                raise Refused(f"PyTorch {torch.__version__} has no backend {name}; a newer one has", "environment")
        self.options = {"dropout_p": 0.0}
        if problem.scale is not None:
            self.options["scale"] = problem.scale
        if problem.gqa:
            self.options["enable_gqa"] = True
        super().__init__(problem, name)

    def mask_causal(self):
        """Our causal mask is aligned bottom-right, is_causal top-left: the same for a square only. True for the bias
        that tells the fused kernels so; the others take a mask of booleans."""
        if not self.problem.causal:
            return False
        queries, keys = self.problem.device["q"].size(2), self.problem.device["k"].size(2)
        if queries == keys:
            self.options["is_causal"] = True
            return False
        if self.name in ("cudnn", "math"):
            ones = torch.ones(queries, keys, dtype=torch.bool, device="cuda")
            self.options["attn_mask"] = ones.tril(diagonal=keys - queries)
            self.notes.append("the mask as a tensor")
            return False
        from torch.nn.attention.bias import causal_lower_right

        self.options["attn_mask"] = causal_lower_right(queries, keys)
        return True

    def forced(self):
        if self.backend is None:
            return contextlib.nullcontext()
        return torch.nn.attention.sdpa_kernel([self.backend])

    def call(self, tensors=None):
        tensors = tensors or self.problem.device
        return torch.nn.functional.scaled_dot_product_attention(tensors["q"], tensors["k"], tensors["v"],
                                                                **self.options)

    def choice(self):
        """The name of the backend that PyTorch's own rule, the one that its call applies, takes here."""
        q, k, v = (self.problem.device[name] for name in "qkv")
        gqa = self.problem.gqa
        mask, causal = self.options.get("attn_mask"), self.options.get("is_causal", False)
        if self.lower_right:
            from torch.backends.cuda import SDPAParams, can_use_efficient_attention, can_use_flash_attention

            parameters = SDPAParams(q, k, v, None, 0.0, False, gqa)
            if can_use_flash_attention(parameters):
                return "flash"
            if can_use_efficient_attention(parameters):
                return "efficient"
            mask, causal = torch.ones(q.size(2), k.size(2), dtype=torch.bool, device="cuda"), False
        more = {"enable_gqa": True} if gqa else {}
        number = torch._fused_sdp_choice(q, k, v, mask, 0.0, causal, **more)
        for name, constant in self.BACKENDS.items():
            backend = getattr(torch.nn.attention.SDPBackend, constant, None)
            if backend is not None and int(getattr(backend, "value", backend)) == number:
                return name
        return f"backend {number}"

    def first_run(self):
        """Shows that the backend can do the problem, and that it is the one that does."""
        self.lower_right = self.mask_causal()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                with self.forced():
                    output = self.call()
                    torch.cuda.synchronize()
                    ran = self.choice()
            except RuntimeError as error:
                if "out of memory" in str(error):
                    raise
                reasons = [shortened(warning.message) for warning in said]
                reasons = [text for text in reasons
                           if "runtime disabled" not in text and not text.endswith("not used because:")]
                raise Refused(f"PyTorch's {self.name} cannot do this: {'; '.join([shortened(error)] + reasons)}")
        if self.backend is not None and ran != self.name:
            raise Refused(f"PyTorch was told to use {self.name} and used {ran}")
        self.note_layout(output)
        return ran


class FlashInfer(Contestant):
    """FlashInfer by the fastest of its ways: planned once, launched plainly; in a layer, whose products are plain, it may
    begin early. Its kernels take tokens one behind the other, so that a batch in another layout is refused."""

    TITLE, PACKAGE, MODULE = "FlashInfer", "flashinfer-python", "flashinfer"
    WORKSPACE_BYTES = 128 << 20  # as its documentation advises

    @classmethod
    def load(cls):
        return import_neighbour(cls)

    def __init__(self, problem, name):
        self.module = self.load()
        self.library = f"{self.TITLE} {self.module.__version__}"
        self.run_way = None
        super().__init__(problem, name)

    def call(self, tensors=None):
        return self.run_way(tensors or self.problem.device, False)

    def call_in_layer(self, tensors=None):
        return self.run_way(tensors or self.problem.device, True)

    def first_run(self):
        """Each way once, then some launches for the time."""
        best, refusals = None, []
        for name, make in self.ways().items():
            try:
                self.run_way = in_time(make, COMPILES.format(self.TITLE))
                output = self.call()
                torch.cuda.synchronize()
                each_us = min(timed(self.call)[0] for _ in range(3))
            except Exception as error:
                if isinstance(error, Refused) or "out of memory" in str(error):
                    raise
                refusals.append(f"{name}: {shortened(error)}")
                continue
            if best is None or each_us < best[0]:
                best = (each_us, name, self.run_way, output)
        if best is None:
            raise Refused(f"FlashInfer cannot do this: {'; '.join(refusals)}")
        self.run_way = best[2]
        self.note_layout(best[3])
        return best[1]

    def ways(self):
        """Functions that plan, by name; what they return takes tensors, and whether it may begin early."""
        if self.problem.shapes["q"][2] == 1:
            return {"decode": lambda: self.decode(False), "decode on tensor cores": lambda: self.decode(True)}
        backends = ["fa2"]
        if torch.cuda.get_device_capability(0) == (9, 0):
            backends.insert(0, "fa3")
        return {backend: lambda backend=backend: self.prefill(backend) for backend in backends}

    def workspace(self):
        return torch.zeros(self.WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")

    def prefill(self, backend):
        batch, heads, queries, head_dim = self.problem.shapes["q"]
        _, kv_heads, keys, _ = self.problem.shapes["k"]
        refuse_other_tokens(self.problem, self.TITLE)
        wrapper = self.module.BatchPrefillWithRaggedKVCacheWrapper(self.workspace(), "NHD", backend=backend)
        wrapper.plan(starts(batch, queries), starts(batch, keys), heads, kv_heads, head_dim,
                     causal=self.problem.causal, q_data_type=self.problem.dtype)

        def run(tensors, begins_early):
            output = wrapper.run(*(by_token(tensors[name]) for name in "qkv"), enable_pdl=begins_early)
            return output.as_strided((batch, heads, queries, head_dim),
                                     (queries * heads * head_dim, head_dim, heads * head_dim, 1))

        return run

    def decode(self, tensor_cores):
        """Keys as pages of a few tokens, which any layout has whose batches are whole pages apart."""
        batch, heads, _, head_dim = self.problem.shapes["q"]
        _, kv_heads, keys, _ = self.problem.shapes["k"]
        stride = self.problem.strides["k"]
        if stride != self.problem.strides["v"]:
            raise Refused("FlashInfer cannot do this: its keys and values have the same strides")
        page = next((page for page in (16, 8, 4, 2, 1)
                     if keys % page == 0 and (batch == 1 or stride[0] % (page * stride[2]) == 0)), None)
        if page is None:
            raise Refused("FlashInfer cannot do this: a batch entry's keys begin between two rows")
        pages = keys // page
        apart = pages if batch == 1 else stride[0] // (page * stride[2])
        first = torch.arange(batch, dtype=torch.int32, device="cuda") * apart
        indices = (first[:, None] + torch.arange(pages, dtype=torch.int32, device="cuda")).reshape(-1)
        wrapper = self.module.BatchDecodeWithPagedKVCacheWrapper(
            self.workspace(), "NHD", use_tensor_cores=tensor_cores, backend="fa2" if tensor_cores else "auto")
        wrapper.plan(starts(batch, pages), indices,
                     torch.full((batch,), page, dtype=torch.int32, device="cuda"), heads, kv_heads, head_dim, page,
                     q_data_type=self.problem.dtype, kv_data_type=self.problem.dtype)

        def paged(tensor):
            return tensor.as_strided(((batch - 1) * apart + pages, page, kv_heads, head_dim),
                                     (page * stride[2], stride[2], stride[1], 1))

        def run(tensors, begins_early):
            q = tensors["q"]
            output = wrapper.run(q.as_strided((batch, heads, head_dim), (q.stride()[0], q.stride()[1], 1)),
                                 (paged(tensors["k"]), paged(tensors["v"])), enable_pdl=begins_early)
            return output.as_strided((batch, heads, 1, head_dim), (heads * head_dim, head_dim, head_dim, 1))

        return run


class JustInTime(Contestant):
    """A package that compiles its kernel for this architecture when it is first called."""

    TITLE = PACKAGE = MODULE = FUNCTION = ""

    @classmethod
    def load(cls):
        return getattr(import_neighbour(cls), cls.FUNCTION)

    def __init__(self, problem, name):
        self.attend = self.load()
        self.library = f"{self.TITLE} {installed(self.PACKAGE)}"
        super().__init__(problem, name)

    def first_run(self):
        try:
            output = in_time(self.call, COMPILES.format(self.TITLE))
            torch.cuda.synchronize()
        except Exception as error:
            if isinstance(error, Refused) or "out of memory" in str(error):
                raise
            raise Refused(f"{self.TITLE} cannot do this: {shortened(error)}")
        self.note_layout(output)
        return "sm_{}{}".format(*torch.cuda.get_device_capability(0))


class FlashAttention4(JustInTime):
    """FlashAttention-4's forward for this architecture, on tensors as they lie."""

    TITLE, PACKAGE, MODULE, FUNCTION = "FlashAttention-4", "flash-attn-4", "flash_attn.cute", "flash_attn_func"

    def call(self, tensors=None):
        tensors = tensors or self.problem.device
        output = self.attend(*(tensors[name].transpose(1, 2) for name in "qkv"), causal=self.problem.causal)
        return (output[0] if isinstance(output, tuple) else output).transpose(1, 2)


class SageAttention(JustInTime):
    """SageAttention's forward with q and k in 8 bits, which it quantizes itself: a rival of kernels that quantize, and too
    inexact for problems of 16 bits."""

    TITLE, PACKAGE, MODULE, FUNCTION = "SageAttention", "sageattention", "sageattention", "sageattn"

    def call(self, tensors=None):
        q, k, v = ((tensors or self.problem.device)[name] for name in "qkv")
        # It would take the mean out of the caller's own K.
        k = k - k.mean(dim=2, keepdim=True)
        strides = self.problem.strides["out"]
        tokens_first = strides[1] <= strides[2]
        if tokens_first:
            q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
        output = self.attend(q, k, v, tensor_layout="NHD" if tokens_first else "HND", is_causal=self.problem.causal,
                             sm_scale=self.problem.scale, smooth_k=False)
        return output.transpose(1, 2) if tokens_first else output

    def first_run(self):
        shapes = self.problem.shapes
        if self.problem.causal and shapes["q"][2] != shapes["k"][2]:
            raise Refused(f"{self.TITLE} masks as many queries as keys")
        return super().first_run()


class FlashAttention3(Contestant):
    """FlashAttention-3's forward as vLLM brings it, of which nothing else is imported; with fp8 inputs and their factors,
    too. That build takes tokens one behind the other alone. Its schedule may be planned once, or by each launch: the faster
    way."""

    TITLE, PACKAGE, LIBRARY = "FlashAttention-3", "vllm", "vllm_flash_attn/_vllm_fa3_C*.so"
    OPTIONS = {"window_size_left": -1, "window_size_right": -1, "softcap": 0.0, "is_rotary_interleaved": True,
               "has_softcap": False, "max_seqlen_k_new": 0, "num_splits": 0, "sm_margin": 0, "cp_world_size": 1,
               "cp_rank": 0}  # num_splits: its own choice

    def __init__(self, problem, name):
        self.operations = self.load()
        self.library = f"{self.TITLE} of vLLM {installed(self.PACKAGE)}"
        self.schedule = None
        super().__init__(problem, name)

    @classmethod
    def load(cls):
        spec = importlib.util.find_spec(cls.PACKAGE)
        folders = [pathlib.Path(folder) for folder in (spec and spec.submodule_search_locations) or []]
        found = next((file for folder in folders for file in folder.glob(cls.LIBRARY)), None)
        try:
            if found is None:
                raise ImportError(f"there is no {cls.PACKAGE}/{cls.LIBRARY}")
            torch.ops.load_library(found)
        except Exception as error:
            raise not_usable(cls, error)
        return torch.ops._vllm_fa3_C

    def ask(self, operation, **values):
        """By the names of its arguments, which differ between releases; what is not named here is none."""
        names = [argument.name for argument in operation.default._schema.arguments]
        values = {**self.OPTIONS, **values, "is_causal": self.problem.causal}
        return operation(*(values.get(name) for name in names))

    def lengths_of(self):
        batch, _, queries, _ = self.problem.shapes["q"]
        keys = self.problem.shapes["k"][2]
        return {"max_seqlen_q": queries, "max_seqlen_k": keys, "cu_seqlens_q": starts(batch, queries),
                "seqused_k": torch.full((batch,), keys, dtype=torch.int32, device="cuda")}

    def planned(self):
        batch, heads, _, head_dim = self.problem.shapes["q"]
        return self.ask(self.operations.get_scheduler_metadata, **self.lengths, batch_size=batch, num_heads=heads,
                        num_heads_k=self.problem.shapes["k"][1], headdim=head_dim, headdim_v=head_dim,
                        qkv_dtype=self.problem.dtype)

    def call(self, tensors=None):
        tensors, problem = tensors or self.problem.device, self.problem
        batch, heads, rows, head_dim = problem.shapes["q"]
        scale = head_dim ** -0.5 if problem.scale is None else problem.scale
        output = self.ask(self.operations.fwd, **self.lengths, cu_seqlens_k=self.key_starts, softmax_scale=scale,
                          scheduler_metadata=self.schedule, **{name: by_token(tensors[name]) for name in "qkv"},
                          **{name: tensors[name] for name in problem.factors})[0]
        return output.as_strided(problem.shapes["q"], (rows * heads * head_dim, head_dim, heads * head_dim, 1))

    def first_run(self):
        problem = self.problem
        refuse_other_tokens(problem, self.TITLE)
        self.lengths = self.lengths_of()
        self.key_starts = starts(problem.shapes["k"][0], problem.shapes["k"][2])
        try:
            output = self.call()
            torch.cuda.synchronize()
            own_us = min(timed(self.call)[0] for _ in range(3))
            self.schedule = self.planned()
            planned_us = min(timed(self.call)[0] for _ in range(3))
        except RuntimeError as error:
            if "out of memory" in str(error):
                raise
            raise Refused(f"{self.TITLE} cannot do this: {shortened(error)}")
        if own_us < planned_us:
            self.schedule = None
        self.note_layout(output)
        return "scheduled by each launch" if self.schedule is None else "scheduled once"


NEIGHBOURS = {"flashinfer": FlashInfer, "fa3": FlashAttention3, "fa4": FlashAttention4, "sage": SageAttention}


class Helper:
    def __init__(self):
        self.problem = None

    def contestant(self, order):
        contestant = self.problem.contestants[order["backend"]]
        if order.get("upload"):
            self.problem.upload()
        return contestant

    def obey(self, order):
        what = order["do"]
        if what == "hello":
            return hello()
        if what == "load":
            NEIGHBOURS[order["backend"]].load()
            return {}
        if what == "problem":
            self.problem = None
            gc.collect()
            torch.cuda.empty_cache()
            self.problem = Problem(order)
            return {}
        if what == "open":
            kind = NEIGHBOURS.get(order["backend"], Sdpa)
            contestant = kind(self.problem, order["backend"])
            self.problem.contestants[order["backend"]] = contestant
            return {"ran": contestant.ran, "note": ", ".join(contestant.notes), "library": contestant.library}
        if what == "run":
            self.contestant(order).run()
            return {}
        if what == "prepare":
            contestant = self.contestant(order)
            contestant.prepare()
            return {"launches": contestant.launches}
        if what == "turn":
            return self.contestant(order).turn(order["cold_launches"])
        if what == "layer_turn":
            return self.contestant(order).layer_turn()
        raise Refused(f"there is no order '{what}'")


def answer(helper, line):
    try:
        return {"ok": True, **helper.obey(json.loads(line))}
    except Refused as refused:
        return {"ok": False, "kind": refused.kind, "reason": str(refused)}
    except Exception as error:
        traceback.print_exc()
        kind = "out of GPU memory" if "out of memory" in str(error) else type(error).__name__
        return {"ok": False, "kind": "failed", "reason": f"{kind}: {shortened(error)}"}


def device_is_lost():
    """After an illegal address, say, every later call fails."""
    try:
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
    except Exception:
        return True
    return False


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    helper = Helper()
    for line in sys.stdin:
        said = answer(helper, line)
        said["ends"] = not said["ok"] and torch is not None and device_is_lost()
        answers.write(json.dumps(said) + "\n")
        answers.flush()
        if said["ends"]:
            sys.exit("the device is lost to this process")


if __name__ == "__main__":
    main()
