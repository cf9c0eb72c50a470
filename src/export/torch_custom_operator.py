# torch_custom_operator.py: Selects, launches and registers kernels of custom operations.

class _Kernel(_Loaded):
    """One kernel of this file. A call with its inputs queues the kernel on the current stream."""

    def __init__(self, facts, cubin):
        super().__init__(facts, cubin)
        self.operation = facts["problem"]["operation"]
        self.inputs = [tensor for tensor in facts["tensors"] if not tensor["output"] or tensor.get("filled")]
        self.outputs = [tensor for tensor in facts["tensors"] if tensor["output"]]
        self.key = tuple((tuple(tensor.get("shape_expressions", tensor["shape"])), _DTYPES[tensor["type"]])
                         for tensor in self.inputs)
        self.constants = {}  # addresses by device and symbol
        self.sizes = facts.get("runtime_sizes", ())
        self.places = {}  # (input, dimension) by run-time size
        for place, (shape, _) in reversed(list(enumerate(self.key))):
            self.places.update({name: (place, i) for i, name in enumerate(shape) if name in self.sizes})
        self.asked = [name for name in self.sizes if name not in self.places]  # no shape tells them
        self.plan = functools.lru_cache(64)(lambda *sizes: _Plan(facts, dict(zip(self.sizes, sizes))))

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

    def new_outputs(self, like, shapes):
        return tuple(torch.empty(shape, dtype=_DTYPES[tensor["type"]], device=like.device)
                     for tensor, shape in zip(self.outputs, shapes))

    def __call__(self, inputs, sizes):
        plan = self.plan(*sizes.values())
        index = inputs[0].device.index
        with torch.cuda.device(index):
            functions = self.on(index)
            inputs = [tensor if tensor.is_contiguous() and tensor.data_ptr() % _ALIGNMENT == 0
                      else tensor.clone(memory_format=torch.contiguous_format) for tensor in inputs]
            outputs = self.new_outputs(inputs[0], plan.outputs)
            for described, output in zip(self.outputs, outputs):
                if described in self.inputs:  # it is read, too
                    output.copy_(inputs[self.inputs.index(described)])
            scratch = torch.empty(plan.bytes, dtype=torch.uint8, device=inputs[0].device)
            pointers = {name: scratch.data_ptr() + offset for name, offset in plan.scratch.items()}
            for described, tensor in zip(self.inputs + self.outputs, (*inputs, *outputs)):
                pointers[described["name"]] = tensor.data_ptr()
            self.fill(functions[0], pointers, index)
            values = {**plan.scalars, **{name: ctypes.c_uint64(pointer) for name, pointer in pointers.items()}}
            for function, stage in zip(functions, plan.stages):
                self.launch(function, stage, values, index)
        return outputs

    def fill(self, function, pointers, index):
        """Queues copies of inputs to __constant__ variables."""
        for constant in self.facts.get("constants", ()):
            place = (index, constant["symbol"])
            if place not in self.constants:
                self.constants[place] = _driver.constant(function, constant["symbol"], constant["bytes"])
            _driver.check(_driver.api.cuMemcpyDtoDAsync_v2(
                self.constants[place], ctypes.c_uint64(pointers[constant["tensor"]]), ctypes.c_size_t(constant["bytes"]),
                ctypes.c_void_p(_raw_stream(index))), "fill " + constant["symbol"])

    def launch(self, function, stage, values, index):
        arguments = (ctypes.c_void_p * len(stage["arguments"]))(
            *(ctypes.addressof(values[name]) for name in stage["arguments"]))
        config = _config(stage, _raw_stream(index))
        code = _driver.launch(ctypes.byref(config), function, arguments, None)
        if code == 201:  # a new thread has no current context before its first call
            _driver.make_current(index)
            code = _driver.launch(ctypes.byref(config), function, arguments, None)
        _driver.check(code, "launch " + self.facts["kernel"])


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
    """Registers the operator fatune::OPERATION."""
    example = next(kernel for kernel in _kernels if kernel.operation == operation)
    single, count = len(example.outputs) == 1, len(example.inputs)

    def compute(*arguments):
        kernel, sizes = _kernel_for(operation, arguments[:count], arguments[count:])
        outputs = kernel(arguments[:count], sizes)
        return outputs[0] if single else outputs

    def shapes(*arguments):
        kernel, sizes = next(_takers(operation, arguments[:count], arguments[count:]),
                             (example, example.facts["problem"].get("sizes", {})))
        outputs = kernel.new_outputs(arguments[0], [_shape(tensor, sizes) for tensor in kernel.outputs])
        return outputs[0] if single else outputs

    described = [("Tensor", tensor["name"]) for tensor in example.inputs] + [("SymInt", name) for name in example.asked]
    parameters = ", ".join(f"{kind} {name}{'_' if keyword.iskeyword(name) else ''}" for kind, name in described)
    result = "Tensor" if single else f"({', '.join(['Tensor'] * len(example.outputs))})"
    library.define(f"{operation}({parameters}) -> {result}",
                   tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(operation, compute, "CompositeExplicitAutograd")
    torch.library.register_fake(f"fatune::{operation}", shapes, lib=library)


def __getattr__(name):
    """Returns an operation, which is no global, because a global may have its name."""
    if name in _operations:
        return getattr(torch.ops.fatune, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def info() -> list[dict]:
    """Returns the launch facts (fatune.launch/1) of every kernel."""
    return [kernel.facts for kernel in _kernels]


# Several such files in one process share kernels and operators.
_shared = torch.ops.fatune.__dict__.setdefault(
    "custom_1", {"kernels": [], "operations": set(), "library": torch.library.Library("fatune", "FRAGMENT")})
_kernels = _shared["kernels"]
_present = {(kernel.facts["cubin"]["sha256"], kernel.facts["id"]) for kernel in _kernels}
_kernels.extend(_Kernel(facts, _CUBINS[facts["cubin"]["sha256"]]) for facts in _FACTS
                if (facts["cubin"]["sha256"], facts["id"]) not in _present)
_operations = {facts["problem"]["operation"] for facts in _FACTS}
for _operation in sorted(_operations - _shared["operations"]):
    _register(_shared["library"], _operation)
    _shared["operations"].add(_operation)
if not all(facts["verified"] for facts in _FACTS):
    warnings.warn(f"{__file__} holds kernels whose results were never verified (info() says which)", RuntimeWarning)

if __name__ == "__main__":
    for _kernel in _kernels:
        print(f"{_kernel.operation}: {_text(_kernel.key)}, {_kernel.facts['kernel']} for {_kernel.facts['arch']}")
