# torch_operator.py: Defines sdpa(), its operator, and the functions that report calls and kernels.

def sdpa(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None,
         dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
         enable_gqa: bool = False, *, window_size: tuple[int, int] | None = None,
         softcap: float | None = None) -> torch.Tensor:
    """Returns attention with the arguments and the result of F.scaled_dot_product_attention, on the
    current stream.

    Kernels serve the mask that each was made for: is_causal, torch.nn.attention.bias's causal masks,
    FlashAttention's window_size, or a bool attn_mask that is equal. Such a tensor is read once, which
    waits for the GPU; not while a graph is captured. A kernel tuned with a bias takes any attn_mask of
    its sizes, type and strides, unread. softcap is FlashAttention's; without a kernel, operations of
    PyTorch compute it. A query that sees no key has an output of zeros from a kernel. Tensors of different
    devices, types or lengths raise ValueError, as does window_size beside attn_mask or is_causal; arguments
    that are no tensors raise TypeError.
    """
    if attn_mask is None and dropout_p == 0.0 and window_size is None and not softcap:
        if _is_compiling():
            return torch.ops.fatune.sdpa(query, key, value, is_causal, scale, enable_gqa, _INSTALLED)
        return _operator(query, key, value, is_causal, scale, enable_gqa)
    mask, why, side = None, _UNKNOWN_MASK, _bias_side(attn_mask)
    if window_size is not None:
        mask = _window_name(window_size, attn_mask, is_causal)
    elif side is not None and not softcap:
        if dropout_p == 0.0 and not is_causal and not torch.compiler.is_compiling():
            out = _attend_below(attn_mask, side, query, key, value, scale, enable_gqa)
            if out is not None:
                return out
        if F.scaled_dot_product_attention is not _pytorch:  # such a mask itself calls PyTorch's attention
            return _pytorch_with(attn_mask, query, key, value, dropout_p, is_causal, scale, enable_gqa)
    elif softcap and (side or is_causal):
        if is_causal and attn_mask is not None:
            raise ValueError("sdpa: is_causal says the whole mask; give no attn_mask")
        mask, attn_mask = side or _UPPER_LEFT, None
    elif attn_mask is not None and not (dropout_p or is_causal or softcap):
        mask, why = _mask_said(attn_mask, query, key, value)
    if dropout_p:
        return _with_dropout(mask, softcap, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if mask is None and not softcap and (side or is_causal or not _takes_bias(attn_mask, query, key)):
        return _pass_on(why, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    word = _with_cap(mask, softcap)
    if _is_compiling():
        return torch.ops.fatune.sdpa(query, key, value, False, scale, enable_gqa, _INSTALLED, word, _bias_of(word, attn_mask))
    return _operator(query, key, value, False, scale, enable_gqa, word, attn_mask)


def _takes_bias(mask, query, key):
    """Returns whether a kernel may take the tensor as a bias. Traced code leaves it to the operator."""
    if _is_compiling():
        return type(mask) in _PLAIN
    return (type(mask) in _PLAIN and query.dim() == key.dim() == 4
            and (query.shape[2], key.shape[2]) in _service.table.biases)


def _with_dropout(mask, softcap, query, key, value, attn_mask, dropout_p, is_causal, scale, gqa):
    """PyTorch's attention with dropout, which no kernel has."""
    if mask is not None:
        attn_mask = _mask_tensor(mask, query.shape[-2], key.shape[-2], query.device)
    if softcap:
        _count("it has dropout", query, key, value, _with_cap(mask, softcap), scale)
        return _capped(query, key, value, attn_mask, dropout_p, scale, gqa, float(softcap))
    return _pass_on("it has dropout", query, key, value, attn_mask, dropout_p, is_causal, scale, gqa)


def _pytorch_with(bias, query, key, value, dropout_p, is_causal, scale, gqa):
    """Calls PyTorch's attention, or its replacement, through a causal mask object."""
    return type(bias).__torch_function__(
        F.scaled_dot_product_attention, (type(bias),), (query, key, value, bias, dropout_p, is_causal),
        {"scale": scale, "enable_gqa": gqa})


def _attend_below(bias, side, query, key, value, scale, gqa):
    """Like _attend, for a causal mask object."""
    if (not _is_real(query, key, value) or _needs_gradients(query, key, value)
            or (bias.seq_len_q, bias.seq_len_kv) != (query.shape[-2], key.shape[-2])):
        return None
    if _is_autocast_enabled():
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    return _attend(query, key, value, side, scale, gqa)


def _operator(query, key, value, is_causal=False, scale=None, enable_gqa=False, mask=None, attn_mask=None):
    """Runs fatune::sdpa, which traces as _sdpa_kernel or PyTorch's attention. A call that needs
    gradients is always PyTorch's. `mask` is the word of a mask that is_causal cannot say; `attn_mask` says
    it to PyTorch. Without a name in the word it is a bias."""
    bias = None if attn_mask is None else _bias_of(mask, attn_mask)
    real = _is_real(query, key, value) and (bias is None or type(bias) in _PLAIN)
    if not real:
        _refuse_others(query, key, value)
    if _is_autocast_enabled():
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    if _is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad
                               or bias is not None and bias.requires_grad):
        told = _UPPER_LEFT if is_causal else None if attn_mask is None else "masked"
        _count(_WANTS_GRADIENTS, query, key, value, mask or told, scale)
        return _pytorch_for(query, key, value, is_causal, scale, enable_gqa, mask, attn_mask)
    named = mask or (_UPPER_LEFT if is_causal else None)
    if real:
        out = _attend(query, key, value, named, scale, enable_gqa, bias)
        if out is not None:
            return out
    elif _may_have_kernel(query, key, value, named, scale, enable_gqa, bias):
        return torch.ops.fatune._sdpa_kernel(query, key, value, is_causal, scale, enable_gqa, _INSTALLED, mask, bias)
    return _pytorch_for(query, key, value, is_causal, scale, enable_gqa, mask, attn_mask)


def _pytorch_for(query, key, value, is_causal, scale, gqa, mask, attn_mask=None):
    """Calls PyTorch's attention with is_causal, or with a mask by its word, which `attn_mask` says if it is given."""
    if mask is None and attn_mask is None and scale is None and not gqa:  # keyword arguments cost time
        return _pytorch(query, key, value, None, 0.0, is_causal)
    name, cap = _named_alone(mask)
    if not name and attn_mask is None and cap is None:
        return _pytorch(query, key, value, is_causal=is_causal, scale=scale, enable_gqa=gqa)
    made = None
    if name and attn_mask is None:
        made = attn_mask = _mask_tensor(name, query.shape[-2], key.shape[-2], query.device)
    if cap is not None:
        return _capped(query, key, value, attn_mask, 0.0, scale, gqa, cap)
    out = _pytorch(query, key, value, attn_mask, scale=scale, enable_gqa=gqa)
    if made is None or query.shape[-2] <= key.shape[-2]:
        return out
    return out.masked_fill(~made.any(-1, keepdim=True), 0.0)  # as kernels, in rows that see no key


def _capped(query, key, value, mask, dropout_p, scale, gqa, cap):
    """Returns attention with a softcap, which PyTorch's function lacks."""
    return _by_operations(query, key, value, scale, gqa, cap, bias=mask, dropout_p=dropout_p)[0]


def _autocast(tensor):
    """Converts a tensor as PyTorch's attention does inside torch.autocast("cuda")."""
    if tensor.is_cuda and tensor.is_floating_point() and tensor.dtype != torch.float64:
        return tensor.to(torch.get_autocast_dtype("cuda"))
    return tensor


def _needs_gradients(*tensors):
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


_WANTS_GRADIENTS = "gradients are wanted, which no kernel computes"


def _is_real(query, key, value):
    """Returns whether the tensors have memory and no tracer or transform must see the operators."""
    return type(query) in _PLAIN and type(key) in _PLAIN and type(value) in _PLAIN and not _is_observed()


def _may_have_kernel(query, key, value, mask, scale, gqa, bias=None):
    """Decides in a traced call whether the graph selects the route at run time. Sizes may be
    symbols, and a comparison would fix the graph to the current sizes."""
    tensors = (query, key, value)
    given = tensors if bias is None else (*tensors, bias)
    from torch._subclasses.fake_tensor import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    traced = all(type(tensor) in _PLAIN or isinstance(tensor, (FakeTensor, FunctionalTensor)) for tensor in given)
    if (not traced or torch._C._functorch.peek_interpreter_stack() is not None or _forward_ad._current_level >= 0
            or not all(_has_kernels(tensor.device) and tensor.dim() == 4 for tensor in tensors)):
        return False
    if _are_known(given):
        mask = mask if bias is None else _bias_name(bias, query, key) + (mask or "")
        return _choice(_service.table.kernels, dict(zip("qkv", tensors)), mask, scale, gqa)[0] is not None
    return _is_not_broadcast(query.shape, key.shape, value.shape, gqa) and any(
        kernel.dtype == query.dtype and bool(kernel.bias) == (bias is not None) and (type(query.shape[3]) is not int or kernel.key[4] == query.shape[3])
        for kernel in _service.table.kernels)


def _are_known(tensors):
    """Returns whether all sizes and strides are numbers."""
    return all(type(size) is int for tensor in tensors for size in (*tensor.shape, *tensor.stride()))


def _run_kernel(query, key, value, is_causal=False, scale=None, enable_gqa=False, mask=None, attn_mask=None):
    """Runs fatune::_sdpa_kernel; the result has the query's memory order. PyTorch computes where a
    graph that was traced without gradients runs with gradients."""
    if not _needs_gradients(query, key, value, attn_mask):
        named = mask or (_UPPER_LEFT if is_causal else None)
        out = _attend(query, key, value, named, scale, enable_gqa, attn_mask)
        if out is not None:
            return out
    out, promised = _pytorch_for(query, key, value, is_causal, scale, enable_gqa, mask, attn_mask), _new_output(query, value)
    if all(size <= 1 or given == wanted for size, given, wanted in zip(out.shape, out.stride(), promised.stride())):
        return out
    return promised.copy_(out)


def _functions_of(installed):
    """Returns the functions of files imported by hand or of installed files. An operator runs the
    kind that was traced, and the other kind only if the process lacks the traced kind."""
    return (_services[installed].functions or _services[not installed].functions)


def _any_operator(query, key, value, is_causal=False, scale=None, enable_gqa=False, installed=False, mask=None, attn_mask=None):
    return _functions_of(installed)["_operator"](
        query, key, value, is_causal, scale, enable_gqa, mask, attn_mask)


def _kernel_operator(query, key, value, is_causal=False, scale=None, enable_gqa=False, installed=False, mask=None, attn_mask=None):
    return _functions_of(installed)["_run_kernel"](
        query, key, value, is_causal, scale, enable_gqa, mask, attn_mask)


def _register():
    library = torch.library.Library("fatune", "FRAGMENT")
    arguments = ("(Tensor query, Tensor key, Tensor value, bool is_causal=False, float? scale=None, "
                 "bool enable_gqa=False, bool installed=False, str? mask=None, Tensor? attn_mask=None) -> Tensor")
    tags = (torch.Tag.pt2_compliant_tag,
            getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order))  # compiled-in strides
    library.define("sdpa" + arguments, tags=tags)
    library.impl("sdpa", _any_operator, "CompositeImplicitAutograd")
    library.define("_sdpa_kernel" + arguments, tags=tags)
    library.impl("_sdpa_kernel", _kernel_operator, "CompositeExplicitAutograd")

    @torch.library.register_fake("fatune::_sdpa_kernel", lib=library)
    def fake(query, key, value, is_causal=False, scale=None, enable_gqa=False, installed=False, mask=None, attn_mask=None):
        return _new_output(query, value)

    _define_attention(library, tags)
    register_flop_formula([torch.ops.fatune._sdpa_kernel])(_flops)
    return library


