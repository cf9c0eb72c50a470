# torch_queue.py: Returns PyTorch's current stream and state, and loads machine code during a capture.

class _CapturedDriver(_Driver):
    def load(self, code, stages):
        """Loads also during a graph capture, without becoming part of the graph."""
        mode = ctypes.c_int(2)  # relaxed capture mode
        self.check(self.api.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)), "set the capture mode")
        try:
            return super().load(code, stages)
        finally:
            self.api.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


_open_driver = _CapturedDriver
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
    lambda index: torch.cuda.current_stream(index).cuda_stream)
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
_MAX_REMEMBERED = 1024  # chosen: cached decisions and launches before the cache is cleared
# Every call uses these functions, so the attribute look-ups happen once.
_is_compiling, _is_autocast_enabled, _is_grad_enabled = (
    torch.compiler.is_compiling, torch.is_autocast_enabled, torch.is_grad_enabled)
_is_tracing, _dispatch_modes, _transform = (
    torch._C._is_tracing, torch._C._len_torch_dispatch_stack, torch._C._functorch.peek_interpreter_stack)
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)


def _remember(cache, key, found):
    """Returns what was found, kept in a cache that begins anew when it is full."""
    if len(cache) >= _MAX_REMEMBERED:
        cache.clear()
    cache[key] = found
    return found


def _is_observed():
    """Returns whether a tracer or transform must see the operators."""
    return bool(_dispatch_modes()) or _transform() is not None or _forward_ad._current_level >= 0 or _is_tracing()
