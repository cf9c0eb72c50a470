# torch_choice.py: Selects the kernel of a call and caches the choice by everything it depends on.

class _Table:
    """A constant set of kernels with cached routes and counters. A new set is a new table, so a
    call that is selecting a route stores the route in the old table."""

    def __init__(self, kernels):
        self.kernels, self.routes, self.masks = kernels, {}, _Readings(self.mask_of)
        self.names, self.biases = {}, set()  # lengths of queries and keys: masks of kernels that know one by name, and others
        for kernel in kernels:
            problem = kernel.facts["problem"]
            lengths = problem["seq_q"], problem["seq_kv"]
            if kernel.bias:
                self.biases.update([lengths] if problem["mask"] == "none" else [])
            elif kernel.mask in (None, problem["mask"]) and _has_name(problem["mask"]):
                self.names.setdefault(lengths, {})[problem["mask"]] = None

    def mask_of(self, mask, rows, keys):
        """Returns the name of a kernel's mask that a bool tensor equals; "" where none does. Waits for its device."""
        names = self.names.get((rows, keys), ())
        return next((name for name in names if bool((mask == _mask_tensor(name, rows, keys, mask.device)).all())), "")


class _Service:
    """Kernels and functions of files imported by hand, or of installed files."""

    def __init__(self):
        self.table, self.tables, self.counters, self.functions = _Table([]), {}, {}, None

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


def _choice(kernels, tensors, mask, scale, gqa, quantizes=False, smooth_k=None):
    """Returns the kernel for q, k and v, and their strides from _Kernel.reads; or None and the
    reason. `quantizes` selects kernels that compute 16-bit tensors in fp8. `smooth_k` selects
    kernels with or without K's mean subtracted; None selects both."""
    if tensors["q"].dtype not in _FP8:  # factors need the keys unchanged
        tensors, gqa = _with_one_head(tensors, gqa)
    query, key, value = tensors.values()
    found = _problem_key(query.shape, key.shape, value.shape, query.dtype, mask, gqa)
    kernels = [kernel for kernel in kernels if kernel.key == found and kernel.quantizes == quantizes
               and smooth_k in (None, kernel.smooth_k)]
    if not kernels and value.shape[-1:] != query.shape[-1:]:
        return None, "no kernel of the module has v of another head dim"
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
    shape = (*query.shape[:-1], value.shape[-1])
    return query.new_empty_strided(shape, _output_strides(query, shape[3])) if len(shape) == 4 else query.new_empty(shape)


def _choose(kernels, tensors, mask, scale, gqa, misaligned):
    """Returns the route of a call, or None for PyTorch on the original tensors; and the reason why
    no kernel serves, or None."""
    query, key, value = tensors.values()
    _refuse_misuse(query, key, value)
    if not _has_kernels(query.device):
        return None, f"the tensors are on {query.device}"
    if 0 in query.shape:
        return _no_rows, "there is no query"
    route, why = (None, _MISALIGNED) if misaligned else _kernel_route(kernels, tensors, mask, scale, gqa)
    if route is None and mask in (None, _UPPER_LEFT) and not all(map(_is_aligned, tensors.values())):
        return _AlignedCopies(mask, scale, gqa), why
    return route, why


def _kernel_route(kernels, tensors, mask, scale, gqa, kind=None):
    """Returns a kernel's route like _choose."""
    kernel, seen = _choice(kernels, tensors, mask, scale, gqa)
    return (None, seen) if kernel is None else _route_of(kernel, kind, tensors["q"].device.index, seen)


def _tensor_route(kernels, tensors, mask, scale, gqa, misaligned, kind):
    """Returns a kernel's route like _choose for a function that does itself what no kernel does."""
    query, key, value = tensors.values()
    if not _has_kernels(query.device):
        return None, f"the tensors are on {query.device}"
    if misaligned:
        return None, _MISALIGNED
    if not query.device == key.device == value.device or not query.dtype == key.dtype == value.dtype:
        return None, "q, k and v are of several types or devices"
    if kind == _WITH_LSE:
        kernels = [kernel for kernel in kernels if kernel.facts["problem"].get("lse")]
    return _kernel_route(kernels, tensors, mask, scale, gqa, kind)


