# torch_launch.py - attention's kernels: which call each does, and its launches on bound tensors.

class _Kernel(_Loaded):
    """One kernel of this file."""

    def __init__(self, facts, cubin):
        super().__init__(facts, cubin)
        problem = facts["problem"]
        batch, heads, self.kv_heads = problem["batch"], problem["heads"], problem["kv_heads"]
        self.heads = heads
        self.dtype = _DTYPES[problem["dtype"]]
        key = (batch, self.kv_heads, problem["seq_kv"], problem["head_dim"])
        query = (batch, heads, problem["seq_q"], problem["head_dim"])
        mask = _LOWER_RIGHT if problem["mask"] == "causal" else None
        self.key = _problem_key(query, key, key, self.dtype, mask, True)
        arguments = {name for stage in facts["stages"] for name in stage["arguments"]}
        self.by_pointer = arguments & {"q", "k", "v"}  # these are read as contiguous memory
        if problem.get("lse"):
            self.reserve("lse", 4 * math.prod(query[:3]))

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
