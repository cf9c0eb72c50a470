# torch_launch.py - launches, through the CUDA driver that PyTorch has open.

class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 6), ("shared_bytes", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(_Attribute)), ("attribute_count", ctypes.c_uint)]


class _Driver:
    def __init__(self):
        self.api = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        self.launch = self.api.cuLaunchKernelEx

    def check(self, code, doing):
        if code != 0:
            text = ctypes.c_char_p()
            self.api.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"fatune: cannot {doing}: {(text.value or b'unknown error').decode()} ({code})")

    def make_current(self, index):
        """PyTorch's context of a device for this thread, which has none before its first call of the runtime."""
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.api.cuDeviceGet(ctypes.byref(device), index), "find the device")
        self.check(self.api.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "use the device")
        self.check(self.api.cuCtxSetCurrent(context), "use the device")

    def load(self, code, stages):
        """The functions of a cubin, allowed the shared memory and clusters they need. Also while a graph is captured:
        nothing here becomes part of it."""
        mode = ctypes.c_int(2)  # relaxed
        self.check(self.api.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)), "set the capture mode")
        try:
            module, functions = ctypes.c_void_p(), []
            self.check(self.api.cuModuleLoadData(ctypes.byref(module), code), "load the machine code")
            for stage in stages:
                function = ctypes.c_void_p()
                name = stage["entry"].encode()
                self.check(self.api.cuModuleGetFunction(ctypes.byref(function), module, name), "find " + stage["entry"])
                attributes = {8: stage["shared_bytes"], 9: 100} if stage["shared_bytes"] else {}
                if math.prod(stage["cluster"]) > 8:
                    attributes[14] = 1
                for attribute, value in attributes.items():
                    self.check(self.api.cuFuncSetAttribute(function, attribute, value), "prepare " + stage["entry"])
                functions.append(function)
            return functions
        finally:
            self.api.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))

    def encode(self, plan, strides, pointer):
        """A tensor map, as memory and its address; both stay valid with the first."""
        memory = ctypes.create_string_buffer(128 + 64)
        address = (ctypes.addressof(memory) + 63) & ~63
        element = {"byte": 0, "f16": 6, "bf16": 9}[plan["element"]]
        swizzle = {0: 0, 32: 1, 64: 2, 128: 3}[plan["swizzle_bytes"]]
        self.check(self.api.cuTensorMapEncodeTiled(
            ctypes.c_void_p(address), element, 4, ctypes.c_void_p(pointer), (ctypes.c_uint64 * 4)(*plan["sizes"]),
            (ctypes.c_uint64 * 3)(*strides), (ctypes.c_uint32 * 4)(*plan["box"]), (ctypes.c_uint32 * 4)(1, 1, 1, 1),
            0, swizzle, 3, 0), "describe " + plan["tensor"])
        return memory, address


_driver: _Driver | None = None
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
    lambda index: torch.cuda.current_stream(index).cuda_stream)
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)


class _Kernel:
    """One kernel of this file, and its functions on each device that has called it."""

    def __init__(self, facts, cubin):
        problem = facts["problem"]
        batch, heads, self.kv_heads = problem["batch"], problem["heads"], problem["kv_heads"]
        self.facts, self.cubin, self.heads = facts, cubin, heads
        self.dtype = _DTYPES[problem["dtype"]]
        key = (batch, self.kv_heads, problem["seq_kv"], problem["head_dim"])
        query = (batch, heads, problem["seq_q"], problem["head_dim"])
        mask = _LOWER_RIGHT if problem["mask"] == "causal" else None
        self.key = _problem_key(query, key, key, self.dtype, mask, True)
        arguments = {name for stage in facts["stages"] for name in stage["arguments"]}
        self.by_pointer = arguments & {"q", "k", "v"}  # these are read as contiguous memory
        sizes = [(scratch["name"], scratch["bytes"]) for scratch in facts["scratch"]]
        if problem.get("lse"):
            sizes.append(("lse", 4 * math.prod(query[:3])))
        self.memory, self.memory_bytes = {}, 0  # scratch by name: where it starts in one allocation
        for name, count in sizes:
            self.memory[name] = self.memory_bytes
            self.memory_bytes += (count + 255) // 256 * 256
        self.functions, self.lock = {}, threading.Lock()

    def has_scale(self, scale):
        own = self.facts["scale"]
        wanted = 1 / math.sqrt(self.facts["problem"]["head_dim"]) if scale is None else scale
        return abs(wanted - own) <= 1e-6 * abs(own)

    def strides_of(self, name, tensor):
        """() for contiguous memory, as _byte_strides has them for other strides that can be read as they are, else
        None."""
        if tensor.is_contiguous():
            return ()
        if name in self.by_pointer:
            return None
        heads = self.heads if name == "q" else self.kv_heads
        return _byte_strides(tensor.shape, tensor.stride(), heads, tensor.element_size())

    def rank(self, device_name):
        """Of kernels for one problem the least is taken: measured on such a device, verified, fast."""
        measured = self.facts["measured"] or {"hot_us": math.inf}
        return (self.facts["device"]["name"] != device_name, not self.facts["verified"], measured["hot_us"])

    def code(self):
        code = zlib.decompress(base64.b64decode(self.cubin))
        if hashlib.sha256(code).hexdigest() != self.facts["cubin"]["sha256"]:
            raise RuntimeError(f"fatune: the machine code of {self.facts['cubin']['file']} in {__file__} was changed; "
                               "export it again")
        return code

    def on(self, index):
        global _driver
        with self.lock:
            if index not in self.functions:
                _driver = _driver or _Driver()
                with torch.cuda.device(index):
                    _driver.make_current(index)
                    self.functions[index] = _driver.load(self.code(), self.facts["stages"])
            return self.functions[index]


