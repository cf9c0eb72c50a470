# torch_mask.py: Says which keys a problem's mask lets a query see, as numbers, as a tensor and by reading a tensor.
# The word of a call is the name of its mask, or a bias, then its tensors, its softcap and its change of scores: "causal",
# "causal+padding with alibi sink", "doc[q] == doc[k] with doc=i32[64]", "bias 4,1,1,512:bool beside causal softcap 30.0". A mask without a name is an
# expression. Tensors, and masks beside a bias, are of attention() and flex_attention alone.

_BIAS, _BESIDE, _WITH, _CAP, _SCORE = "bias ", " beside ", " with ", " softcap ", " score "
_NAMES = ("", "none", _UPPER_LEFT, _LOWER_RIGHT, "causal-window", "window", "prefix")


def _with_cap(name, softcap, score=None):
    """Returns the word of a mask by its name, or of no mask or of a bias, whose name is added later."""
    word = f"{name or ''}{_CAP}{float(softcap)!r}" if softcap else name
    return f"{word or ''}{_SCORE}{score}" if score else word


def _word_of(name, tensors, softcap, score):
    """Returns the word of a mask by its name and of all changes of scores but a bias."""
    name = None if name == "none" else name
    return _with_cap(f"{name or ''}{_WITH}{' '.join(tensors)}" if tensors else name, softcap, score)


def _form_of(name, tensor):
    """Returns a tensor that expressions read as problems declare it: "doc=i32[4096]". One of a type that no kernel reads
    has the type "?"."""
    kind = next((kind for kind, dtype in _ELEMENTS.items() if dtype == tensor.dtype), "?")
    return f"{name}={kind}" + "".join(f"[{size}]" for size in tensor.shape)


def _type_and_shape(form):
    """Returns the element type and the shape of a declared tensor."""
    kind, *sizes = form.partition("=")[2].replace("]", "").split("[")
    return _ELEMENTS[kind], tuple(map(int, sizes))


def _named_alone(mask):
    """Returns the name of a word, and the softcap or None."""
    name, _, cap = (mask or "").partition(_SCORE)[0].partition(_CAP)
    return name.partition(_WITH)[0], float(cap) if cap else None


def _bias_of(mask, attn_mask):
    """Returns the tensor that a call adds to scores: attn_mask where the word has no name for it."""
    return attn_mask if mask is None or mask.startswith((_CAP, _SCORE)) else None


def _has_name(mask):
    """Returns whether a mask's name says which keys are seen: neither a bias nor an expression does."""
    name, _, numbers = mask.partition(":")
    return name in _NAMES and set(numbers) <= set("0123456789,-")


def _parted(name):
    """Returns the mask without its lengths, and their kind: "causal" and "padding", or "document of 2"."""
    base, _, kind = ("none+" + name).rpartition("+")
    if not kind.strip().startswith(("padding", "document")):
        return name, ""
    kind, _, numbers = kind.strip().partition(":")
    count = f" of {numbers.count(',') + 1}" if kind == "document" else ""
    return base.removeprefix("none+"), kind + count


def _meaning(mask, rows, keys):
    """Returns what is equal for equal masks, biases and changes of scores, and whether it knows batch entries and heads."""
    head, _, score = (mask or "").partition(_SCORE)
    head, _, tensors = head.partition(_CAP)[0].partition(_WITH)
    bias, name = head.partition(_BESIDE)[::2] if head.startswith(_BIAS) else ("", head)
    base, kind = _parted(name)
    is_named = _has_name(base)
    seen = _visible(base, rows, keys) if is_named else base.replace(" ", "")
    return (bias, seen, kind, tensors, _named_alone(mask)[1], score.replace(" ", "")), not is_named or bool(kind or tensors or score)


def _bias_name(bias, query, key):
    """Names a mask tensor as `fatune sweep --bias` does, by sizes, type and strides, which kernels have compiled in. A
    dimension of size 1 or stride 0 stands for all. A tensor that no kernel can read has the name of no kernel."""
    types = {query.dtype: "", torch.float32: ":f32", torch.bool: ":bool"}
    lacking = 4 - bias.dim()
    shape, whole = [1] * lacking + list(bias.shape), (*query.shape[:3], key.shape[2])
    if (lacking < 0 or any(size not in (1, full) for size, full in zip(shape, whole))  # which PyTorch refuses
            or bias.dtype not in types or bias.device != query.device):
        return _BIAS + "of another kind"
    strides = [0 if size == 1 else step for size, step in zip(shape, [0] * lacking + list(bias.stride()))]
    shape = [1 if step == 0 else size for size, step in zip(shape, strides)]
    if key.shape[2] == 1:
        strides[3] = 1
    dense = [0 if size == 1 and i < 3 else math.prod(shape[i + 1:]) for i, size in enumerate(shape)]
    laid = "" if strides == dense else "@" + ":".join(map(str, strides))
    return f"{_BIAS}{','.join(map(str, shape))}{types[bias.dtype]}{laid}"

