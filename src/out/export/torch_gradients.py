# torch_gradients.py: Runs a kernel that writes the log-sum-exp, then PyTorch's backward pass.

def _back_by_flash(grad, query, key, value, out, lse, causal, scale):
    unused = lse.new_empty((2,), dtype=torch.uint64)  # state of dropout
    return torch.ops.aten._scaled_dot_product_flash_attention_backward(
        grad, query, key, value, out, lse, None, None, query.shape[2], key.shape[2], 0.0, causal, unused, unused,
        scale=scale)


def _back_by_cudnn(grad, query, key, value, out, lse, causal, scale):
    unused = lse.new_empty((), dtype=torch.int64)
    return torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
        grad, query, key, value, out, lse.unsqueeze(-1), unused, unused, None, None, None, query.shape[2],
        key.shape[2], 0.0, causal, scale=scale)


_BACKWARDS = {"flash": _back_by_flash, "cudnn": _back_by_cudnn}
"""Both read the log-sum-exp that kernels write: natural logarithms of scaled scores, float32,
(batch, heads, seq_q)."""


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, route):
        out, lse = route.both(query, key, value)
        ctx.save_for_backward(query, key, value, out, lse)
        ctx.route = route
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return (*ctx.route.backward(grad, *ctx.saved_tensors), None)


class _RouteWithLse(_Route):
    """Like _Route; also returns the log-sum-exp."""

    tensors = ("q", "k", "v", "out", "lse")

    def both(self, query, key, value):
        out, lse = torch.empty_like(query), query.new_empty(query.shape[:3], dtype=torch.float32)
        self.queue(query.data_ptr(), key.data_ptr(), value.data_ptr(), out.data_ptr(), lse.data_ptr())
        return out, lse

    def __call__(self, query, key, value, *_):
        return self.both(query, key, value)


class _RouteWithGradients(_RouteWithLse):
    """Serves a call that needs gradients, with the backward pass chosen for the kernel."""

    def __call__(self, query, key, value, *_):
        return _Attention.apply(query, key, value, self)

    def backward(self, grad, query, key, value, out, lse):
        causal = self.kernel.mask is not None and query.shape[2] > 1
        return _BACKWARDS[self.backward_by](grad, query, key, value, out, lse, causal, self.kernel.facts["scale"])


_GRADIENTS, _LSE = "gradients", "lse"  # extra outputs: gradients, or only the log-sum-exp
_ROUTES = {None: _Route, _GRADIENTS: _RouteWithGradients, _LSE: _RouteWithLse}


def _run_with_lse(query, key, value, is_causal, scale, enable_gqa):
    """Runs fatune::_sdpa_with_lse: selects a kernel, else FlashAttention, at run time."""
    found = _attend(query, key, value, _UPPER_LEFT if is_causal else None, scale, enable_gqa, _LSE)
    if found is not None:
        return found
    query, key, value = (each if _is_aligned(each) else each.clone() for each in (query, key, value))
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, 0.0, is_causal, scale=scale)[:2]
    return _new_output(query, value).copy_(out), lse


def _with_lse_operator(query, key, value, is_causal, scale, enable_gqa, backward, installed):
    return _functions_of(installed)["_run_with_lse"](query, key, value, is_causal, scale, enable_gqa)


def _keep_for_backward(ctx, inputs, output):
    query, key, value, ctx.is_causal, ctx.scale, _, ctx.backward, _ = inputs
    ctx.save_for_backward(query, key, value, *output)


def _traced_backward(ctx, grad, _):
    return (*_BACKWARDS[ctx.backward](grad, *ctx.saved_tensors, ctx.is_causal, ctx.scale), *[None] * 5)


def _register_gradients(library, tags):
    library.define("_sdpa_with_lse(Tensor query, Tensor key, Tensor value, bool is_causal, float? scale, "
                   "bool enable_gqa, str backward, bool installed) -> (Tensor, Tensor)", tags=tags)
    library.impl("_sdpa_with_lse", _with_lse_operator, "CompositeExplicitAutograd")

    @torch.library.register_fake("fatune::_sdpa_with_lse", lib=library)
    def fake(query, key, value, is_causal, scale, enable_gqa, backward, installed):
        return _new_output(query, value), query.new_empty(query.shape[:3], dtype=torch.float32)

    torch.library.register_autograd("fatune::_sdpa_with_lse", _traced_backward, setup_context=_keep_for_backward,
                                    lib=library)


def _with_backward(kernels):
    """Returns the kernels and strides that serve calls with gradients; or none, and the reason."""
    chosen = {kernel.facts["id"]: _service.backwards.get(kernel.facts["id"]) for kernel, _ in kernels}
    found = [(kernel, seen) for kernel, seen in kernels if chosen[kernel.facts["id"]] in _BACKWARDS]
    if found:
        return found, None
    told = [why for why in chosen.values() if why is not None]
    return [], "gradients are wanted, and " + (told[0] if told else "no kernel is let serve them (serve_gradients)")


def serve_gradients(backwards: dict[str, str]) -> None:
    """Lets kernels serve calls that need gradients, each with a backward pass of PyTorch. Maps a
    kernel's `id` (see info()) to "flash" or "cudnn". Another text is the reason why PyTorch does
    both passes.

    The function measures and compares nothing, unlike fatune.install(). Raises ValueError for a
    kernel that does not write the log-sum-exp (`fatune sweep --lse`).
    """
    writing = {kernel.facts["id"] for kernel in (*_service.table.kernels, *_own) if kernel.facts["problem"].get("lse")}
    for kernel, name in backwards.items():
        if name in _BACKWARDS and kernel not in writing:
            raise ValueError(f"serve_gradients: no kernel {kernel} writes the log-sum-exp; tune it with --lse")
    _service.backwards.update(backwards)
    _service.forget()
