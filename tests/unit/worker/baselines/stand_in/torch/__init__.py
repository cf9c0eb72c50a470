"""A stand-in for PyTorch: bytes for tensors, a count for a clock; attention copies the queries.

Just enough for torch_helper/ to run without a GPU. The variable STAND_IN names a fault: "no_flash" (the flash backend
refuses), "falls_back" (math runs, whatever was forced), "drifts" (a graph leaves another output), "varies" (a last bit
differs), "writes_input", "out_of_memory". Or it names the mask that attention must be told: "sees:98" query-key pairs of a
head, "window:4,3" keys before and behind a query's own, where -1 is all, "bias:bool,0,16,1" type and strides of a bias.
"""
import contextlib
import itertools
import math
import os
import struct
import warnings

__version__ = "2.99.0+none"
WRONG = os.environ.get("STAND_IN", "")
float16, bfloat16, float32, float8_e4m3fn, float8_e5m2 = "float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2"
int16, int32, uint8, bool = "int16", "int32", "uint8", "bool"
WIDTHS = {float16: 2, bfloat16: 2, int16: 2, float32: 4, int32: 4, uint8: 1, bool: 1, float8_e4m3fn: 1, float8_e5m2: 1}
clock = 0.0  # milliseconds
enabled = {0, 1, 2, 3}
capturing = None
compiled = False
no_grad = contextlib.nullcontext


def dense(shape, order):
    """Strides without gaps; `order` has the dimensions from the closest."""
    strides, step = [0] * len(shape), 1
    for dimension in order:
        strides[dimension] = step
        step *= shape[dimension]
    return tuple(strides)


