"""torch_export_cases.py: Tests uses of an exported attention function beyond a plain call.

Each function is one case and takes the module and a problem that one of its kernels solves. It returns
None or a description of the fault.
"""
import threading

import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

CASES = {}


def case(function):
    CASES[function.__name__.replace("_", " ")] = function
    return function


def tensors_of(facts, seed=0):
    """q, k and v with the kernel's strides."""
    p = facts["problem"]
    torch.manual_seed(seed)
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[p["dtype"]]
    sizes = ((p["batch"], p["heads"], p["seq_q"]), *[(p["batch"], p["kv_heads"], p["seq_kv"])] * 2)
    made = [torch.empty_strided((*size, p["head_dim"]), facts["strides"][name], device="cuda", dtype=dtype)
            for name, size in zip("qkv", sizes)]
    return [tensor.copy_(torch.randn(tensor.shape, device="cuda", dtype=dtype)) for tensor in made]


def options_of(facts):
    p = facts["problem"]
    return {"is_causal": p["mask"] == "causal", "enable_gqa": p["heads"] != p["kv_heads"]}


def difference(a, b):
    """Relative, in the Euclidean norm."""
    return (torch.linalg.vector_norm(a.float() - b.float()) / torch.linalg.vector_norm(b.float())).item()


def close(a, b, what=""):
    limit = 4e-3 if a.dtype == torch.float16 else 2e-2  # each is within half of it of the exact result
    found = difference(a, b)
    if a.shape != b.shape or a.dtype != b.dtype or not found <= limit:
        return f"{what}differs by {found:.1e}, shape {tuple(a.shape)}, {a.dtype}"
    return None


def same(a, b, what=""):
    return None if torch.equal(a, b) else f"{what}differs by {difference(a, b):.1e}, not at all expected"


@case
def a_graph_replayed_on_new_inputs(module, facts):
    inputs, options = tensors_of(facts), options_of(facts)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = module.sdpa(*inputs, **options)
    for seed in (1, 2):
        for into, new in zip(inputs, tensors_of(facts, seed)):
            into.copy_(new)
        graph.replay()
        wrong = same(out, module.sdpa(*inputs, **options))
        if wrong:
            return wrong
    return None


@case
def the_first_call_of_a_kernel_while_a_graph_is_captured(module, facts):
    kernel = next(kernel for kernel in module._own if kernel.facts is facts)
    kernel.functions.clear()
    module._service.forget()
    return a_graph_replayed_on_new_inputs(module, facts)


@case
def compiled(module, facts, **how):
    inputs, options = tensors_of(facts), options_of(facts)
    compiled_call = torch.compile(lambda q, k, v: module.sdpa(q * 2, k, v, **options) + 1, fullgraph=True, **how)
    for seed in (0, 1):
        inputs = tensors_of(facts, seed)
        wrong = close(compiled_call(*inputs), F.scaled_dot_product_attention(inputs[0] * 2, *inputs[1:], **options) + 1)
        if wrong:
            return wrong
    return None


@case
def compiled_for_any_sizes(module, facts):
    wrong = compiled(module, facts, dynamic=True)
    options = options_of(facts)
    compiled_call = torch.compile(lambda q, k, v: module.sdpa(q, k, v, **options), fullgraph=True, dynamic=True)
    for length in (0, 3, 40):  # a kernel's, then others: one graph, PyTorch's attention inside
        inputs = [tensor[:, :, length:].contiguous() for tensor in tensors_of(facts)]
        wrong = wrong or close(compiled_call(*inputs), F.scaled_dot_product_attention(*inputs, **options))
    return wrong


@case
def compiled_into_cuda_graphs(module, facts):
    return compiled(module, facts, mode="reduce-overhead")


@case
def compiled_with_gradients(module, facts):
    options = options_of(facts)
    compiled_call = torch.compile(lambda q, k, v: module.sdpa(q, k, v, **options), fullgraph=True)
    return gradients(module, facts, compiled_call)


@case
def gradients(module, facts, call=None):
    options = options_of(facts)
    results = []
    for attention in (call or (lambda *t: module.sdpa(*t, **options)),
                      lambda *t: F.scaled_dot_product_attention(*t, **options)):
        inputs = [tensor.requires_grad_() for tensor in tensors_of(facts)]
        attention(*inputs).square().mean().backward()
        results.append([tensor.grad for tensor in inputs])
    return next(filter(None, (close(a, b, f"gradient of {name} ") for name, a, b in zip("qkv", *results))), None)


