# torch_operator.py: Defines sdpa(), its operator, and the calls that tell about them.

def sdpa(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None,
         dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
         enable_gqa: bool = False) -> torch.Tensor:
    """Attention, with the arguments, meaning and result of F.scaled_dot_product_attention; on the current stream.

    Kernels do is_causal for as many queries as keys, and for other lengths the mask of
    torch.nn.attention.bias.causal_lower_right. Tensors of two devices or types, and of lengths that do not fit, raise
    ValueError, what is no tensor TypeError.
    """
    if attn_mask is None and dropout_p == 0.0:
        if _is_compiling():
            return torch.ops.fatune.sdpa(query, key, value, is_causal, scale, enable_gqa, _INSTALLED)
        return _operator(query, key, value, is_causal, scale, enable_gqa)
    side = None if attn_mask is None else _bias_side(attn_mask)
    if side is not None:
        if dropout_p == 0.0 and not is_causal and not torch.compiler.is_compiling():
            out = _attend_below(attn_mask, side, query, key, value, scale, enable_gqa)
            if out is not None:
                return out
        if F.scaled_dot_product_attention is not _pytorch:  # such a mask calls what stands there alone
            return _pytorch_with(attn_mask, query, key, value, dropout_p, is_causal, scale, enable_gqa)
    return _pass_on("it has dropout" if attn_mask is None else "no kernel takes such a mask", query, key, value,
                    attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _pytorch_with(bias, query, key, value, dropout_p, is_causal, scale, gqa):
    """PyTorch's attention with a causal mask as an object, which takes the call itself, if it is of what stands in
    PyTorch's place."""
    return type(bias).__torch_function__(
        F.scaled_dot_product_attention, (type(bias),), (query, key, value, bias, dropout_p, is_causal),
        {"scale": scale, "enable_gqa": gqa})


def _attend_below(bias, side, query, key, value, scale, gqa):
    """As _attend, for a causal mask as an object."""
    if (not _is_real(query, key, value) or _needs_gradients(query, key, value)
            or (bias.seq_len_q, bias.seq_len_kv) != (query.shape[-2], key.shape[-2])):
        return None
    if _is_autocast_enabled():
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    return _attend(query, key, value, side, scale, gqa)


def _operator(query, key, value, is_causal=False, scale=None, enable_gqa=False):
    """fatune::sdpa: composed of _sdpa_kernel and PyTorch's attention when it is traced. A call whose gradients are
    wanted is PyTorch's, traced or not."""
    real = _is_real(query, key, value)
    if not real:
        _refuse_others(query, key, value)
    if _is_autocast_enabled():
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    if _is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad):
        return _pass_on(_WANTS_GRADIENTS, query, key, value, None, 0.0, is_causal, scale, enable_gqa)
    mask = _UPPER_LEFT if is_causal else None
    if real:
        out = _attend(query, key, value, mask, scale, enable_gqa)
        if out is not None:
            return out
    elif _may_have_kernel(query, key, value, mask, scale, enable_gqa):
        return torch.ops.fatune._sdpa_kernel(query, key, value, is_causal, scale, enable_gqa, _INSTALLED)
    if scale is None and not enable_gqa:  # names cost time
        return _pytorch(query, key, value, None, 0.0, is_causal)
    return _pytorch(query, key, value, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)


def _autocast(tensor):
    """As PyTorch's attention does inside torch.autocast("cuda")."""
    if tensor.is_cuda and tensor.is_floating_point() and tensor.dtype != torch.float64:
        return tensor.to(torch.get_autocast_dtype("cuda"))
    return tensor


def _needs_gradients(query, key, value):
    return torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)


_WANTS_GRADIENTS = "gradients are wanted, which no kernel computes"


def _is_real(query, key, value):
    """Tensors with memory, and nothing that must see the operators that run on them: no tracer, no transform."""
    return (type(query) in _PLAIN and type(key) in _PLAIN and type(value) in _PLAIN
            and not _dispatch_modes() and _transform() is None and _forward_ad._current_level < 0 and not _is_tracing())


def _may_have_kernel(query, key, value, mask, scale, gqa):
    """While a call is traced: whether the choice is to be made when the graph runs. Sizes may be symbols; comparing
    these would tie the graph to what they are now."""
    tensors = (query, key, value)
    from torch._subclasses.fake_tensor import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    traced = all(type(tensor) in _PLAIN or isinstance(tensor, (FakeTensor, FunctionalTensor)) for tensor in tensors)
    if (not traced or torch._C._functorch.peek_interpreter_stack() is not None or _forward_ad._current_level >= 0
            or not all(_has_kernels(tensor.device) and tensor.dim() == 4 for tensor in tensors)):
        return False
    if _are_known(tensors):
        return _choice(_service.table.kernels, dict(zip("qkv", tensors)), mask, scale, gqa)[0] is not None
    return _is_not_broadcast(query.shape, key.shape, value.shape, gqa) and any(
        kernel.dtype == query.dtype and (type(query.shape[3]) is not int or kernel.key[4] == query.shape[3])
        for kernel in _service.table.kernels)


def _are_known(tensors):
    """Whether all sizes and strides are numbers."""
    return all(type(size) is int for tensor in tensors for size in (*tensor.shape, *tensor.stride()))


