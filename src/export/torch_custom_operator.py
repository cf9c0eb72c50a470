# torch_custom_operator.py: Selects, launches and registers kernels of custom operations.

class _Kernel(_Loaded):
    """One kernel of this file."""

    def __init__(self, facts, cubin):
        super().__init__(facts, cubin)
        self.operation = facts["problem"]["operation"]
        self.inputs = [tensor for tensor in facts["tensors"] if not tensor["output"] or tensor.get("filled")]
        self.outputs = [tensor for tensor in facts["tensors"] if tensor["output"]]
        self.key = tuple((tuple(tensor.get("shape_expressions", tensor["shape"])), _DTYPES[tensor["type"]])
                         for tensor in self.inputs)
        self.sizes = facts.get("runtime_sizes", ())
        self.places = {}  # (input, dimension) by run-time size
        for place, (shape, _) in reversed(list(enumerate(self.key))):
            self.places.update({name: (place, i) for i, name in enumerate(shape) if name in self.sizes})
        self.asked = [name for name in self.sizes if name not in self.places]  # no shape tells them

    def sizes_of(self, inputs, given):
        """Returns the run-time sizes by name, `given` where no shape has them; None if the kernel does not take the inputs."""
        if [(tensor.dim(), tensor.dtype) for tensor in inputs] != [(len(shape), dtype) for shape, dtype in self.key]:
            return None
        found = {**dict(zip(self.asked, given)),
                 **{name: inputs[place].shape[i] for name, (place, i) in self.places.items()}}
        sizes = {name: found[name] for name in self.sizes}
        fits = all(tuple(tensor.shape) == _shape(described, sizes) for tensor, described in zip(inputs, self.inputs))
        return sizes if fits else None

    def distance(self, sizes):
        """How far the sizes are from the tuned ones."""
        tuned = self.facts["problem"].get("sizes", {})
        return sum(abs(math.log(max(size, 1) / tuned[name])) for name, size in sizes.items())


class _Route:
    """A kernel on a device for some run-time sizes. A call with the inputs queues the kernel on the current stream.
    The driver's calls are cached by address, because PyTorch's allocator soon reuses addresses. They are constant, so
    threads can share them."""

    def __init__(self, kernel, sizes, device):
        self.kernel, self.device, self.calls = kernel, device, {}
        self.plan, self.functions = _Plan(kernel.facts, sizes), kernel.on(device.index)
        self.outputs = [(shape, _DTYPES[tensor["type"]]) for tensor, shape in zip(kernel.outputs, self.plan.outputs)]
        self.read = [(place, kernel.inputs.index(tensor)) for place, tensor in enumerate(kernel.outputs) if tensor in kernel.inputs]
        self.constants = [
            (_driver.constant(self.functions[0], each["symbol"], each["bytes"]), each["tensor"], ctypes.c_size_t(each["bytes"]))
            for each in kernel.facts.get("constants", ())]

    def __call__(self, inputs):
        index = self.device.index
        if _current_device() != index:
            with torch.cuda.device(index):
                return self(inputs)
        inputs = [tensor if tensor.data_ptr() % _ALIGNMENT == 0 and tensor.is_contiguous()
                  else tensor.clone(memory_format=torch.contiguous_format) for tensor in inputs]
        outputs = [torch.empty(shape, dtype=dtype, device=self.device) for shape, dtype in self.outputs]
        for place, source in self.read:
            outputs[place].copy_(inputs[source])
        scratch = 0
        if self.plan.bytes:
            memory = torch.empty(self.plan.bytes, dtype=torch.uint8, device=self.device)
            scratch = memory.data_ptr()
        place = (*[tensor.data_ptr() for tensor in (*inputs, *outputs)], scratch, _raw_stream(index))
        for function, words in (self.calls.get(place) or self.bind(place))[0]:
            code = function(*words)
            if code != 0:
                self.kernel.again(function, words, code, index)
        return outputs

    def bind(self, place):
        """Caches the arguments of the driver's calls and the memory that they point to."""
        *tensors, scratch, stream = place
        pointers = {name: scratch + offset for name, offset in self.plan.scratch.items()}
        pointers.update(zip((tensor["name"] for tensor in self.kernel.inputs + self.kernel.outputs), tensors))
        values = {**self.plan.scalars, **{name: ctypes.c_uint64(pointer) for name, pointer in pointers.items()}}
        addresses = {name: ctypes.addressof(value) for name, value in values.items()}
        calls = [(_driver.api.cuMemcpyDtoDAsync_v2, (to, values[tensor], count, ctypes.c_void_p(stream)))
                 for to, tensor, count in self.constants]
        calls += [(_driver.launch, words) for words in _launches(self.functions, self.plan.stages, addresses, stream)]
        return _remember(self.calls, place, (calls, values))


def _text(key):
    return ", ".join(f"[{', '.join(map(str, shape))}] {str(dtype).removeprefix('torch.')}" for shape, dtype in key)


def _takers(operation, inputs, given):
    """Yields each kernel that takes the inputs, with its run-time sizes."""
    for kernel in _kernels:
        sizes = kernel.sizes_of(inputs, given) if kernel.operation == operation else None
        if sizes is not None:
            yield kernel, sizes


