"""fake_torch.py: Replaces PyTorch for an exported file; tensors have sizes, strides and addresses only.

A test sets `state`; nn.functional.calls records calls of PyTorch's own attention."""
import math
import sys
import types

state = types.SimpleNamespace(grad=False, autocast=None, modes=0, compiling=False, device=0, stream=70,
                              capability=(9, 0), name="NVIDIA H200", next_address=0x10000)
float16, bfloat16, float32, float64, uint8, int32 = "float16", "bfloat16", "float32", "float64", "uint8", "int32"
float8_e4m3fn, float8_e5m2 = "float8_e4m3fn", "float8_e5m2"
BYTES = {"bool": 1, float16: 2, bfloat16: 2, float32: 4, float64: 8, uint8: 1, float8_e4m3fn: 1, float8_e5m2: 1}


class device:
    def __init__(self, text, index=None):
        kind, _, number = str(text).partition(":")
        self.type, self.index = kind, int(number) if number else index

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


def dense(shape):
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))


class Tensor:
    requires_grad = False

    def __init__(self, shape, dtype=float16, device="cuda:0", stride=None, address=None):
        self.shape, self.dtype, self.device = tuple(shape), dtype, globals()["device"](device)
        self.strides = stride or dense(shape)
        if address is None:
            address = state.next_address
            state.next_address += 512 + math.prod(self.shape) * BYTES[dtype] // 512 * 512
        self.address, self.history = address, []

    is_cuda = property(lambda self: self.device.type == "cuda")
    nbytes = property(lambda self: math.prod(self.shape) * BYTES[self.dtype])

    def __getitem__(self, places):
        assert places == (slice(None), slice(None, 1)), "only the first head is asked for"
        return Tensor((self.shape[0], 1, *self.shape[2:]), self.dtype, self.device, self.strides, self.address)

    def stride(self):
        return self.strides

    def dim(self):
        return len(self.shape)

    def data_ptr(self):
        return self.address

    def get_device(self):
        return -1 if self.device.type == "cpu" else self.device.index

    def element_size(self):
        return BYTES[self.dtype]

    def is_floating_point(self):
        return self.dtype not in (uint8, "bool")

    def is_contiguous(self):
        sized = [i for i, size in enumerate(self.shape) if size > 1]
        return all(self.strides[i] == dense(self.shape)[i] for i in sized)

    def contiguous(self):
        return self if self.is_contiguous() else Tensor(self.shape, self.dtype, self.device)

    def clone(self):
        return empty_like(self).copy_(self)

    def to(self, dtype):
        return self if dtype == self.dtype else self.like(dtype)

    def new_empty(self, shape, dtype=None):
        return Tensor(shape, dtype or self.dtype, self.device)

    def copy_(self, source):
        self.history = [*source.history, source]
        return self

    def like(self, dtype):
        made = Tensor(self.shape, dtype, self.device)
        made.history = [*self.history, self]
        return made


def empty_like(tensor, dtype=None):
    """Without gaps, its dimensions in the same order."""
    strides, step = [1] * tensor.dim(), 1
    for i in sorted(range(tensor.dim()), key=lambda i: (tensor.strides[i], -i)):
        strides[i], step = step, step * tensor.shape[i]
    return Tensor(tensor.shape, dtype or tensor.dtype, tensor.device, tuple(strides))


def empty(shape, dtype, device):
    return Tensor((shape,) if isinstance(shape, int) else shape, dtype, device)


def is_grad_enabled():
    return state.grad


def is_autocast_enabled():
    return state.autocast is not None


def get_autocast_dtype(kind):
    return state.autocast


class OnDevice:
    """torch.cuda.device: another current device for a while."""

    def __init__(self, index):
        self.index = index

    def __enter__(self):
        self.index, state.device = state.device, self.index

    def __exit__(self, *_):
        state.device = self.index


