# torch_fp8.py: Runs fp8 attention on 16-bit tensors or on fp8 tensors with factors.

class _Fp8Route(_Route):
    """Like _Route, for a kernel of fp8."""

    tensors = ("q", "k", "v", "q_descale", "k_descale", "v_descale", "out")

    def __call__(self, query, key, value, descales):
        out = torch.empty_like(query, dtype=self.kernel.out_dtype)
        factors = [0 if each is None else each.data_ptr() for each in descales]
        self.queue(query.data_ptr(), key.data_ptr(), value.data_ptr(), *factors, out.data_ptr())
        return out


_AS_FP8 = "fp8"
_ROUTES[_AS_FP8] = _Fp8Route


def _refuse_factors(query, key, descales, smooth_k):
    """Refuses factors of wrong type or shape, and factors of 16-bit tensors."""
    if query.dtype in _FP8 and smooth_k is not None:
        raise ValueError(f"sdpa_fp8: smooth_k is for tensors that are quantized here; these are {query.dtype} already")
    for name, factor in zip(("descale_q", "descale_k", "descale_v"), descales):
        if query.dtype not in _FP8:
            if factor is not None:
                raise ValueError(f"sdpa_fp8: {name} is for fp8 tensors; those of {query.dtype} are quantized here")
        elif factor is None:
            raise ValueError(f"sdpa_fp8: {name} is missing; of fp8 tensors each has a factor a key head")
        elif (not isinstance(factor, torch.Tensor) or factor.dtype != torch.float32 or tuple(factor.shape) != tuple(key.shape[:2])
              or factor.device != query.device or not factor.is_contiguous()):
            raise ValueError(f"sdpa_fp8: {name} must be contiguous float32 {tuple(key.shape[:2])} on {query.device}")


def _fp8_mask(attn_mask, is_causal, query, key):
    """Returns the mask for _choice. A mask object must have the lengths of the tensors."""
    side = _bias_side(attn_mask)
    if attn_mask is None:
        return _UPPER_LEFT if is_causal else None
    if side is None or is_causal:
        raise ValueError("sdpa_fp8: attn_mask must be a causal mask of torch.nn.attention.bias, without is_causal")
    told, lengths = (attn_mask.seq_len_q, attn_mask.seq_len_kv), (query.shape[-2], key.shape[-2])
    if told != lengths:
        raise ValueError(f"sdpa_fp8: attn_mask is for {told[0]} queries and {told[1]} keys, not {lengths[0]} and {lengths[1]}")
    return side


def _fp8_route(query, key, value, mask, scale, gqa, smooth_k):
    """Returns the route of a call, or the reason why there is none."""
    table = _service.table
    asked = (_AS_FP8, *((tensor.shape, tensor.stride(), tensor.dtype) for tensor in (query, key, value)), query.device,
             mask, scale, gqa, smooth_k)
    route = table.routes.get(asked)
    if route is None:
        tensors = {"q": query, "k": key, "v": value}
        kernel, seen = _choice(table.kernels, tensors, mask, scale, gqa, quantizes=query.dtype not in _FP8,
                               smooth_k=smooth_k)
        route, why = (None, seen) if kernel is None else _route_of(kernel, _AS_FP8, query.device.index or 0, seen)
        route = _remember(table.routes, asked, route or why)
    return route


def sdpa_fp8(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, is_causal: bool = False,
             scale: float | None = None, enable_gqa: bool = False, *, attn_mask: torch.Tensor | None = None,
             descale_q: torch.Tensor | None = None, descale_k: torch.Tensor | None = None,
             descale_v: torch.Tensor | None = None, smooth_k: bool | None = None, return_error: bool = False):
    """Returns attention by this process's fp8 kernels on the current stream, without gradients.
    Tensors are as in sdpa().

    attn_mask is None or torch.nn.attention.bias.causal_lower_right, the mask of causal kernels for
    fewer queries than keys. Tensors of float16 or bfloat16 are quantized by the kernel; without
    such a kernel PyTorch computes in 16 bits. With smooth_k=True the kernel subtracts K's mean over
    keys; with False it does not; None allows either.

    fp8 tensors have factors: descale_q, descale_k and descale_v are float32 (batch, kv_heads).
    Without a kernel for fp8 tensors the function raises ValueError with the reason. With
    return_error the result is (out, error): the relative 2-norm error against PyTorch's attention
    in 16 bits, which costs one such call. Tensors that need gradients raise ValueError.
    """
    descales = (descale_q, descale_k, descale_v)
    _refuse_others(query, key, value)
    if _is_autocast_enabled():
        query, key, value = (tensor if tensor.dtype in _FP8 else _autocast(tensor) for tensor in (query, key, value))
    _refuse_misuse(query, key, value)
    _refuse_factors(query, key, descales, smooth_k)
    if _needs_gradients(query, key, value):
        raise ValueError("sdpa_fp8: no kernel has gradients; call it under torch.no_grad()")
    mask = _fp8_mask(attn_mask, is_causal, query, key)
    route = "the tensors are on " + str(query.device)
    if query.is_cuda and torch.version.cuda is not None:
        route = _fp8_route(query, key, value, mask, scale, enable_gqa, smooth_k)
    if any(tensor.data_ptr() % _ALIGNMENT for tensor in (query, key, value)):
        route = f"a tensor does not begin at a multiple of {_ALIGNMENT} bytes"
    options = (attn_mask, is_causal, scale, enable_gqa)
    if isinstance(route, str):
        if query.dtype in _FP8:
            raise ValueError(f"sdpa_fp8: {route}")
        out = _in_16_bits(query, key, value, *options)
    else:
        out = route(query, key, value, descales)
    return (out, _fp8_error(out, query, key, value, descales, options)) if return_error else out


def _in_16_bits(query, key, value, attn_mask, is_causal, scale, gqa):
    """Returns PyTorch's attention."""
    if attn_mask is not None:
        return _pytorch_with(attn_mask, query, key, value, 0.0, False, scale, gqa)
    return _pytorch(query, key, value, is_causal=is_causal, scale=scale, enable_gqa=gqa)


def _fp8_error(out, query, key, value, descales, options):
    """Returns the error against PyTorch's attention of the values in out's type."""
    values = (query, key, value)
    if query.dtype in _FP8:
        group = query.shape[1] // key.shape[1]
        factors = (descales[0].repeat_interleave(group, 1), *descales[1:])
        values = [(tensor.float() * factor[:, :, None, None]).to(out.dtype) for tensor, factor in zip(values, factors)]
    right = _in_16_bits(*values, *options).float()
    return (torch.linalg.vector_norm(out.float() - right) / torch.linalg.vector_norm(right)).item()
