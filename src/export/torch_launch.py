# torch_launch.py: Matches calls to kernels of attention and launches kernels on tensors.

def _name_of(facts):
    """Names a kernel; kernels of several layouts may share machine code."""
    return facts["cubin"]["sha256"], facts["id"]


class _Kernel(_Loaded):
    """One kernel of this file."""

    def __init__(self, facts, cubin):
        super().__init__(facts, cubin)
        self.name = _name_of(facts)
        problem = facts["problem"]
        batch, dim, columns = problem["batch"], problem["head_dim"], problem.get("value_dim", problem["head_dim"])
        self.quantizes = "quant" in problem  # 16-bit tensors, fp8 products; never used by sdpa()
        self.smooth_k = problem.get("quant") == "smooth_k"
        self.out_dtype = _DTYPES[problem.get("out_dtype", problem["dtype"])]
        self.dtype = self.out_dtype if self.quantizes else _DTYPES[problem["dtype"]]
        self.fp8 = problem["dtype"] in ("e4m3", "e5m2")
        self.element = 1 if self.dtype in _FP8 else 2  # bytes per element
        key = (batch, problem["kv_heads"], problem["seq_kv"], dim)
        query, value = (batch, problem["heads"], problem["seq_q"], dim), (*key[:3], columns)
        self.bias = problem.get("bias")
        name = None if problem["mask"] == "none" else problem["mask"]
        if self.bias:
            name = _BIAS + self.bias + (_BESIDE + name if name else "")
        declared = {text.partition("=")[0]: text.partition(":")[0] for text in problem.get("tensors", ())}
        self.named = sorted(declared)
        """Tensors that expressions read, in the order of calls."""
        self.forms = [declared[name] for name in self.named]
        self.mask = _word_of(name, [*(each for each in ("alibi", "sink") if problem.get(each)), *self.forms],
                             problem.get("softcap"), problem.get("score"))
        self.key = _problem_key(query, key, value, self.dtype, self.mask, True)
        self.shapes = {"q": query, "k": key, "v": value, "out": (*query[:3], columns)}
        self.strides = {name: _strides_seen(shape, facts["strides"][name], shape[1])  # compiled-in strides
                        for name, shape in self.shapes.items()}
        arguments = {name for stage in facts["stages"] for name in stage["arguments"]}
        self.by_pointer = arguments & {"q", "k", "v"}  # the other tensors use tensor maps
        if problem.get("lse"):
            self.reserve("lse", 4 * math.prod(query[:3]))

    def route(self, kind, index, seen):
        """Returns a route of the file that made the kernel, whose driver loads the kernel. `kind`
        is a key of _ROUTES."""
        return _ROUTES[kind](self, index, seen)

    def has_scale(self, scale):
        own = self.facts["scale"]
        wanted = 1 / math.sqrt(self.facts["problem"]["head_dim"]) if scale is None else scale
        return abs(wanted - own) <= 1e-6 * abs(own)

    def reads(self, tensors):
        """Returns the strides of q, k and v as _strides_seen has them, or None. Requires that the kernel
        takes the strides and writes its output in the query's memory order, as PyTorch does."""
        query = tensors["q"]
        seen = {name: _strides_seen(tensor.shape, tensor.stride(), self.shapes[name][1])
                for name, tensor in tensors.items()}
        shape, out = (*query.shape[:3], self.shapes["out"][3]), _output_strides(query, self.shapes["out"][3])
        if None in (out, *seen.values()) or _strides_seen(shape, out, self.shapes["q"][1]) != self.strides["out"]:
            return None
        takes = (strides == self.strides[name] or name not in self.by_pointer and _can_be_mapped(strides, self.element)
                 for name, strides in seen.items())
        return seen if all(takes) else None

    def rank_for(self, seen, device_name):
        """Ranks like rank(), but kernels for exactly these strides come first."""
        return any(strides != self.strides[name] for name, strides in seen.items()), *self.rank(device_name)


class _Route:
    """A kernel on a device for tensors of certain strides. A call with tensors and addresses, and with the tensors of
    expressions by their names' order, queues the kernel on the current stream. Launches are cached by address, because PyTorch's allocator
    soon reuses addresses. Cached launches are constant, so threads can share them."""

    tensors = ("q", "k", "v", "out", "bias")

    def __init__(self, kernel, index, seen):
        """`seen` has the strides of q, k and v from _Kernel.reads."""
        self.kernel, self.index, self.seen = kernel, index, seen
        self.functions, self.launches = kernel.on(index), {}
        self.names = (*self.tensors, *(f"tensor_{name}" for name in kernel.named))
        same = kernel.shapes["q"] == kernel.shapes["out"]
        self.new_output = (lambda query, _: torch.empty_like(query)) if same else _new_output

    def __call__(self, query, key, value, q, k, v, bias=None, *named):
        out = self.new_output(query, value)
        self.queue(q, k, v, out.data_ptr(), 0 if bias is None else bias.data_ptr(), *(each.data_ptr() for each in named))
        return out

    def queue(self, *pointers):
        """Queues the kernel; `pointers` has an address for each of `names`."""
        if _current_device() != self.index:
            with torch.cuda.device(self.index):
                return self.queue(*pointers)
        scratch = 0
        if self.kernel.memory_bytes:
            memory = torch.empty(self.kernel.memory_bytes, dtype=torch.uint8, device="cuda")
            scratch = memory.data_ptr()
        place = (*pointers, scratch, _raw_stream(self.index))
        kept = self.launches.get(place) or self.bind(place)
        for launch in kept[0]:
            code = _driver.launch(*launch)
            if code != 0:
                self.kernel.again(_driver.launch, launch, code, self.index)

    def bind(self, place):
        """Caches the arguments of cuLaunchKernelEx and the memory that they point to."""
        *pointers, scratch, stream = place
        memory = {name: scratch + offset for name, offset in self.kernel.memory.items()}
        pointers = {"lse": 0, **memory, **dict(zip(self.names, pointers))}
        strides = {name: [step * self.kernel.element for step in steps] for name, steps in self.seen.items()}
        return _remember(self.launches, place, self.kernel.bound(self.functions, pointers, stream, strides))


class _LseRoute(_Route):
    """A route that returns the log-sum-exp, too: (batch, heads, rows) in fp32."""

    tensors = (*_Route.tensors, "lse")

    def __call__(self, query, key, value, q, k, v, bias=None, *named):
        out, lse = self.new_output(query, value), torch.empty(query.shape[:3], dtype=torch.float32, device=query.device)
        self.queue(q, k, v, out.data_ptr(), 0 if bias is None else bias.data_ptr(), lse.data_ptr(),
                   *(each.data_ptr() for each in named))
        return out, lse


_FLEX, _WITH_LSE = "flex", "flex with lse"
_ROUTES = {None: _Route, _FLEX: _Route, _WITH_LSE: _LseRoute}  # routes by kind; sdpa() uses None