def _route_of(kernel, kind, index, seen):
    """Returns a kernel's route like _choose; warns of a kernel that cannot be loaded."""
    try:
        return kernel.route(kind, index, seen), None
    except (OSError, RuntimeError) as error:
        warnings.warn(f"{kernel.facts['kernel']} is left out: {error}", RuntimeWarning)
        return None, f"its kernel could not be loaded: {error}"


_OTHERS = "calls of further kinds"  # calls beyond the number of kinds that are counted apart


def _counter(query, key, mask, scale, why):
    """Returns the shared counter of calls with equal descriptions; next() counts a call, in any
    thread. `why` is None where a kernel serves."""
    mask = {None: "", "none": "", _UPPER_LEFT: " causal", _LOWER_RIGHT: " causal, lower right"}.get(mask, f" {mask}".replace("  ", " "))
    seen = ("" if key.dim() != 4 or query.dim() != 4 or key.shape[1:3] == query.shape[1:3]
            else f" with {key.shape[1]} heads of {key.shape[2]} keys")
    dtype = next((name for name, each in _DTYPES.items() if each == query.dtype), str(query.dtype))
    told = "" if scale is None else f" scale {scale:g}"
    text = f"{','.join(map(str, query.shape))}{seen} {dtype}{mask}{told}"
    counters = _service.counters
    if len(counters) >= _MAX_REMEMBERED and (text, why) not in counters:
        text, why = _OTHERS, why and why.partition(":")[0]  # drops the strides behind the colon
    return counters.setdefault((text, why), itertools.count())


def _pass_on(why, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Calls PyTorch's attention and counts the call with the reason."""
    _count(why, query, key, value, _UPPER_LEFT if is_causal else None if attn_mask is None else "masked", scale)
    return _pytorch(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


def _count(why, query, key, value, mask, scale):
    """Counts a call of PyTorch's attention, unless it is traced."""
    if _is_compiling() or not _is_real(query, key, value):
        return
    try:
        asked = (why, query.shape, key.shape, query.dtype, mask, scale)
    except RuntimeError:  # nested tensors have no sizes
        return
    table = _service.table
    next(table.routes.get(asked) or _remember(table.routes, asked, _counter(query, key, mask, scale, why)))


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


def _attend(query, key, value, mask, scale, gqa, bias=None, kind=None, named=()):
    """Returns a kernel's result for real tensors without gradients, or None if PyTorch shall
    compute. `bias` is a tensor that is added to scores, or hides keys. `kind` is a key of _ROUTES; one of
    flex_attention's checks no arguments and computes nothing by itself. `named` are the tensors that the word declares."""
    if scale is not None:
        scale = float(scale)
    try:
        q, k, v = query.data_ptr(), key.data_ptr(), value.data_ptr()
        misaligned = (q | k | v) % _ALIGNMENT > 0
        asked = (query.shape, query.is_contiguous() or query.stride(), query.dtype, query.device,
                 key.shape, key.is_contiguous() or key.stride(), key.dtype, key.get_device(),
                 value.shape, value.is_contiguous() or value.stride(), value.dtype, value.get_device(),
                 mask, scale, gqa, misaligned, kind)
        if bias is not None:
            misaligned = misaligned or bias.data_ptr() % _ALIGNMENT > 0
            asked = (*asked, misaligned, bias.shape, bias.stride(), bias.dtype, bias.device)
    except (RuntimeError, NotImplementedError):  # nested and sparse tensors have no strides
        return None
    table = _service.table
    found = table.routes.get(asked)
    if found is None:
        if bias is not None:
            mask = _bias_name(bias, query, key) + (mask or "")
        tensors = {"q": query, "k": key, "v": value}
        route, why = (_choose(table.kernels, tensors, mask, scale, gqa, misaligned) if kind is None else
                      _tensor_route(table.kernels, tensors, mask, scale, gqa, misaligned, kind))
        found = _remember(table.routes, asked, (route, _counter(query, key, mask, scale, why)))
    route, counter = found
    next(counter)
    if route is None:
        return None
    return route(query, key, value, q, k, v) if bias is None and not named else route(query, key, value, q, k, v, bias, *named)