@case
def another_stream(module, facts):
    options, side = options_of(facts), torch.cuda.Stream()
    for seed in range(20):
        inputs = tensors_of(facts, seed)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            doubled = inputs[0] * 2
            out = module.sdpa(doubled, *inputs[1:], **options)
        torch.cuda.current_stream().wait_stream(side)
        wrong = close(out, F.scaled_dot_product_attention(inputs[0] * 2, *inputs[1:], **options))
        if wrong:
            return wrong
    return None


@case
def work_in_front_and_behind(module, facts):
    """Kernels that begin before the work in front has ended must still see all its results. The work behind them must
    see all of theirs. The allocator gives the same memory again and again."""
    options, results = options_of(facts), []
    inputs = tensors_of(facts)
    for wait in (True, False):
        x, total = inputs[0].clone(), torch.zeros_like(inputs[0], dtype=torch.float32)
        for _ in range(100):
            x = module.sdpa(x.mul_(1.5), *inputs[1:], **options)
            if wait:
                torch.cuda.synchronize()
            total += x
            x = inputs[0] + x
        results.append(total)
    return same(*results)


@case
def threads_that_had_no_context(module, facts):
    options, wrong = options_of(facts), []
    inputs = tensors_of(facts)
    expected = module.sdpa(*inputs, **options)
    torch.cuda.synchronize()

    def work():
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    wrong.append(same(module.sdpa(*inputs, **options), expected))
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return next(filter(None, wrong), None) or (None if len(wrong) == 200 else f"{len(wrong)} results, not 200")


def packed(tensors):
    """q, k and v as parts of one (batch, seq, heads + 2 kv_heads, head_dim), and that."""
    whole = torch.cat([tensor.transpose(1, 2) for tensor in tensors], dim=2)
    return [part.transpose(1, 2) for part in whole.split([tensor.shape[1] for tensor in tensors], dim=2)], whole


def layouts(tensor):
    """The same values in other memory."""
    batch, heads, seq, dim = tensor.shape

    def empty(*shape):
        return torch.empty(*shape, device=tensor.device, dtype=tensor.dtype)

    made = {"contiguous": empty(batch, heads, seq, dim),
            "rows first": empty(batch, seq, heads, dim).transpose(1, 2),
            "a part of packed q, k, v": empty(batch, seq, 3, heads, dim)[:, :, 1].transpose(1, 2),
            "half of the heads": empty(batch, seq, 2 * heads, dim)[:, :, heads:].transpose(1, 2),
            "padded rows": empty(batch, heads, seq, dim + 8)[..., :dim],
            "batches between heads": empty(seq, heads, batch, dim).permute(2, 1, 0, 3),
            "oddly padded rows": empty(batch, heads, seq, dim + 1)[..., :dim],
            "columns first": empty(batch, heads, dim, seq).transpose(2, 3),
            "an address off by 2 bytes": empty(tensor.numel() + 1)[1:].view_as(tensor)}
    return {name: memory.copy_(tensor) for name, memory in made.items()}


