# torch_operator.py: Selects and caches each call's route; defines function and operator.

class _Table:
    """A constant set of kernels with cached routes and counters. A new set is a new table, so a
    call that is selecting a route stores the route in the old table."""

    def __init__(self, kernels):
        self.kernels, self.routes = kernels, {}

    def remember(self, asked, found):
        if len(self.routes) >= _MAX_REMEMBERED:
            self.routes.clear()
        self.routes[asked] = found
        return found


class _Service:
    """Kernels and functions of files imported by hand, or of installed files."""

    def __init__(self):
        self.table, self.tables, self.counters, self.backwards, self.functions = _Table([]), {}, {}, {}, None

    def serve(self, kernels):
        """Replaces the kernels. A set of kernels that served before has its cached routes again."""
        kernels = {kernel.name: kernel for kernel in kernels}
        if len(self.tables) >= _MAX_TABLES:
            self.tables.clear()
        self.table = self.tables.setdefault(tuple(kernels), _Table(list(kernels.values())))

    def forget(self):
        """Clears the cached routes."""
        self.tables.clear()
        self.serve(self.table.kernels)


def _choice(kernels, tensors, mask, scale, gqa, quantizes=False, smooth_k=None, extra=None):
    """Returns the kernel for q, k and v, and their strides from _Kernel.reads; or None and the
    reason. `quantizes` selects kernels that compute 16-bit tensors in fp8. `smooth_k` selects
    kernels with or without K's mean subtracted; None selects both. `extra` selects kernels whose
    log-sum-exp a backward pass reads."""
    if extra is None and tensors["q"].dtype not in _FP8:  # backward passes and factors need the keys unchanged
        tensors, gqa = _with_one_head(tensors, gqa)
    query, key, value = tensors.values()
    found = _problem_key(query.shape, key.shape, value.shape, query.dtype, mask, gqa)
    kernels = [kernel for kernel in kernels if kernel.key == found and kernel.quantizes == quantizes
               and smooth_k in (None, kernel.smooth_k)]
    if not kernels:
        return None, "no kernel is for these sizes, type and mask"
    kernels = [kernel for kernel in kernels if kernel.has_scale(scale)]
    if not kernels:
        return None, f"no kernel for it has the scale {scale}"
    capability, name = _device(query.device.index or 0)
    kernels = [kernel for kernel in kernels if _runs_on(kernel.facts, capability)]
    if not kernels:
        return None, f"no kernel for it runs on {name}"
    kernels = [(kernel, seen) for kernel in kernels if (seen := kernel.reads(tensors))]
    if not kernels:
        strides = ", ".join(f"{name} {tuple(tensor.stride())}" for name, tensor in tensors.items())
        return None, f"no kernel for it takes these strides, or writes in the query's order: {strides}"
    if extra is not None:
        kernels, why = _with_backward(kernels)
        if not kernels:
            return None, why
    return min(kernels, key=lambda pair: pair[0].rank_for(pair[1], name))


def _with_one_head(tensors, gqa):
    """Returns keys and values that were expanded to every query head as one head."""
    key, value = tensors["k"], tensors["v"]
    if not (key.dim() == value.dim() == 4 and key.shape[1] == value.shape[1] and type(key.shape[1]) is int
            and key.shape[1] > 1 and key.stride()[1] == value.stride()[1] == 0):
        return tensors, gqa
    return {**tensors, "k": key[:, :1], "v": value[:, :1]}, True


def _device(index):
    """Returns compute capability and name."""
    return torch.cuda.get_device_capability(index), torch.cuda.get_device_name(index)


def _has_kernels(device):
    """Returns whether the device can run kernels. ROCm devices are called cuda, too."""
    return device.type == "cuda" and torch.version.cuda is not None


class _AlignedCopies:
    """Calls PyTorch's attention on aligned copies of tensors with misaligned rows. On the originals
    PyTorch 2.11 gave other numbers on an H200 for rows 130 bytes apart."""

    def __init__(self, mask, scale, gqa):
        self.is_causal, self.scale, self.gqa = mask == _UPPER_LEFT, scale, gqa

    def __call__(self, query, key, value, *_):
        tensors = [tensor if _is_aligned(tensor) else tensor.clone() for tensor in (query, key, value)]
        return _pytorch(*tensors, is_causal=self.is_causal, scale=self.scale, enable_gqa=self.gqa)


def _is_aligned(tensor):
    return tensor.data_ptr() % _ALIGNMENT == 0 and _begins_aligned(tensor.shape, tensor.stride(), tensor.element_size())