def _kernel_for(operation, inputs, given):
    """Returns the kernel for tensors of these shapes and types that the CUDA device can run, and its run-time sizes."""
    takers = list(_takers(operation, inputs, given))
    if not takers:
        key = tuple((tuple(tensor.shape), tensor.dtype) for tensor in inputs)
        there = "; ".join(sorted({_text(kernel.key) for kernel in _kernels if kernel.operation == operation}))
        raise ValueError(f"{operation}: no kernel takes {_text(key)}; there are kernels for {there}")
    device = inputs[0].device
    if any(tensor.device != device for tensor in inputs):
        raise ValueError(f"{operation}: the inputs are on several devices; move them to one")
    if device.type != "cuda":
        raise ValueError(f"{operation}: the inputs are on {device}; move them to a CUDA device")
    capability = torch.cuda.get_device_capability(device)
    takers = [taker for taker in takers if _runs_on(taker[0].facts, capability)]
    if not takers:
        raise RuntimeError(f"{operation}: no kernel of this file runs on {torch.cuda.get_device_name(device)}")
    name = torch.cuda.get_device_name(device)
    ranks = [kernel.rank(name) for kernel, _ in takers]
    # Times of other sizes are not comparable.
    return min(zip(takers, ranks), key=lambda row: (*row[1][:2], row[0][0].distance(row[0][1]), *row[1][2:]))[0]


def _register(library, operation):
    """Registers the operator fatune::OPERATION; returns a function that calls it, or its kernel at once where no tracer
    must see the operator."""
    example = next(kernel for kernel in _kernels if kernel.operation == operation)
    single, count = len(example.outputs) == 1, len(example.inputs)
    kinds, routes = (*[_PLAIN] * count, *[(int,)] * len(example.asked)), _shared["routes"].setdefault(operation, {})

    def compute(*arguments):
        inputs = arguments[:count]
        asked = (*[(tensor.shape, tensor.dtype, tensor.device) for tensor in inputs], *arguments[count:])
        route = routes.get(asked)
        if route is None:
            route = _remember(routes, asked, _Route(*_kernel_for(operation, inputs, arguments[count:]), inputs[0].device))
        outputs = route(inputs)
        return outputs[0] if single else tuple(outputs)

    def call(*arguments, **named):
        if (_is_compiling() or named or len(arguments) != len(kinds) or _is_observed()
                or any([type(argument) not in kind for argument, kind in zip(arguments, kinds)])
                or _is_grad_enabled() and any([tensor.requires_grad for tensor in arguments[:count]])):
            return getattr(torch.ops.fatune, operation)(*arguments, **named)
        return compute(*arguments)

    def shapes(*arguments):
        kernel, sizes = next(_takers(operation, arguments[:count], arguments[count:]),
                             (example, example.facts["problem"].get("sizes", {})))
        outputs = tuple(torch.empty(_shape(tensor, sizes), dtype=_DTYPES[tensor["type"]], device=arguments[0].device)
                        for tensor in kernel.outputs)
        return outputs[0] if single else outputs

    described = [("Tensor", tensor["name"]) for tensor in example.inputs] + [("SymInt", name) for name in example.asked]
    parameters = ", ".join(f"{kind} {name}{'_' if keyword.iskeyword(name) else ''}" for kind, name in described)
    result = "Tensor" if single else f"({', '.join(['Tensor'] * len(example.outputs))})"
    library.define(f"{operation}({parameters}) -> {result}",
                   tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(operation, compute, "CompositeExplicitAutograd")
    torch.library.register_fake(f"fatune::{operation}", shapes, lib=library)
    return call


def __getattr__(name):
    """Returns an operation, which is no global, because a global may have its name."""
    if name in _operations:
        return _shared["operations"][name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def info() -> list[dict]:
    """Returns the launch facts (fatune.launch/1) of every kernel."""
    return [kernel.facts for kernel in _kernels]


# Several such files in one process share kernels and operators.
_shared = torch.ops.fatune.__dict__.setdefault(
    "custom_2", {"kernels": [], "operations": {}, "routes": {}, "library": torch.library.Library("fatune", "FRAGMENT")})
_kernels = _shared["kernels"]
_present = {(kernel.facts["cubin"]["sha256"], kernel.facts["id"]) for kernel in _kernels}
_kernels.extend(_Kernel(facts, _CUBINS[facts["cubin"]["sha256"]]) for facts in _FACTS
                if (facts["cubin"]["sha256"], facts["id"]) not in _present)
for _routes in _shared["routes"].values():
    _routes.clear()  # another kernel may be better now
_operations = {facts["problem"]["operation"] for facts in _FACTS}
for _operation in sorted(_operations - set(_shared["operations"])):
    _shared["operations"][_operation] = _register(_shared["library"], _operation)
if not all(facts["verified"] for facts in _FACTS):
    warnings.warn(f"{__file__} holds kernels whose results were never verified (info() says which)", RuntimeWarning)

if __name__ == "__main__":
    for _kernel in _kernels:
        print(f"{_kernel.operation}: {_text(_kernel.key)}, {_kernel.facts['kernel']} for {_kernel.facts['arch']}")