def _config(stage, stream):
    """The launch configuration of a stage."""
    attributes = []
    if math.prod(stage["cluster"]) > 1:
        attributes.append(_Attribute(4, 0, tuple(stage["cluster"])))
    if stage["dependent"]:
        attributes.append(_Attribute(6, 0, (1,)))
    sizes = (ctypes.c_uint * 6)(*stage["grid"], *stage["block"])
    return _Config(sizes, stage["shared_bytes"], stream, (_Attribute * 2)(*attributes), len(attributes))


class _Route:
    """A kernel on a device for tensors of certain strides: called with them and their addresses, it queues the kernel
    on the current stream. Launches are kept by the addresses in them: PyTorch's allocator soon gives the same again.
    A kept one never changes, so threads can share it."""

    def __init__(self, kernel, index, strides):
        """`strides` of q, k and v as strides_of has them; None where a contiguous copy is to be read."""
        self.kernel, self.index, self.strides = kernel, index, strides
        self.copied = [name for name in "qkv" if strides[name] is None]
        self.functions, self.launches = kernel.on(index), {}

    def __call__(self, query, key, value, q, k, v):
        if _current_device() != self.index:
            with torch.cuda.device(self.index):
                return self(query, key, value, q, k, v)
        if self.copied:
            query, key, value = (tensor.clone(memory_format=torch.contiguous_format) if name in self.copied else tensor
                                 for name, tensor in zip("qkv", (query, key, value)))
            q, k, v = query.data_ptr(), key.data_ptr(), value.data_ptr()
        out = torch.empty_like(query, memory_format=torch.contiguous_format)
        scratch = out
        if self.kernel.memory_bytes:
            scratch = torch.empty(self.kernel.memory_bytes, dtype=torch.uint8, device=query.device)
        place = (q, k, v, out.data_ptr(), scratch.data_ptr(), _raw_stream(self.index))
        kept = self.launches.get(place) or self.bind(place)
        for launch in kept[0]:
            code = _driver.launch(*launch)
            if code != 0:
                self.launch_again(launch, code)
        return out

    def bind(self, place):
        """What cuLaunchKernelEx takes for each stage, and the memory that this points to."""
        *pointers, scratch, stream = place
        pointers = dict(zip(("q", "k", "v", "out"), pointers), lse=0)
        pointers.update((name, scratch + offset) for name, offset in self.kernel.memory.items())
        values = {name: ctypes.c_uint64(pointer) for name, pointer in pointers.items()}
        addresses = {name: ctypes.addressof(value) for name, value in values.items()}
        maps = []
        for plan in self.kernel.facts["tensor_maps"]:
            strides = self.strides.get(plan["tensor"]) or plan["strides_bytes"]
            memory, addresses[plan["name"]] = _driver.encode(plan, strides, pointers[plan["tensor"]])
            maps.append(memory)
        launches = []
        for function, stage in zip(self.functions, self.kernel.facts["stages"]):
            arguments = (ctypes.c_void_p * len(stage["arguments"]))(*(addresses[name] for name in stage["arguments"]))
            launches.append((ctypes.byref(_config(stage, stream)), function, arguments, None))
        if len(self.launches) >= _MAX_REMEMBERED:
            self.launches.clear()
        self.launches[place] = kept = (launches, values, maps)
        return kept

    def launch_again(self, launch, code):
        """After a failure: a thread's first call finds no context current (201)."""
        if code == 201:
            _driver.make_current(self.index)
            code = _driver.launch(*launch)
        _driver.check(code, "launch " + self.kernel.facts["kernel"])
