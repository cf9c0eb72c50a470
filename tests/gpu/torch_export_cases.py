"""torch_export_cases - what a program may do with an exported attention function besides calling it: one function a
case, given the module and a problem that one of its kernels does; each returns None, or what was wrong."""
import threading

import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

CASES = {}


def case(function):
    CASES[function.__name__.replace("_", " ")] = function
    return function


def tensors_of(facts, seed=0):
    p = facts["problem"]
    torch.manual_seed(seed)
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[p["dtype"]]
    sizes = ((p["batch"], p["heads"], p["seq_q"]), *[(p["batch"], p["kv_heads"], p["seq_kv"])] * 2)
    return [torch.randn(*size, p["head_dim"], device="cuda", dtype=dtype) for size in sizes]


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
    kernel = next(kernel for kernel in module._kernels if kernel.facts is facts)
    kernel.functions.clear()
    module._routes.clear()
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
    """Kernels that begin before the work in front has ended must still see all of it, and nothing behind may see less
    than all of theirs; the allocator gives the same memory again and again."""
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


def layouts(tensor):
    """The same values in other memory."""
    batch, heads, seq, dim = tensor.shape
    rows = tensor.transpose(1, 2).contiguous().transpose(1, 2)
    padded = torch.empty(batch, heads, seq, dim + 8, device=tensor.device, dtype=tensor.dtype)[..., :dim].copy_(tensor)
    odd = torch.empty(batch, heads, seq, dim + 1, device=tensor.device, dtype=tensor.dtype)[..., :dim].copy_(tensor)
    columns = tensor.transpose(2, 3).contiguous().transpose(2, 3)
    shifted = torch.empty(tensor.numel() + 1, device=tensor.device, dtype=tensor.dtype)[1:].view_as(tensor)
    packed = torch.empty(batch, seq, 3, heads, dim, device=tensor.device, dtype=tensor.dtype)[:, :, 1].transpose(1, 2)
    return {"rows first": rows, "padded rows": padded, "oddly padded rows": odd, "columns first": columns,
            "an address off by 2 bytes": shifted.copy_(tensor), "a part of packed q, k, v": packed.copy_(tensor)}


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
    inputs, options = tensors_of(facts), options_of(facts)
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