def _no_rows(query, key, value, *_):
    """Returns an empty result without queries, where PyTorch's attention on CUDA returns none."""
    return _new_output(query, value)


def _new_output(query, value):
    """Allocates the result in the query's memory order, as PyTorch's attention does."""
    if query.shape[-1] == value.shape[-1]:
        return torch.empty_like(query)
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


def _choose(kernels, tensors, mask, scale, gqa, misaligned, extra):
    """Returns the route of a call, or None for PyTorch on the original tensors; and the reason why
    no kernel serves, or None."""
    query, key, value = tensors.values()
    _refuse_misuse(query, key, value)
    if not _has_kernels(query.device):
        return None, f"the tensors are on {query.device}"
    if 0 in query.shape and extra is None:
        return _no_rows, "there is no query"
    route, why = (None, _MISALIGNED) if misaligned else _kernel_route(kernels, tensors, mask, scale, gqa, extra)
    if route is None and extra != _LSE and mask != _LOWER_RIGHT and not all(map(_is_aligned, tensors.values())):
        return _AlignedCopies(mask, scale, gqa), why
    return route, why


def _kernel_route(kernels, tensors, mask, scale, gqa, extra):
    """Returns a kernel's route like _choose."""
    kernel, seen = _choice(kernels, tensors, mask, scale, gqa, extra=extra)
    return (None, seen) if kernel is None else _route_of(kernel, extra, tensors["q"].device.index, seen)


def _route_of(kernel, extra, index, seen):
    """Returns a kernel's route like _choose; warns of a kernel that cannot be loaded."""
    try:
        return kernel.route(extra, index, seen, _service.backwards.get(kernel.facts["id"])), None
    except (OSError, RuntimeError) as error:
        warnings.warn(f"{kernel.facts['kernel']} is left out: {error}", RuntimeWarning)
        return None, f"its kernel could not be loaded: {error}"


_OTHERS = "calls of further kinds"  # calls beyond the number of kinds that are counted apart


def _counter(query, key, mask, scale, why, extra=None):
    """Returns the shared counter of calls with equal descriptions; next() counts a call, in any
    thread. `why` is None where a kernel serves."""
    mask = {None: "", _UPPER_LEFT: " causal", _LOWER_RIGHT: " causal, lower right"}.get(mask, f" {mask}")
    seen = ("" if key.dim() != 4 or query.dim() != 4 or key.shape[1:3] == query.shape[1:3]
            else f" with {key.shape[1]} heads of {key.shape[2]} keys")
    dtype = next((name for name, each in _DTYPES.items() if each == query.dtype), str(query.dtype))
    told = ("" if scale is None else f" scale {scale:g}") + (" with gradients" if extra else "")
    text = f"{','.join(map(str, query.shape))}{seen} {dtype}{mask}{told}"
    counters = _service.counters
    if len(counters) >= _MAX_REMEMBERED and (text, why) not in counters:
        text, why = _OTHERS, why and why.partition(":")[0]  # drops the strides behind the colon
    return counters.setdefault((text, why), itertools.count())


