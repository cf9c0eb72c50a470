# torch_queue.py: Returns PyTorch's current stream and loads machine code during a capture.

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
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