def info() -> list[dict]:
    """Returns the launch facts (fatune.launch/1) of every serving kernel: problem, config, device,
    times, verification, and the strides of q, k, v and out."""
    return [kernel.facts for kernel in _service.table.kernels]


def explain(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, *,
            window_size=None, softcap=None) -> str:
    """Takes sdpa()'s arguments; returns the kernel, or "PyTorch: " and the reason."""
    if torch.is_autocast_enabled():
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    mask, why, bias = _UPPER_LEFT if is_causal else None, _UNKNOWN_MASK, None
    side = _bias_side(attn_mask)
    if window_size is not None:
        mask = _window_name(window_size, attn_mask, is_causal)
    elif side is not None and (attn_mask.seq_len_q, attn_mask.seq_len_kv) == (query.shape[-2], key.shape[-2]):
        mask, attn_mask = side, None
    elif attn_mask is not None and side is None and not is_causal:
        if not softcap:
            mask, why = _mask_said(attn_mask, query, key, value)
        if mask is None and _takes_bias(attn_mask, query, key):
            mask, bias = _bias_name(attn_mask, query, key), attn_mask
        attn_mask = attn_mask if mask is None else None
    if attn_mask is not None or dropout_p != 0.0:
        return f"PyTorch: {why if dropout_p == 0.0 else 'it has dropout'}"
    if _needs_gradients(query, key, value, bias):
        return f"PyTorch: {_WANTS_GRADIENTS}"
    if not _has_kernels(query.device):
        return f"PyTorch: the tensors are on {query.device}"
    if any(tensor is not None and tensor.data_ptr() % _ALIGNMENT for tensor in (query, key, value, bias)):
        return f"PyTorch: {_MISALIGNED}"
    kernel, why = _choice(_service.table.kernels, {"q": query, "k": key, "v": value}, _with_cap(mask, softcap), scale,
                          enable_gqa)
    return f"PyTorch: {why}" if kernel is None else _describe(kernel.facts)


def counts() -> list[dict]:
    """Returns the kinds of calls in this process: `call` in words, `reason` for PyTorch or None,
    and the number of `calls`. A traced call counts when it runs, and only where a kernel could
    serve. Replays of graphs do not count."""
    return [{"call": call, "reason": why, "calls": int(repr(counter)[len("count("):-1])}
            for (call, why), counter in list(_service.counters.items())]


def load(device: torch.device | int | None = None) -> int:
    """Loads every kernel that the device (default: current) can run; returns how many."""
    index = torch.device("cuda", device) if isinstance(device, int) else torch.device(device or "cuda")
    index = torch.cuda.current_device() if index.index is None else index.index
    mine = [kernel for kernel in _service.table.kernels
            if _runs_on(kernel.facts, torch.cuda.get_device_capability(index))]
    for kernel in mine:
        kernel.on(index)
    return len(mine)


# Several such files in one process share loaded kernels, the operators, and PyTorch's original
# attention, never a function that fatune.capture() installed. Files imported by hand serve
# together; files of fatune.install() serve while installed.
_shared = torch.ops.fatune.__dict__.setdefault(
    "shared_12", {"kernels": {}, "services": {False: _Service(), True: _Service()}, "pytorch": getattr(
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