def _pass_on(why, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Calls PyTorch's attention and counts the call, unless traced, with the reason."""
    if not _is_compiling() and _is_real(query, key, value):
        _count(why, query, key, _UPPER_LEFT if is_causal else None if attn_mask is None else "masked", scale)
    return _pytorch(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


def _count(why, query, key, mask, scale):
    try:
        asked = (why, query.shape, key.shape, query.dtype, mask, scale)
    except RuntimeError:  # nested tensors have no sizes
        return
    table = _service.table
    next(table.routes.get(asked) or table.remember(asked, _counter(query, key, mask, scale, why)))


def _refuse_others(query, key, value):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"sdpa: {name} must be a torch.Tensor, not {type(tensor).__name__}")


def _refuse_misuse(query, key, value):
    """Refuses unequal types and devices. Types may differ only off CUDA, where autocast converts
    the tensors later."""
    for name, tensor in (("key", key), ("value", value)):
        if tensor.device != query.device:
            raise ValueError(f"sdpa: {name} is on {tensor.device}, query on {query.device}; move them to one device")
        if tensor.dtype != query.dtype and (query.is_cuda or not torch._C._is_any_autocast_enabled()):
            raise ValueError(f"sdpa: {name} is {tensor.dtype}, query {query.dtype}; convert them to one type")
    if key.dim() > 1 and value.dim() > 1 and key.shape[-2] != value.shape[-2]:
        raise ValueError(f"sdpa: key has {key.shape[-2]} rows, value {value.shape[-2]}; they must have as many")
    if query.dim() > 0 and key.dim() > 0 and query.shape[-1] != key.shape[-1]:
        raise ValueError(f"sdpa: query has head_dim {query.shape[-1]}, key {key.shape[-1]}; they must agree")


def _attend(query, key, value, mask, scale, gqa, extra=None):
    """Returns a kernel's result for real tensors, or None. `extra` is a key of _ROUTES."""
    if scale is not None:
        scale = float(scale)
    try:
        q, k, v = query.data_ptr(), key.data_ptr(), value.data_ptr()
        misaligned = (q | k | v) % _ALIGNMENT > 0
        asked = (query.shape, query.is_contiguous() or query.stride(), query.dtype, query.device,
                 key.shape, key.is_contiguous() or key.stride(), key.dtype, key.get_device(),
                 value.shape, value.is_contiguous() or value.stride(), value.dtype, value.get_device(),
                 mask, scale, gqa, misaligned, extra)
    except (RuntimeError, NotImplementedError):  # nested and sparse tensors have no strides
        return None
    table = _service.table
    found = table.routes.get(asked)
    if found is None:
        route, why = _choose(table.kernels, {"q": query, "k": key, "v": value}, mask, scale, gqa, misaligned, extra)
        found = table.remember(asked, (route, _counter(query, key, mask, scale, why, extra)))
    route, counter = found
    next(counter)
    return None if route is None else route(query, key, value, q, k, v)


# Defines the function and the operator.

def sdpa(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None,
         dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
         enable_gqa: bool = False) -> torch.Tensor:
    """Returns attention with the arguments and the result of F.scaled_dot_product_attention, on the
    current stream.

    Kernels serve is_causal for as many queries as keys, and
    torch.nn.attention.bias.causal_lower_right for other lengths. Tensors of different devices,
    types or lengths raise ValueError; arguments that are no tensors raise TypeError.
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
        if F.scaled_dot_product_attention is not _pytorch:  # such a mask itself calls PyTorch's attention
            return _pytorch_with(attn_mask, query, key, value, dropout_p, is_causal, scale, enable_gqa)
    return _pass_on("it has dropout" if attn_mask is None else "no kernel takes such a mask", query, key, value,
                    attn_mask, dropout_p, is_causal, scale, enable_gqa)


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


def _operator(query, key, value, is_causal=False, scale=None, enable_gqa=False):
    """Runs fatune::sdpa, which traces as _sdpa_kernel or PyTorch's attention."""
    real = _is_real(query, key, value)
    if not real:
        _refuse_others(query, key, value)
    if _is_autocast_enabled():
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    extra = None
    if _is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad):
        if not _may_serve_gradients():
            return _pass_on(_ALL_PYTORCHS, query, key, value, None, 0.0, is_causal, scale, enable_gqa)
        extra = _GRADIENTS
    mask = _UPPER_LEFT if is_causal else None
    if real:
        out = _attend(query, key, value, mask, scale, enable_gqa, extra)
        if out is not None:
            return out
    elif extra:
        backward = _traced_choice(query, key, value, mask, scale, enable_gqa)
        if backward:
            return torch.ops.fatune._sdpa_with_lse(query, key, value, is_causal, scale, enable_gqa, backward,
                                                   _INSTALLED)[0]
    elif _may_have_kernel(query, key, value, mask, scale, enable_gqa):
        return torch.ops.fatune._sdpa_kernel(query, key, value, is_causal, scale, enable_gqa, _INSTALLED)
    if scale is None and not enable_gqa:  # keyword arguments cost time
        return _pytorch(query, key, value, None, 0.0, is_causal)
    return _pytorch(query, key, value, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)


def _autocast(tensor):
    """Converts a tensor as PyTorch's attention does inside torch.autocast("cuda")."""
    if tensor.is_cuda and tensor.is_floating_point() and tensor.dtype != torch.float64:
        return tensor.to(torch.get_autocast_dtype("cuda"))
    return tensor


def _needs_gradients(query, key, value):
    return torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)


_ALL_PYTORCHS = "gradients are wanted, deterministically or of a mask as an object"


def _may_serve_gradients():
    """Only PyTorch knows which of its backward passes are deterministic."""
    return not torch.are_deterministic_algorithms_enabled()