def _run_kernel(query, key, value, is_causal=False, scale=None, enable_gqa=False):
    """fatune::_sdpa_kernel: chooses when it runs. The result has the query's order whatever computed it. A graph that
    was traced without gradients may run where they are wanted: then PyTorch computes, and its gradients are right."""
    if not _needs_gradients(query, key, value):
        out = _attend(query, key, value, _UPPER_LEFT if is_causal else None, scale, enable_gqa)
        if out is not None:
            return out
    out, promised = _pytorch(query, key, value, is_causal=is_causal, scale=scale,
                             enable_gqa=enable_gqa), _new_output(query, value)
    if all(size <= 1 or given == wanted for size, given, wanted in zip(out.shape, out.stride(), promised.stride())):
        return out
    return promised.copy_(out)


def _functions_of(installed):
    """Of a file that was imported by hand, or by fatune.install(): an operator runs those of the kind of file that was
    traced, and of the other kind only in a process that has none of it."""
    return (_services[installed].functions or _services[not installed].functions)


def _any_operator(query, key, value, is_causal=False, scale=None, enable_gqa=False, installed=False):
    return _functions_of(installed)["_operator"](query, key, value, is_causal, scale, enable_gqa)


def _kernel_operator(query, key, value, is_causal=False, scale=None, enable_gqa=False, installed=False):
    return _functions_of(installed)["_run_kernel"](query, key, value, is_causal, scale, enable_gqa)


def _register():
    library = torch.library.Library("fatune", "FRAGMENT")
    arguments = ("(Tensor query, Tensor key, Tensor value, bool is_causal=False, float? scale=None, "
                 "bool enable_gqa=False, bool installed=False) -> Tensor")
    tags = (torch.Tag.pt2_compliant_tag,
            getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order))  # kernels are made for them
    library.define("sdpa" + arguments, tags=tags)
    library.impl("sdpa", _any_operator, "CompositeImplicitAutograd")
    library.define("_sdpa_kernel" + arguments, tags=tags)
    library.impl("_sdpa_kernel", _kernel_operator, "CompositeExplicitAutograd")

    @torch.library.register_fake("fatune::_sdpa_kernel", lib=library)
    def fake(query, key, value, is_causal=False, scale=None, enable_gqa=False, installed=False):
        return _new_output(query, value)

    register_flop_formula([torch.ops.fatune._sdpa_kernel])(_flops)
    return library


def info() -> list[dict]:
    """The launch facts (fatune.launch/1) of every kernel that serves: problem, config, device, times, whether it was verified; and
    the strides of q, k, v and out that it is for."""
    return [kernel.facts for kernel in _service.table.kernels]


def explain(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False) -> str:
    """Called like sdpa(): the kernel that such a call runs, or "PyTorch: " and the reason."""
    if torch.is_autocast_enabled():
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    mask = _UPPER_LEFT if is_causal else None
    side = _bias_side(attn_mask)
    if side is not None and (attn_mask.seq_len_q, attn_mask.seq_len_kv) == (query.shape[-2], key.shape[-2]):
        mask, attn_mask = side, None
    if attn_mask is not None or dropout_p != 0.0:
        return "PyTorch: no kernel takes such a mask, or dropout"
    if _needs_gradients(query, key, value):
        return f"PyTorch: {_WANTS_GRADIENTS}"
    if not _has_kernels(query.device):
        return f"PyTorch: the tensors are on {query.device}"
    if any(tensor.data_ptr() % _ALIGNMENT for tensor in (query, key, value)):
        return f"PyTorch: {_MISALIGNED}"
    kernel, why = _choice(_service.table.kernels, {"q": query, "k": key, "v": value}, mask, scale, enable_gqa)
    return f"PyTorch: {why}" if kernel is None else _describe(kernel.facts)


def counts() -> list[dict]:
    """The kinds of calls that this process had: `call` in words, `reason` why no kernel did it or None, and how many
    `calls`. What was traced counts when it runs, and only where a kernel could do it; replays of graphs do not count.
    """
    return [{"call": call, "reason": why, "calls": int(repr(counter)[len("count("):-1])}
            for (call, why), counter in list(_service.counters.items())]


def load(device: torch.device | int | None = None) -> int:
    """Loads every kernel that the device (the current one unless told) can run; returns how many."""
    index = torch.device("cuda", device) if isinstance(device, int) else torch.device(device or "cuda")
    index = torch.cuda.current_device() if index.index is None else index.index
    mine = [kernel for kernel in _service.table.kernels
            if _runs_on(kernel.facts, torch.cuda.get_device_capability(index))]
    for kernel in mine:
        kernel.on(index)
    return len(mine)


# A process may have several such files: they share loaded kernels, the operators, and PyTorch's own attention as it was
# before one of them took its place, not what stands there while fatune.capture() records. Those imported by hand serve
# together; those of fatune.install(), while they are installed.
_shared = torch.ops.fatune.__dict__.setdefault(
    "shared_7", {"kernels": {}, "services": {False: _Service(), True: _Service()}, "pytorch": getattr(
        F.scaled_dot_product_attention, "_recorded", F.scaled_dot_product_attention)})
_services, _pytorch = _shared["services"], _shared["pytorch"]
_service = _services[_INSTALLED]
_service.functions = globals()
for _facts in _FACTS:
    if _name_of(_facts) not in _shared["kernels"]:
        _shared["kernels"][_name_of(_facts)] = _Kernel(_facts, _CUBINS[_facts["cubin"]["sha256"]])
_own = [_shared["kernels"][_name_of(_facts)] for _facts in _FACTS]
if not _INSTALLED:
    _service.serve([*_service.table.kernels, *_own])
if "library" not in _shared:
    _shared["library"] = _register()
if not all(facts["verified"] for facts in _FACTS):
    warnings.warn(f"{__file__} holds kernels whose results were never verified (info() says which)", RuntimeWarning)