def steps(tensor):
    """Strides, but of dimensions of one, where they mean nothing."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1]


@case
def tensors_that_are_not_contiguous(module, facts):
    inputs, options = tensors_of(facts), options_of(facts)
    expected = F.scaled_dot_product_attention(*inputs, **options)
    for name in layouts(inputs[0]):
        for which in (0, 1, 2, None):
            given = [layouts(t)[name] if which in (i, None) else t for i, t in enumerate(inputs)]
            wrong = close(module.sdpa(*given, **options), expected, f"{name}: ")
            if wrong:
                return wrong
    repeated = [inputs[0], *(t[:, :1].expand_as(t) for t in inputs[1:])]
    return close(module.sdpa(*repeated, **options), F.scaled_dot_product_attention(*repeated, **options), "expanded: ")


@case
def outputs_lie_in_memory_as_pytorchs_do(module, facts):
    inputs, options = tensors_of(facts), options_of(facts)
    for name in layouts(inputs[0]):
        given = [layouts(tensor)[name] for tensor in inputs]
        ours, theirs = module.sdpa(*given, **options), F.scaled_dot_product_attention(*given, **options)
        if name not in ("oddly padded rows", "an address off by 2 bytes") and steps(ours) != steps(theirs):
            return f"{name}: strides {ours.stride()}, PyTorch's {theirs.stride()}; {module.explain(*given, **options)}"
    (q, k, v), _ = packed(inputs)
    out = module.sdpa(q, k, v, **options)
    rows = out.transpose(1, 2).reshape(q.shape[0], q.shape[2], -1)
    return None if rows.data_ptr() == out.data_ptr() else "the rows of a packed query's output had to be copied"


@case
def a_graph_of_parts_of_a_packed_tensor(module, facts):
    options = options_of(facts)
    inputs, whole = packed(tensors_of(facts))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = module.sdpa(*inputs, **options).transpose(1, 2).flatten(2)
    for seed in (1, 2):
        new = tensors_of(facts, seed)
        whole.copy_(packed(new)[1])
        graph.replay()
        wrong = close(out, F.scaled_dot_product_attention(*new, **options).transpose(1, 2).flatten(2))
        if wrong:
            return wrong
    return None


@case
def parts_of_a_packed_tensor_compiled(module, facts):
    inputs, options = tensors_of(facts), options_of(facts)
    counts = [tensor.shape[1] for tensor in inputs]

    def layer(whole, attention):
        out = attention(*(part.transpose(1, 2) for part in (whole * 2).split(counts, dim=2)), **options)
        return out, out.transpose(1, 2).flatten(2) + 1

    for dynamic in (False, True):
        compiled_layer = torch.compile(lambda whole: layer(whole, module.sdpa), fullgraph=True, dynamic=dynamic)
        for seed in (0, 1):
            _, whole = packed(tensors_of(facts, seed))
            ours, theirs = compiled_layer(whole), layer(whole, F.scaled_dot_product_attention)
            wrong = close(ours[0], theirs[0]) or close(ours[1], theirs[1])
            if wrong or steps(ours[0]) != steps(theirs[0]):
                return wrong or f"strides {ours[0].stride()}, PyTorch's {theirs[0].stride()}"
    return None


@case
def a_causal_mask_as_an_object(module, facts):
    q, k, v = tensors_of(facts)
    q = q[:, :, -100:]
    mask = causal_lower_right(q.shape[2], k.shape[2])
    return close(module.sdpa(q, k, v, mask), F.scaled_dot_product_attention(q, k, v, mask))


@case
def automatic_mixed_precision(module, facts):
    inputs, options = [tensor.float() for tensor in tensors_of(facts)], options_of(facts)
    with torch.autocast("cuda", dtype=torch.float16):
        return close(module.sdpa(*inputs, **options), F.scaled_dot_product_attention(*inputs, **options))


@case
def a_batch_dimension_of_vmap(module, facts):
    inputs, options = [tensor[None].expand(2, *tensor.shape) for tensor in tensors_of(facts)], options_of(facts)
    out = torch.vmap(lambda *t: module.sdpa(*t, **options))(*inputs)
    return close(out[1], F.scaled_dot_product_attention(*(t[1] for t in inputs), **options))


@case
def checks_of_the_operator(module, facts):
    options = options_of(facts)
    for inputs in (tensors_of(facts), packed(tensors_of(facts))[0]):
        for operator in (torch.ops.fatune.sdpa.default, torch.ops.fatune._sdpa_kernel.default):
            torch.library.opcheck(operator, tuple(inputs), options, rtol=4e-3, atol=4e-3)
    return None


@case
def misuse(module, facts):
    q, k, v = tensors_of(facts)
    for arguments, error in (((q, k, v.cpu()), ValueError), ((q, k.float(), v), ValueError),
                             ((q, k, [1]), TypeError), ((q, k, v[:, :, 1:]), ValueError),
                             ((q[..., :32], k, v), ValueError)):
        try:
            module.sdpa(*arguments)
            return f"no {error.__name__} for {[getattr(t, 'shape', t) for t in arguments]}"
        except error:
            continue
    empty = module.sdpa(q[:0], k[:0], v[:0])
    return None if empty.shape == q[:0].shape else f"an empty batch gives {empty.shape}"


@case
def every_device(module, facts):
    inputs, options = tensors_of(facts), options_of(facts)
    expected = module.sdpa(*inputs, **options)
    for index in range(torch.cuda.device_count()):  # the current device stays 0
        given = [tensor.to(f"cuda:{index}") for tensor in inputs]
        wrong = same(module.sdpa(*given, **options).to("cuda:0"), expected, f"cuda:{index}: ")
        if wrong:
            return wrong
    return None