class Library:
    def __init__(self, name, kind):
        assert (name, kind) == ("fatune", "FRAGMENT")
        self.schemas = []

    def define(self, schema, tags):
        name = schema.partition("(")[0]
        assert not hasattr(sys.modules["torch"].ops.fatune, name), "an operator can be defined once"
        self.schemas.append(schema)

    def impl(self, name, function, key):
        setattr(sys.modules["torch"].ops.fatune, name, function)


def refuse(*_):
    raise AssertionError("a symbolic size was compared")


class Relation:
    """A condition on symbols: a program may ask whether its truth is known, but not for its truth."""

    def __init__(self, known):
        self.known = known

    __bool__ = refuse


class Symbol:
    """A size that is not known while a call is traced, and must not be asked for."""

    def __eq__(self, other):
        return Relation(self is other)

    __lt__ = __le__ = __gt__ = __ge__ = __mul__ = __bool__ = refuse
    __hash__ = None


class FakeTensor(Tensor):
    """A tensor as a tracer sees it."""


Tensor.Parameter = type("Parameter", (Tensor,), {})
calls = []  # arguments of the calls of PyTorch's own attention


def scaled_dot_product_attention(*arguments, **options):
    calls.append((arguments, options))
    return "PyTorch's"


class CausalBias(Tensor):
    def __init__(self, variant, rows, columns):
        super().__init__((rows, columns))
        self.variant, self.seq_len_q, self.seq_len_kv = variant, rows, columns

    @classmethod
    def __torch_function__(cls, function, types, arguments, options):
        return "the mask's", function


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)
    return sys.modules[name]


def install():
    """Puts the stand-in where `import torch` finds it."""
    bias = module("torch.nn.attention.bias", CausalBias=CausalBias, CausalVariant=types.SimpleNamespace(
        UPPER_LEFT="upper", LOWER_RIGHT="lower"), causal_lower_right=lambda q, kv: CausalBias("lower", q, kv))
    functional = module("torch.nn.functional", scaled_dot_product_attention=scaled_dot_product_attention)
    attention = module("torch.nn.attention", bias=bias)
    nn = module("torch.nn", functional=functional, attention=attention, Parameter=Tensor.Parameter)
    forward_ad = module("torch.autograd.forward_ad", _current_level=-1)
    module("torch._subclasses.fake_tensor", FakeTensor=FakeTensor)
    module("torch._subclasses.functional_tensor", FunctionalTensor=type("FunctionalTensor", (Tensor,), {}))
    module("torch._subclasses")
    module("torch.utils.flop_counter", register_flop_formula=lambda targets: lambda formula: formula)
    module("torch.utils")
    module("torch.fx.experimental.symbolic_shapes",
           statically_known_true=lambda relation: relation if type(relation) is bool else relation.known)
    module("torch.fx.experimental")
    module("torch.fx")
    module(
        "torch", **{name: value for name, value in globals().items() if not name.startswith("__")}, nn=nn,
        autograd=module("torch.autograd", forward_ad=forward_ad), ops=types.SimpleNamespace(
            fatune=types.SimpleNamespace(), aten=types.SimpleNamespace()),
        library=types.SimpleNamespace(Library=Library, register_fake=lambda name, lib: lambda function: function),
        bool="bool", Tag=types.SimpleNamespace(pt2_compliant_tag="compliant", needs_fixed_stride_order="order"),
        version=types.SimpleNamespace(cuda="13.0"),
        compiler=types.SimpleNamespace(is_compiling=lambda: state.compiling),
        cuda=types.SimpleNamespace(
            current_device=lambda: state.device, device=OnDevice, is_available=lambda: False,
            get_device_capability=lambda index=0: state.capability, get_device_name=lambda index=0: state.name),
        _C=types.SimpleNamespace(
            _cuda_getCurrentRawStream=lambda index: state.stream + index, _is_tracing=lambda: False,
            _len_torch_dispatch_stack=lambda: state.modes, _is_any_autocast_enabled=lambda: state.autocast is not None,
            _functorch=types.SimpleNamespace(peek_interpreter_stack=lambda: None)))
