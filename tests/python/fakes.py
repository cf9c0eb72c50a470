"""fakes.py: Fakes an exported file: kernels are CPU functions, without driver and machine code."""
import contextlib
import itertools
import json
import re
import types
import warnings
from unittest import mock

import torch

from fatune import backends, graphs, installing, masks, proving

DEVICE = "NVIDIA H200"  # of the recording


class Route:
    """Stands for _Route: attention in double precision, with the kernel's own scale and mask, where it would write."""

    launched = 0
    wrong_by = 0.0  # added to what is right
    biases = []  # of the launches
    with_lse = False

    def __init__(self, kernel, index, seen):
        self.kernel = kernel

    def __call__(self, query, key, value, *pointers):
        Route.launched += 1
        Route.biases.append(pointers[3] if len(pointers) > 3 else None)
        problem, named = self.kernel.facts["problem"], dict(zip(self.kernel.named, pointers[4:]))
        name, cap, change = problem["mask"], problem.get("softcap"), problem.get("score")
        heads = query.shape[1] // key.shape[1]
        key, value = (each.repeat_interleave(heads, dim=1) for each in (key, value))
        scores = query.double() @ key.double().transpose(-1, -2) * self.kernel.facts["scale"]
        scores = torch.tanh(scores / cap) * cap if cap else scores
        if Route.biases[-1] is not None:
            bias = Route.biases[-1]
            scores = scores.masked_fill(~bias, -torch.inf) if bias.dtype == torch.bool else scores + bias
        scores = value_of(change, {**places_of(scores.shape), **named, "score": scores}) if change else scores
        scores = scores.masked_fill(~seen_by(name, *scores.shape, **named), -torch.inf)
        lse = scores.logsumexp(-1).float()
        out = (scores.softmax(-1).nan_to_num(0.0) @ value.double() + self.wrong_by).to(query.dtype)
        out = torch.empty_like(query).copy_(out) if value.shape == key.shape else out.contiguous()
        return (out, lse) if self.with_lse else out


class LseRoute(Route):
    with_lse = True


class EveryRoute(Route):
    """The same of attention(), for tensors of every kind, row by row."""

    def __call__(self, query, key, value, bias, lengths, alibi, sink, *named):
        Route.launched += 1
        problem, named = self.kernel.facts["problem"], dict(zip(self.kernel.named, named))
        batch, heads, rows, _ = query.shape
        keys, group = key.shape[2], heads // key.shape[1]
        out = torch.empty_like(query) if value.shape == key.shape else query.new_empty((*query.shape[:3], value.shape[3]))
        lse = torch.empty(batch, heads, rows)
        mask, _, kind = ("none+" + problem["mask"]).rpartition("+")
        kind = kind.partition(":")[0]
        if kind not in ("padding", "padding-left", "document"):
            mask, kind = problem["mask"], ""
        mask = mask.removeprefix("none+")
        for b, h, i in itertools.product(range(batch), range(heads), range(rows)):
            score = key[b, h // group].double() @ query[b, h, i].double() * self.kernel.facts["scale"]
            j = torch.arange(keys)
            if problem.get("softcap"):
                score = torch.tanh(score / problem["softcap"]) * problem["softcap"]
            if bias is not None:
                row = bias.expand(batch, heads, rows, keys)[b, h, i]
                score = score.masked_fill(~row, -torch.inf) if row.dtype == torch.bool else score + row
            if alibi is not None:
                score = score - alibi[h].double() * (i + keys - rows - j).abs()
            if problem.get("score"):
                score = eval(problem["score"], {"score": score, "b": b, "h": h, "q": i, "k": j, **named})
            seen = seen_by(mask, batch, heads, rows, keys, **named).expand(batch, heads, rows, keys)[b, h, i]
            if kind == "padding":
                seen = seen & (j < lengths[b])
            elif kind == "padding-left":
                seen = seen & (j >= keys - lengths[b])
            elif kind:
                begin = max(begin for begin in lengths.tolist() if begin <= i)
                seen = seen & (j >= begin) & (j < min(end for end in lengths.tolist() if end > i))
            weights = score.masked_fill(~seen, -torch.inf).exp()
            whole = weights.sum() + (0 if sink is None else sink[h].double().exp())
            out[b, h, i] = 0 if whole == 0 else weights @ value[b, h // group].double() / whole
            lse[b, h, i] = whole.log()
        return out + self.wrong_by, lse if problem.get("lse") else None


def places_of(shape):
    """b, h, q and k of scores, as expressions name them."""
    return {name: torch.arange(size).view([-1 if i == j else 1 for j in range(4)])
            for i, (name, size) in enumerate(zip("bhqk", shape))}


def seen_by(mask, *sizes, **named):
    """Which keys (columns) each query (row) sees under a problem's mask, as its definition has it. `named` are the
    tensors that it reads."""
    if " " in mask:
        places = places_of(sizes)
        return value_of(mask, {**places, "causal": places["k"] <= places["q"] + sizes[3] - sizes[2], **named})
    rows, columns = sizes[-2:]
    kind, _, told = mask.partition(":")
    numbers = [int(number) for number in told.split(",")] if told else []
    query, key = torch.arange(rows)[:, None], torch.arange(columns)[None, :]
    place = query + columns - rows
    if kind == "window":
        return (key >= place - numbers[0]) & (key <= place + numbers[1])
    if kind == "causal-window":
        return (key > place - numbers[0]) & (key <= place)
    if kind == "prefix":
        return (key <= place) | (key < numbers[0])
    return {"none": key >= 0 * query, "causal": key <= place, "causal-upper-left": key <= query}[kind]


def value_of(text, names):
    """The value of an expression of C, whose conditions are joined by && alone, for tensors of places."""
    return eval(f"({text})".replace("&&", ") & (").replace("][", ", "), names)


_CHANGES = ("bias", "softcap", "score")


def _changed(kernel, tokens, mask):
    """The kernel as it would be for another length and mask, or "bias B,H,Q,K", "softcap X" or "score EXPR"; "lse "
    before these, " beside MASK" behind a bias. A dictionary has fields of its problem."""
    tokens = tokens or kernel.facts["problem"]["seq_q"]
    problem = {name: value for name, value in kernel.facts["problem"].items() if name not in _CHANGES}
    problem.update(seq_q=tokens, seq_kv=tokens)
    problem.update(mask if isinstance(mask, dict) else _fields(mask))
    heads, columns = problem["heads"], {name: problem["head_dim"] for name in kernel.facts["strides"]}
    columns.update({name: problem.get("value_dim", columns[name]) for name in ("v", "out")})
    strides = {name: (heads * tokens * width, tokens * width, width, 1) for name, width in columns.items()}
    return type(kernel)({**kernel.facts, "id": f"{kernel.facts['id']}-{tokens}-{str(mask).replace(' ', '')}",
                         "problem": problem, "strides": strides}, kernel.cubin)


def _fields(mask):
    """The fields of a problem that the text of a change says."""
    word = mask.removeprefix("lse ").partition(" ")
    fields = {"mask": "none" if word[0] in _CHANGES else "".join(word)}
    if word[0] in _CHANGES:
        fields[word[0]] = float(word[2]) if word[0] == "softcap" else word[2].partition(" beside ")[0]
        fields["mask"] = word[2].partition(" beside ")[2] or "none"
    return {**fields, "lse": True} if mask.startswith("lse ") else fields


def drawn(page):
    """Returns the document that a page draws."""
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text, "the page loads nothing"
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL).group(1))


