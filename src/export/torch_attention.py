# torch_attention.py: Defines attention(), which says what PyTorch's function has no arguments for.

class _EveryRoute(_Route):
    """A route of attention(): takes the optional tensors, and returns the log-sum-exp or None beside the output."""

    tensors = ("q", "k", "v", "out", "bias", "lengths", "alibi", "sink", "lse")

    def __call__(self, query, key, value, bias, lengths, alibi, sink, *named):
        out, lse = self.new_output(query, value), None
        if self.kernel.facts["problem"].get("lse"):
            lse = torch.empty(query.shape[:3], dtype=torch.float32, device=query.device)
        given = (query, key, value, out, bias, lengths, alibi, sink, lse, *named)
        self.queue(*(0 if each is None else each.data_ptr() for each in given))
        return out, lse


_EVERY = "every tensor"
_ROUTES[_EVERY] = _EveryRoute


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, mask: str | None = None,
              lengths: torch.Tensor | None = None, bias: torch.Tensor | None = None, alibi: torch.Tensor | None = None,
              sink: torch.Tensor | None = None, softcap: float | None = None, score: str | None = None,
              tensors: dict[str, torch.Tensor] | None = None, scale: float | None = None, enable_gqa: bool = False,
              return_lse: bool = False):
    """Returns attention, with return_lse also the log-sum-exp of each row, fp32 (batch, heads, seq_q).

    mask and score are the texts of `fatune sweep`: "causal", "window:64,64", "k < 4 || q - k < 64". "padding",
    "padding-left" and "document" have no numbers here, and join others: "causal+padding". Their lengths are int32:
    the keys of each batch entry, or where each document begins, and the end. bias is added to scores, or hides keys
    where it is False. alibi has a slope for each head, fp32. sink has one logit for each head, in the type of query.
    tensors has those that mask and score read by name, "doc[q] == doc[k]": contiguous int32 or fp32, of the shapes that a
    kernel was tuned for.
    Without a kernel, operations of PyTorch compute the call in fp32. They know no expressions: such a call raises
    ValueError with the reason, as do tensors of other types or shapes.
    """
    names = sorted(tensors or ())
    named = [tensors[name] for name in names]
    out, lse = _attention_function(query, key, value, named, mask, softcap, score, scale, enable_gqa, bias, lengths, alibi, sink,
                                   return_lse, " ".join(names))
    return (out, lse) if return_lse else out


def _attention_function(query, key, value, named, *rest):
    """Calls the operator where it is traced without gradients."""
    if _is_compiling() and not _needs_gradients(query, key, value, *named, *(
            each for each in rest if isinstance(each, torch.Tensor))):
        return torch.ops.fatune.attention(query, key, value, named, *rest, _INSTALLED)
    return _attention(query, key, value, named, *rest)


def _attention(query, key, value, named, mask, softcap, score, scale, gqa, bias, lengths, alibi, sink, lse, names):
    """Returns the output and the log-sum-exp, the latter None or what nobody asked for. `named` are the tensors of
    expressions, `names` theirs with spaces between."""
    _refuse_others(query, key, value)
    named = dict(zip(names.split(), named))
    for name, tensor in named.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"attention: tensors[{name!r}] must be a torch.Tensor, not {type(tensor).__name__}")
    if torch.is_autocast_enabled(query.device.type):
        query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    more = {"bias": bias, "lengths": lengths, "alibi": alibi, "sink": sink}
    route, why = _every_route(query, key, value, mask, softcap, score, scale, gqa, more, named, lse)
    if route is not None:
        return route(query, key, value, *more.values(), *named.values())
    name = _checked_name(query, key, mask, more)
    if score or not _has_name(_parted(name)[0]):
        raise ValueError(f"attention: {why}, and PyTorch's operations know no expressions")
    return _by_operations(query, key, value, scale, gqa, cap=softcap, seen=_seen_keys(name, lengths, query, key), bias=bias,
                          alibi=alibi, sink=sink)


