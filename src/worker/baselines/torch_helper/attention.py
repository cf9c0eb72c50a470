"""attention.py: Holds a problem of attention, and the layers that attention is timed in."""
import math

import torch

from torch_helper.basics import METHOD, Refused
from torch_helper.expression import expression, named_tensor
from torch_helper.mask import Mask
from torch_helper.measuring import captured, timed, type_of
from torch_helper.problem import Problem


class Attention(Problem):
    """q, k, v, their factors, the optional tensors, and out."""

    def __init__(self, order):
        for tensor in order["tensors"]:  # a fifth size is 1
            tensor.update(shape=tensor["shape"][:4], strides=tensor["strides"][:4])
        sizes = order["problem"]
        named = dict(map(named_tensor, sizes.get("tensors", [])))
        rule = expression(order.get("mask_expression"), sizes, named)
        self.mask = Mask(order.get("mask_bounds", sizes["mask"]), sizes["seq_q"], sizes["seq_kv"],
                         sizes["batch"], sizes["heads"], rule)
        self.mask.text = sizes["mask"]
        self.change_score = expression(order.get("score_expression"), sizes, named)
        self.causal = self.mask.kind == "causal"
        self.gqa = sizes["kv_heads"] != sizes["heads"]
        self.softcap = sizes.get("softcap")  # none: scores stay as they are
        self.scale = sizes.get("scale")  # none: 1/sqrt(head_dim)
        self.wants_lse = sizes.get("lse", False)
        super().__init__(order)
        self.dtype, self.out_dtype = type_of(self.words["q"]), type_of(self.words["out"])
        self.factors = [name for name in self.places if name.endswith("_descale")]
        self.optional = [name for name in self.places if name not in ("q", "k", "v", *self.factors)]
        for name, elements in named.items():  # masks are made before there are inputs
            named[name] = self.device["tensor_" + name] if elements is None else elements
        self.layer_plan = order.get("layer")

    def refuse_masks_beside(self, title, *kinds):
        """Refuses masks of other kinds than these."""
        if self.mask.kind not in kinds:
            raise Refused(f"{title} cannot do this: of masks it takes {', '.join(kinds)}, not "
                          f"{self.mask.text}", "infeasible")

    def arguments(self, tensors):
        scale = self.shapes["q"][3] ** -0.5 if self.scale is None else self.scale
        options = {"scale": scale, "causal": self.causal}
        if self.mask.kind not in ("none", "causal"):
            options["mask"] = self.mask.text
        if self.softcap is not None:
            options["softcap"] = self.softcap
        if self.wants_lse:
            options["lse"] = True
        if self.out_dtype != self.dtype:
            options["out_dtype"] = self.out_dtype
        options.update((name, tensors[name]) for name in self.factors)
        return [tensors[name] for name in "qkv"], options

    def judged(self, outputs, title):
        return outputs[:1]  # the log-sum-exp is not asked for

    def in_layer(self, call):
        if not self.layer_plan:
            return None
        self.layer = self.layer or Layer(self, self.layer_plan)
        return self.layer.graph(call)


class Layer:
    """Attention between its two products, over layers with weights of their own, as Layer of
    src/worker/timing/layer.hpp, by PyTorch's products. Rows with gaps have no layer here."""

    def __init__(self, problem, plan):
        self.problem, self.tokens, self.hidden = problem, plan["tokens"], plan["hidden"]
        dtype, scale = problem.dtype, self.hidden ** -0.5

        def weights(columns, inner=self.hidden):
            return torch.randn(columns, inner, device="cuda").mul_(scale).to(dtype)

        self.hidden_states = torch.randn(self.tokens, self.hidden, device="cuda").to(dtype)
        inner = problem.shapes["out"][1] * problem.shapes["out"][3]
        self.last_output = torch.randn(self.tokens, inner, device="cuda").to(dtype)
        columns = {name: problem.shapes[name][1] * problem.shapes[name][3] for name in "qkv"}
        self.packed, self.cached = plan["packed"], plan["cached_keys"]
        self.written = ["q"] if self.cached else ["q", "k", "v"]
        sizes = [columns[name] for name in self.written]
        self.firsts = dict.fromkeys("qkv", 0)
        if self.packed:
            sizes = [sum(columns.values())]
            self.firsts = {"q": 0, "k": columns["q"], "v": columns["q"] + columns["k"]}
        cached = [name for name in "qkv" if name not in self.written]
        self.layers = [{"before": [weights(size) for size in sizes], "after": weights(self.hidden, inner),
                        "cache": {name: self.cache(name) for name in cached}}
                       for _ in range(plan["layers"])]
        strides = problem.strides["out"]
        self.by_token = strides[1] <= strides[2]
        self.passes = 1
        self.without = self.graph(None)
        pass_us = timed(self.without.replay, self.without.replay)[1]
        self.passes = min(METHOD.most_passes, math.ceil(METHOD.graph_us / max(pass_us, 1e-3)))
        if self.passes > 1:
            self.without = self.graph(None)

    def cache(self, name):
        shape, strides = self.problem.shapes[name], self.problem.strides[name]
        span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
        return torch.randn(span, device="cuda").to(self.problem.dtype).as_strided(shape, strides)

    def pass_through(self, call):
        linear = torch.nn.functional.linear
        for layer in self.layers:
            results = [linear(self.hidden_states, weights) for weights in layer["before"]]
            output = self.last_output
            if call is not None:
                tensors = dict(layer["cache"])
                for i, name in enumerate(self.written):
                    memory = results[0 if self.packed else i]
                    tensors[name] = memory.as_strided(self.problem.shapes[name],
                                                      self.problem.strides[name],
                                                      self.firsts[name])
                output = self.rows_of(call(tensors))
            linear(output, layer["after"])

    def rows_of(self, output):
        """Rows of the next product. An output in another layout than asked is not copied: its rows
        then come in another order."""
        span = 1 + sum((size - 1) * stride for size, stride in zip(output.shape, output.stride()))
        if not self.by_token and span == math.prod(output.shape):
            return output.as_strided(self.last_output.shape, self.last_output.stride())
        output = output.transpose(1, 2) if self.by_token else output
        return output.reshape(*self.last_output.shape)

    def graph(self, call):
        """One or more passes over all layers, so that a replay is long against the jitter of
        events."""
        def work():
            self.pass_through(call)

        return captured(work, 1, work, self.passes)