def _visible(mask, rows, keys):
    """Returns (first, last, prefix) of a mask by its name: query i sees the keys i + first to i + last, and all below
    prefix. None is no bound, and None in place of all three a mask that hides nothing. Equal masks of `rows` queries
    have equal numbers, whatever their names. A negative number of a window is no bound."""
    kind, _, told = (_named_alone(mask)[0] or "none").partition(":")
    numbers = [int(number) for number in told.split(",")] if told else []
    corner, prefix = keys - rows, 0
    first, last = None, 0 if kind == _UPPER_LEFT else None if kind == "none" else corner
    if kind == "window":
        before, after = numbers
        first = corner - before if before >= 0 else None
        last = corner + after if after >= 0 else None
    elif kind == "causal-window":
        first = corner - numbers[0] + 1
    elif kind == "prefix":
        prefix = numbers[0]
    if first is not None and first <= 1 - rows:
        first = None
    if last is not None and (last >= keys - 1 or prefix >= keys):
        last = None
    if first is None and last is None:
        return None
    return first, last, prefix if last is not None and prefix > last + 1 else 0


def _mask_tensor(mask, rows, keys, device):
    """Returns the mask as PyTorch's attention takes it: True where a query sees a key."""
    first, last, prefix = _visible(mask, rows, keys) or (None, None, 0)
    made = torch.ones(rows, keys, dtype=torch.bool, device=device)
    made = made if last is None else made.tril(last)
    made = made if first is None else made.triu(first)
    made[:, :prefix] = True
    return made


def _window_name(window_size, attn_mask, is_causal):
    """Names the mask of FlashAttention's window_size."""
    if attn_mask is not None or is_causal:
        raise ValueError("sdpa: window_size says the whole mask, also causal ones: (L, 0); give no attn_mask or is_causal")
    before, after = window_size
    return f"window:{int(before)},{int(after)}"


class _Readings:
    """Reads mask tensors. A mask is read once, since layers share masks or views of one, and again when it was
    written to. Tensors of inference mode have no version, so they are read each time."""

    def __init__(self, read):
        self.read, self.known = read, {}

    def __call__(self, mask, rows, keys):
        found = self.before(mask, rows, keys)
        if found is None:
            found = self.read(mask, rows, keys)
            if not mask.is_inference():
                if len(self.known) >= _MAX_MASKS:
                    self.known.clear()
                whole = mask if mask._base is None else mask._base
                self.known[self.place(mask, whole, rows, keys)] = weakref.ref(whole), mask._version, found
        return found

    def before(self, mask, rows, keys):
        """Returns what the mask said when it was read, None if it was not read as it is now."""
        if mask.is_inference():
            return None
        whole = mask if mask._base is None else mask._base
        ref, version, found = self.known.get(self.place(mask, whole, rows, keys), (lambda: None, 0, None))
        return found if ref() is whole and version == mask._version else None

    @staticmethod
    def place(mask, whole, rows, keys):
        return id(whole), mask.shape, mask.stride(), mask.storage_offset(), rows, keys


_UNKNOWN_MASK = "no kernel takes such a mask"


def _mask_said(mask, query, key, value):
    """Returns the name of a kernel's mask that a bool tensor equals; or None and why none is known. A tensor is read only
    where a kernel has such a mask, which then serves because it leaves hidden blocks out. A kernel that takes a bias is
    right for every mask, so it serves the others, and masks that cannot be read."""
    if (type(mask) not in _PLAIN or mask.dtype != torch.bool or _is_compiling() or not _is_real(query, key, value)
            or query.dim() != 4 or key.dim() != 4 or not 2 <= mask.dim() <= 4):
        return None, _UNKNOWN_MASK
    batch, heads, rows, keys = (*query.shape[:3], key.shape[2])
    if mask.shape[-2:] != (rows, keys) or any(size not in (1, whole) for size, whole in zip(mask.shape[-3::-1], (heads, batch))):
        return None, _UNKNOWN_MASK
    if (rows, keys) not in _service.table.names:
        return None, _UNKNOWN_MASK
    if mask.is_cuda and torch.cuda.is_current_stream_capturing():
        return None, "its mask cannot be read while a graph is captured; window_size and is_causal need no tensor"
    return _service.table.masks(mask, rows, keys) or None, _UNKNOWN_MASK