@contextlib.contextmanager
def on_the_cpu(tokens=None, kinds=("none",)):
    """Files that are imported meanwhile by fatune.install(), or by the function that this gives, take the CPU for the
    GPU of the recording. With `tokens` their kernels are for this length, each stands for kernels of these masks."""
    imported = installing._imported

    def import_for_the_cpu(file, by=imported):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no gate has checked them
            module = by(file)
        if tokens or kinds != ("none",):
            module._own = [_changed(kernel, tokens, mask) for kernel in module._own for mask in kinds]
        module._has_kernels = lambda device: device.type == "cpu"
        module._device = lambda index: ((9, 0), DEVICE)
        module._ROUTES.update({None: Route, module._FLEX: Route, module._WITH_LSE: LseRoute, module._EVERY: EveryRoute})
        module._service.forget()
        return module

    Route.launched, Route.wrong_by, Route.biases = 0, 0.0, []
    with mock.patch.object(installing, "_imported", import_for_the_cpu), \
            mock.patch.object(installing, "_check_here"):
        yield import_for_the_cpu


class Graphs:
    """Stand for CUDA graphs: what is captured runs, once; masks made meanwhile have their values from a replay on."""

    def __init__(self):
        self.capturing, self.captured, self.to_fill = False, 0, []

    def mask(self, values):
        """The mask of a step, as transformers has it: a tensor while a graph is captured, else none."""
        if not self.capturing:
            return None
        unwritten = torch.zeros_like(values)
        self.to_fill.append((unwritten, values))
        return unwritten

    def replay(self):
        for unwritten, values in self.to_fill:
            unwritten.copy_(values)

    @contextlib.contextmanager
    def capture(self, graph):
        self.capturing, failed = True, False
        try:
            yield
        except RuntimeError:
            failed = True
            raise
        finally:
            self.capturing = False
            if failed:
                raise RuntimeError("CUDA error: operation failed due to a previous error during capture")
        self.captured += 1

    def kind_of(self, mask, seq_q, seq_kv):
        assert not self.capturing, "CUDA error: operation not permitted when stream is capturing"
        return _KIND_OF(mask, seq_q, seq_kv)


_KIND_OF = masks.kind_of


@contextlib.contextmanager
def graphs_on_the_cpu():
    """Steps on the CPU can be captured meanwhile."""
    stand_in, stream = Graphs(), mock.MagicMock()
    with mock.patch.multiple(torch.cuda, CUDAGraph=lambda: types.SimpleNamespace(replay=stand_in.replay),
                             graph=stand_in.capture, Stream=stream, current_stream=stream,
                             stream=lambda _: contextlib.nullcontext(),
                             is_current_stream_capturing=lambda: stand_in.capturing), \
            mock.patch.multiple(masks, kind_of=stand_in.kind_of, is_being_captured=lambda mask: stand_in.capturing), \
            mock.patch.multiple(graphs, check=mock.DEFAULT, _MOST_CALLS=2), \
            mock.patch.multiple(proving, _TURN_US=1, _LEAST_ROUNDS=3), mock.patch.object(backends, "_LIMIT_S", 0.0):
        yield stand_in