def _every_route(query, key, value, mask, softcap, score, scale, gqa, more, named, lse):
    """Returns the route of a call, or None and the reason; counts the call."""
    given = (query, key, value, *more.values(), *named.values())
    if _needs_gradients(*given):
        _count(_WANTS_GRADIENTS, query, key, value, mask, scale)
        return None, _WANTS_GRADIENTS
    if not _is_real(query, key, value):
        return None, "it is traced or transformed"
    misaligned = any(tensor is not None and tensor.data_ptr() % _ALIGNMENT for tensor in given[:4])
    asked = (_EVERY, *(None if each is None else (each.shape, each.stride(), each.dtype, each.device) for each in given),
             *named, mask, softcap, score, scale, gqa, lse, misaligned)
    table = _service.table
    found = table.routes.get(asked)
    if found is None:
        forms = [_form_of(*each) for each in named.items()]
        word = _word_of(_checked_name(query, key, mask, more),
                        [*(each for each in ("alibi", "sink") if more[each] is not None), *forms], softcap, score) or ""
        if more["bias"] is not None:
            word = _bias_name(more["bias"], query, key) + (_BESIDE if word and not word.startswith(" ") else "") + word
        kernels = [kernel for kernel in table.kernels if not lse or kernel.facts["problem"].get("lse")]
        tensors = {"q": query, "k": key, "v": value}
        _refuse_named(_alike(kernels, tensors, word, gqa), named, f"{mask} {score}", query.device)
        route, why = _tensor_route(kernels, tensors, word, scale, gqa, misaligned, _EVERY)
        found = _remember(table.routes, asked, (route, why, _counter(query, key, word, scale, why)))
    next(found[2])
    return found[:2]


def _checked_name(query, key, mask, more):
    """Returns the name of a call's mask in kernels' words; refuses tensors that do not fit it."""
    name = _with_lengths(mask, more["lengths"])
    _refuse_shapes(query, key, name, more)
    return name


def _with_lengths(mask, lengths):
    """Returns the name of a mask with its lengths, in kernels' words: "causal+document of 2"."""
    name = mask or "none"
    base, kind = _parted(name + (f" of {len(lengths) - 1}" if name.endswith("document") and lengths is not None else ""))
    if bool(kind) != (lengths is not None):
        raise ValueError(f"attention: mask {name!r} and lengths " + ("say the same; give both" if kind else "do not go together"))
    return f"{base}+{kind}" if kind and base != "none" else kind or base


def _refuse_shapes(query, key, name, more):
    """Refuses optional tensors of other types or shapes than kernels and operations take."""
    kind, heads = _parted(name)[1], query.shape[1]
    count = len(more["lengths"]) if kind.startswith("document") else query.shape[0]
    if kind.startswith("document") and (query.shape[0] != 1 or query.shape[2] != key.shape[2]):
        raise ValueError("attention: documents fill one sequence: batch 1, and as many queries as keys")
    for each, shape, dtype in (("lengths", (count,), torch.int32), ("alibi", (heads,), torch.float32), ("sink", (heads,), query.dtype)):
        tensor = more[each]
        if tensor is not None and (tensor.dtype != dtype or tuple(tensor.shape) != shape or tensor.device != query.device
                                   or not tensor.is_contiguous()):
            raise ValueError(f"attention: {each} must be contiguous {dtype} {shape} on {query.device}")


def _alike(kernels, tensors, word, gqa):
    """Returns the kernels for these sizes, types and texts, whatever tensors they read."""
    def key_of(key):
        return key and (*key[:-1], *key[-1][:3], *key[-1][4:])

    query, key, value = tensors.values()
    found = key_of(_problem_key(query.shape, key.shape, value.shape, query.dtype, word, gqa))
    return [kernel for kernel in kernels if key_of(kernel.key) == found]


def _refuse_named(kernels, named, texts, device):
    """Refuses tensors of expressions that are missing or in excess, or that none of the kernels for their texts takes."""
    read = dict.fromkeys(re.findall(r"([A-Za-z_]\w*)\s*\[", texts))
    for name in [name for name in read if name not in named]:
        raise ValueError(f"attention: mask or score reads {name}[...]; give tensors={{{name!r}: TENSOR}}")
    for name, tensor in named.items():
        if name not in read:
            raise ValueError(f"attention: tensors has {name!r}, which neither mask nor score reads; leave it out")
        forms = {form: _type_and_shape(form) for kernel in kernels for form in kernel.forms if form.partition("=")[0] == name}
        fits = _form_of(name, tensor) in forms if forms else tensor.dtype in _ELEMENTS.values()
        if not fits or tensor.device != device or not tensor.is_contiguous():
            wanted = [f"{dtype} {shape}" for dtype, shape in forms.values()] or map(str, _ELEMENTS.values())
            raise ValueError(f"attention: tensors[{name!r}] must be contiguous {' or '.join(wanted)} on {device}")