class Tensor:
    """Elements of `width` bytes in `data`, from its first."""

    device = "cuda"

    def __init__(self, data, shape, strides=None, width=2, dtype=float16):
        self.data, self.shape, self.width, self.dtype = data, tuple(shape), width, dtype
        self.strides = tuple(strides or dense(shape, range(len(shape) - 1, -1, -1)))

    def __getitem__(self, part):
        return Tensor(memoryview(self.data)[:self.width * part.stop], (part.stop,), width=self.width)

    def view(self, dtype):
        """Returns a tensor of one dimension."""
        return Tensor(self.data, (len(self.data) // WIDTHS[dtype],), width=WIDTHS[dtype], dtype=dtype)

    def mean(self, dim, keepdim):
        assert (dim, keepdim) == (2, True)
        return self

    def __sub__(self, other):
        return self

    def size(self, dimension):
        return self.shape[dimension]

    def stride(self):
        return self.strides

    def places(self):
        for at in itertools.product(*map(range, self.shape)):
            yield self.width * sum(i * stride for i, stride in zip(at, self.strides))

    def copy_(self, other):
        for to, of in zip(self.places(), other.places()):
            self.data[to:to + self.width] = other.data[of:of + self.width]

    def clone(self):
        """Without gaps, its dimensions in the same order."""
        order = sorted(range(len(self.shape)), key=lambda i: self.strides[i])
        copy = Tensor(bytearray(self.width * math.prod(self.shape)), self.shape, dense(self.shape, order), self.width, self.dtype)
        copy.copy_(self)
        return copy

    def contiguous(self):
        copy = Tensor(bytearray(self.width * math.prod(self.shape)), self.shape, width=self.width, dtype=self.dtype)
        copy.copy_(self)
        return copy

    def float(self):
        data = self.contiguous().data
        return Values(struct.unpack(f"<{len(data) // 2}e", data))

    def untyped_storage(self):
        return self

    def data_ptr(self):
        return id(self.data)

    def zero_(self):
        tick(1.0)

    def mul_(self, factor):
        return self

    def to(self, dtype):
        return self

    def transpose(self, a, b):
        shape, strides = list(self.shape), list(self.strides)
        shape[a], shape[b], strides[a], strides[b] = shape[b], shape[a], strides[b], strides[a]
        return Tensor(self.data, shape, strides, self.width, self.dtype)

    def reshape(self, *shape):
        return Tensor(self.contiguous().data, shape, width=self.width, dtype=self.dtype)

    def as_strided(self, shape, strides, begin=0):
        return as_strided(self, shape, strides, begin)


class Values(list):
    """A tensor's numbers, those of float16."""

    def __sub__(self, other):
        return Values(a - b for a, b in zip(self, other))

    def norm(self):
        return math.sqrt(sum(value * value for value in self))


class Integers(list):
    """A tensor of whole numbers; a column when it was sliced so."""

    def __mul__(self, factor):
        return Integers(value * factor for value in self)

    def __sub__(self, column):
        return Tableau(b - a for a in column for b in self)

    def __lt__(self, number):
        return Integers(value < number for value in self)

    def __getitem__(self, part):
        return Column(self) if isinstance(part, tuple) else list.__getitem__(self, part)


class Column(list):
    def __add__(self, row):
        return Tableau(a + b for a in self for b in row)


class Tableau(list):
    """The sums of a column and a row, row by row, or what was made of them."""

    def __sub__(self, number):
        return Tableau(value - number for value in self)

    def __le__(self, number):
        return Tableau(value <= number for value in self)

    def __ge__(self, number):
        return Tableau(value >= number for value in self)

    def __and__(self, other):
        return Tableau(a and b for a, b in zip(self, other))

    def __or__(self, row):
        return Tableau(a or b for a, b in zip(self, itertools.cycle(row)))

    def reshape(self, size):
        assert size == -1
        return Integers(self)

    def to(self, dtype):
        return self


def where(mask, shown, hidden):
    """A mask stands for what is added to scores."""
    assert (shown, hidden) == (0, -math.inf)
    return mask


def tensor(numbers, dtype, device):
    return Integers(numbers)


def arange(count, dtype, device):
    return Integers(range(count))


def full(shape, value, dtype, device):
    return Integers([value] * shape[0])


def tick(ms):
    global clock
    clock += ms


def launched(output, ms):
    """A kernel's output, now or at each replay of the graph that is being captured."""
    if capturing is not None:
        capturing.work.append(output)
    else:
        tick(ms)
    return output


def zeros(shape, dtype, device):
    shape = (shape,) if isinstance(shape, int) else shape
    return Tensor(bytearray(0 if dtype == uint8 else 2 * math.prod(shape)), shape)


def as_strided(tensor, shape, strides, begin):
    return Tensor(memoryview(tensor.data)[tensor.width * begin:], shape, strides, tensor.width, tensor.dtype)


def randn(*shape, device):
    return zeros(shape, float16, device)


def empty(shape, dtype, device):
    return Tensor(bytearray(1), (shape,)) if isinstance(shape, int) else zeros(shape, dtype, device)


def frombuffer(memory, dtype, count, offset):
    return Tensor(memoryview(memory)[offset:offset + 2 * count], (count,))


def equal(a, b):
    return bytes(a.data) == bytes(b.data)


def is_tensor(value):
    return isinstance(value, Tensor)


def add(*terms):
    """Of float32."""
    numbers = [struct.unpack(f"<{math.prod(term.shape)}f", term.contiguous().data) for term in terms]
    return launched(Tensor(bytearray(struct.pack(f"<{len(numbers[0])}f", *map(sum, zip(*numbers)))), terms[0].shape, width=4,
                           dtype=float32), 0.125)


def set_grad_enabled(on):
    pass


def told_pairs(count):
    assert not WRONG.startswith("sees:") or WRONG == f"sees:{count}", count


def told_window(*sides):
    sides = [-1 if side is None else side for side in sides]
    assert not WRONG.startswith("window:") or WRONG == "window:{},{}".format(*sides), sides


def attend(q, k, v, **options):
    """Takes 0.125 ms; the options are those that the real one knows."""
    assert set(options) <= {"attn_mask", "dropout_p", "is_causal", "enable_gqa"}, options
    mask = options.get("attn_mask")
    if options.get("is_causal"):
        assert q.size(2) == k.size(2) or WRONG.startswith("sees:"), "top-left"
        told_pairs(sum(min(row + 1, k.size(2)) for row in range(q.size(2))))
    elif WRONG.startswith("bias:"):
        assert WRONG == "bias:" + ",".join(map(str, (mask.dtype, *mask.stride()))), mask.stride()
    elif isinstance(mask, Tableau):
        assert len(mask) == q.size(2) * k.size(2)
        told_pairs(sum(mask))
    assert options.get("enable_gqa", False) == (q.size(1) != k.size(1))
    if WRONG == "out_of_memory":
        raise RuntimeError("CUDA out of memory. Tried to allocate 64.00 GiB")
    if WRONG == "no_flash" and enabled == {1}:
        warnings.warn("Flash attention kernel not used because: (Triggered internally at sdp.cpp:1)")
        warnings.warn("Flash attention needs a newer GPU (Triggered internally at sdp.cpp:2)")
        warnings.warn("CuDNN attention has been runtime disabled. (Triggered internally at sdp.cpp:3)")
        raise RuntimeError("No available kernel. Aborting execution.")
    output = q.clone()
    if WRONG == "writes_input":
        k.data[0] ^= 1
    return launched(output, 0.125)


class ops:
    """The one library that is loaded has FlashAttention-3's forward, which leaves the queries; of fp8 each byte twice."""

    def load_library(path):
        if WRONG == "no_fa3_library":
            raise OSError("libcudart.so.13: cannot open")
        ops._vllm_fa3_C = Fa3


class Operation:
    """Called with a value for each of its arguments, in their order."""

    def __init__(self, work, *names):
        self.work, self.names, self.default = work, names, self
        self._schema = self
        self.arguments = [Argument(name) for name in names]

    def __call__(self, *values):
        assert len(values) == len(self.names)
        return self.work(dict(zip(self.names, values)))


class Argument:
    def __init__(self, name):
        self.name = name


def schedule(of):
    assert of["seqused_k"] == [of["max_seqlen_k"]] * of["batch_size"] and of["headdim"] == of["headdim_v"] == 8
    told_window(of["window_size_left"], of["window_size_right"])
    return "a schedule"


def forward(of):
    """One token behind the other. A plan saves half of the time."""
    q, k = of["q"], of["k"]
    assert len(q.shape) == len(k.shape) == 3 and of["k_new"] is None and of["is_causal"] in (False, True)
    assert of["num_splits"] == 0 and of["softmax_scale"] > 0
    told_window(of["window_size_left"], of["window_size_right"])
    assert of["cu_seqlens_q"][-1] == q.shape[0] and of["cu_seqlens_k"][-1] == k.shape[0]
    factors = [of[name] for name in ("q_descale", "k_descale", "v_descale") if of[name] is not None]
    assert len(factors) == (3 if q.width == 1 else 0)
    assert all(factor.shape == (len(of["seqused_k"]), k.shape[1]) for factor in factors)
    if WRONG == "no_fa3_type":
        raise RuntimeError("FlashAttention only support fp16, bf16, and fp8_e4m3 data type")
    result = q.contiguous()
    if q.width == 1:
        result = Tensor(bytearray(byte for each in result.data for byte in (each, each)), q.shape)
    return [launched(result, 0.25 if of["scheduler_metadata"] is None else 0.125), None]


class Fa3:
    get_scheduler_metadata = Operation(schedule, "batch_size", "max_seqlen_k", "num_heads_k", "headdim", "headdim_v", "qkv_dtype",
                                       "seqused_k", "is_causal", "num_splits", "window_size_left", "window_size_right")
    fwd = Operation(forward, "q", "k", "v", "k_new", "cu_seqlens_q", "cu_seqlens_k", "seqused_k", "q_descale", "k_descale",
                    "v_descale", "softmax_scale", "is_causal", "window_size_left", "window_size_right", "scheduler_metadata", "num_splits")


def linear(rows, weights):
    """As long as attention in a graph."""
    assert rows.shape[1] == weights.shape[1]
    output = zeros((rows.shape[0], weights.shape[0]), float16, "cuda")
    if capturing is not None:
        capturing.work.append(output)
    return output


def compile(function, dynamic, fullgraph):
    """What was compiled before must have been forgotten."""
    global compiled
    assert not compiled and not dynamic and fullgraph
    compiled = True
    return function


class compiler:
    def reset():
        global compiled
        compiled = False


def _fused_sdp_choice(q, k, v, mask, dropout, causal, enable_gqa=False):
    return 0 if WRONG == "falls_back" else max(enabled)


class version:
    cuda = "99.0"


class cuda:
    is_available = staticmethod(lambda: True)
    get_device_name = staticmethod(lambda ordinal: "stand-in")
    get_device_capability = staticmethod(lambda ordinal: (9, 0))
    get_device_properties = staticmethod(lambda ordinal: None)
    synchronize = empty_cache = staticmethod(lambda: None)
    current_stream = staticmethod(lambda: None)
    _sleep = staticmethod(lambda cycles: tick(0.5))

    class Event:
        def __init__(self, enable_timing):
            self.at = 0.0

        def record(self):
            self.at = clock

        def synchronize(self):
            pass

        def elapsed_time(self, other):
            return other.at - self.at

    class Stream:
        def wait_stream(self, other):
            pass

    class stream:
        def __init__(self, stream):
            pass

        def __enter__(self):
            pass

        def __exit__(self, *error):
            pass

    class CUDAGraph:
        def __init__(self):
            self.work = []

        def replay(self):
            tick(0.0625 * len(self.work))
            if WRONG == "drifts":
                self.work[-1].data[1] ^= 0x10
            if WRONG == "varies":
                self.work[-1].data[0] ^= 1

    class graph:
        def __init__(self, graph):
            self.graph = graph

        def __enter__(self):
            global capturing
            capturing = self.graph

        def __exit__(self, *error):
            global capturing
            capturing = None


class backends:
    class cudnn:
        version = staticmethod(lambda: 91900)


class nn:
    class functional:
        scaled_dot_product_attention = staticmethod(attend)
        linear = staticmethod(linear)