def _is_real(query, key, value):
    """Returns whether the tensors have memory and no tracer or transform must see the operators."""
    return (type(query) in _PLAIN and type(key) in _PLAIN and type(value) in _PLAIN
            and not _dispatch_modes() and _transform() is None and _forward_ad._current_level < 0 and not _is_tracing())


def _may_have_kernel(query, key, value, mask, scale, gqa):
    """Decides in a traced call whether the graph selects the route at run time. Sizes may be
    symbols, and a comparison would fix the graph to the current sizes."""
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
    """Returns whether all sizes and strides are numbers."""
    return all(type(size) is int for tensor in tensors for size in (*tensor.shape, *tensor.stride()))


def _traced_choice(query, key, value, mask, scale, gqa):
    """Returns the backward pass of the kernel for a traced call that needs gradients; or None."""
    tensors = (query, key, value)
    if not _may_have_kernel(*tensors, mask, scale, gqa) or not _are_known(tensors):
        return None
    kernel, _ = _choice(_service.table.kernels, dict(zip("qkv", tensors)), mask, scale, gqa, extra=_LSE)
    return None if kernel is None else _service.backwards[kernel.facts["id"]]


def _run_kernel(query, key, value, is_causal=False, scale=None, enable_gqa=False):
    """Runs fatune::_sdpa_kernel at run time; the result has the query's memory order."""
    out = _attend(query, key, value, _UPPER_LEFT if is_causal else None, scale, enable_gqa)
    if out is not None:
        return out
    out, promised = _pytorch(query, key, value, is_causal=is_causal, scale=scale,
                             enable_gqa=enable_gqa), _new_output(query, value)
    if all(size <= 1 or given == wanted for size, given, wanted in zip(out.shape, out.stride(), promised.stride())):
        return out
    return promised.copy_(out)


def _functions_of(installed):
    """Returns the functions of files imported by hand or of installed files. An operator runs the
    kind that was traced, and the other kind only if the process lacks the traced kind."""
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
            getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order))  # compiled-in strides
    library.define("sdpa" + arguments, tags=tags)
    library.impl("sdpa", _any_operator, "CompositeImplicitAutograd")
    library.define("_sdpa_kernel" + arguments, tags=tags)
    library.impl("_sdpa_kernel", _kernel_operator, "CompositeExplicitAutograd")

    @torch.library.register_fake("fatune::_sdpa_kernel", lib=library)
    def fake(query, key, value, is_causal=False, scale=None, enable_gqa=False, installed=False):
        return _new_output(query, value)

    _register_gradients(library, tags)
    register_flop_formula([torch.ops.fatune._sdpa_kernel, torch.ops.fatune._sdpa_with_lse])(_flops)
    return library


def info() -> list[dict]:
    """Returns the launch facts (fatune.launch/1) of every serving kernel: problem, config, device,
    times, verification, and the strides of q, k, v and out."""
    return [kernel.facts for kernel in _service.table.kernels]


def explain(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False) -> str:
    """Takes sdpa()'s arguments; returns the kernel, or "PyTorch: " and the reason."""
    if torch.is_autocast_enabled():
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    mask = _UPPER_LEFT if is_causal else None
    side = _bias_side(attn_mask)
    if side is not None and (attn_mask.seq_len_q, attn_mask.seq_len_kv) == (query.shape[-2], key.shape[-2]):
        mask, attn_mask = side, None
    if attn_mask is not None or dropout_p != 0.0:
        return "PyTorch: no kernel takes such a mask, or dropout"
    extra = _GRADIENTS if _needs_gradients(query, key, value) else None
    if extra and (mask == _LOWER_RIGHT or not _may_serve_gradients()):
        return f"PyTorch: {_ALL_PYTORCHS}"
    if not _has_kernels(query.device):
        return f"PyTorch: the tensors are on {query.device}"
    if any(tensor.data_ptr() % _ALIGNMENT for tensor in (query, key, value)):
        return f"PyTorch: {_MISALIGNED}"
    kernel, why = _choice(_service.table.kernels, {"q": query, "k": key, "v": value}, mask, scale, enable_gqa,
                          extra=extra)
    if kernel is None:
        return f"PyTorch: {why}"
    back = f", backward by PyTorch's {_service.backwards[kernel.facts['id']]}" if extra else ""
    return _describe(kernel.facts) + back


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
    "shared_6", {"kernels": {}, "services": {False: _Service(), True: _Service()}, "pytorch": getattr(
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