def _seen_keys(name, lengths, query, key):
    """Returns True where a query sees a key: (1 or batch, 1, rows, keys)."""
    base, kind = _parted(name)
    rows, keys = query.shape[2], key.shape[2]
    seen = _mask_tensor(base, rows, keys, query.device)[None, None]
    place = torch.arange(keys, device=query.device)
    if kind == "padding":
        return seen & (place < lengths[:, None, None, None])
    if kind == "padding-left":
        return seen & (place >= keys - lengths[:, None, None, None])
    if kind:
        document = torch.searchsorted(lengths[1:].contiguous(), place.int(), right=True)
        return seen & (document[:, None] == document)
    return seen


def _by_operations(query, key, value, scale, gqa, cap=None, seen=None, bias=None, alibi=None, sink=None, dropout_p=0.0,
                   change=None):
    """Returns attention and the log-sum-exp by operations in fp32, or in the double precision of tensors. A row that sees
    no key is zeros, as a kernel's. `change` returns what scores become last, and hides keys."""
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    with torch.autocast(query.device.type, enabled=False):
        if gqa:
            key, value = (tensor.repeat_interleave(query.shape[-3] // tensor.shape[-3], -3) for tensor in (key, value))
        scores = query.to(wide) @ key.to(wide).transpose(-2, -1) * (query.shape[-1]**-0.5 if scale is None else scale)
        if cap:
            scores = torch.tanh(scores / cap) * cap
        if bias is not None:
            scores = scores.masked_fill(~bias, -math.inf) if bias.dtype == torch.bool else scores + bias
        if alibi is not None:
            rows, keys = scores.shape[-2:]
            first = torch.arange(keys, device=scores.device)
            place = torch.arange(keys - rows, keys, device=scores.device)
            scores = scores - alibi[:, None, None] * (place[:, None] - first).abs()
        if change is not None:
            scores = change(scores)
        if seen is not None:
            scores = scores.masked_fill(~seen, -math.inf)
        if sink is not None:
            scores = torch.cat((scores, sink.to(wide)[:, None, None].expand(*scores.shape[:-1], 1)), -1)
        hidden = scores.isneginf().all(-1, keepdim=True)
        weights = scores.masked_fill(hidden, 0.0).softmax(-1).masked_fill(hidden, 0.0)[..., :key.shape[-2]]
        return (F.dropout(weights, dropout_p) @ value.to(wide)).to(query.dtype), scores.logsumexp(-1).float()


def _attention_operator(query, key, value, named, mask=None, softcap=None, score=None, scale=None, enable_gqa=False,
                        bias=None, lengths=None, alibi=None, sink=None, return_lse=False, names="", installed=False):
    """Runs fatune::attention, which always returns two tensors; the second is empty where nobody asked for it."""
    out, lse = _functions_of(installed)["_attention"](
        query, key, value, named, mask, softcap, score, scale, enable_gqa, bias, lengths, alibi, sink, return_lse, names)
    promised = _new_output(query, value)
    out = out if out.stride() == promised.stride() else promised.copy_(out)
    return out, lse if return_lse else out.new_empty(0, dtype=torch.float32)


def _define_attention(library, tags):
    library.define("attention(Tensor query, Tensor key, Tensor value, Tensor[] named, str? mask=None, float? softcap=None, "
                   "str? score=None, float? scale=None, bool enable_gqa=False, Tensor? bias=None, Tensor? lengths=None, "
                   "Tensor? alibi=None, Tensor? sink=None, bool return_lse=False, str names='', bool installed=False) "
                   "-> (Tensor, Tensor)", tags=tags)
    library.impl("attention", _attention_operator, "CompositeExplicitAutograd")

    @torch.library.register_fake("fatune::attention", lib=library)
    def fake(query, key, value, named, mask=None, softcap=None, score=None, scale=None, enable_gqa=False, bias=None,
             lengths=None, alibi=None, sink=None, return_lse=False, names="", installed=False):
        lse = query.new_empty(query.shape[:3] if return_lse else 0, dtype=torch.float32)
        return _new_output(query, value), lse
