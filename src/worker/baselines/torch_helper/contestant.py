"""contestant.py: Runs and times one implementation on a problem (docs/measuring.md)."""
import contextlib
import math
import statistics

import torch

from torch_helper.basics import (METHOD, Refused, import_package, in_time, installed,
                                 out_of_memory, shortened)
from torch_helper.measuring import captured, shortest, timed


class Contestant:
    """One implementation on a problem: its call, its graph, and the output that timed launches must
    leave."""

    library = ""  # name and version of one that is no part of PyTorch
    TAKES = ()  # names of the optional tensors that it takes; "tensors": all named ones

    def __init__(self, problem, name):
        self.problem, self.name = problem, name
        for tensor in problem.optional:
            if ("tensors" if tensor.startswith("tensor_") else tensor) not in self.TAKES:
                raise Refused(f"it is not given the {tensor}", "infeasible")
        self.notes = []  # remarks that a reader of the time needs
        self.graph, self.launches, self.each_us = None, 1, 0.0
        self.in_layer = None  # a graph
        self.expected, self.output = None, None  # outputs in the order of problem.outs
        self.ran = self.first_run()

    def call(self, tensors=None):
        """Attention of q, k and v, each (batch, heads, rows, head_dim) in any memory format.
        Without `tensors` it takes the problem's. Several outputs are a tuple."""
        raise NotImplementedError

    def call_in_layer(self, tensors=None):
        return self.call(tensors)

    def first_run(self):
        """Shows that it can do the problem; returns the name of the kernel or function that ran."""
        raise NotImplementedError

    def renew(self):
        """Makes what it has made of the inputs again, in the same memory, after they changed."""

    def forced(self):
        return contextlib.nullcontext()

    def outputs(self):
        outputs = self.call()
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def note_layout(self, *outputs):
        if any(size > 1 and stride != other for name, output in zip(self.problem.outs, outputs)
               for size, stride, other in zip(output.shape, output.stride(),
                                              self.problem.strides[name])):
            self.notes.append("its output lies otherwise than asked")

    def call_and_keep(self):
        self.output = None  # so that each launch of a graph has the same memory for it
        self.output = self.outputs()

    def run(self):
        with self.forced():
            outputs = self.outputs()
        for out, output in zip(self.problem.outs.values(), outputs):
            out.copy_(output)
        torch.cuda.synchronize()
        self.problem.check_inputs()

    def prepare(self):
        self.graph, self.output = None, None
        with self.forced():
            self.expected = [output.clone() for output in self.outputs()]
            self.each_us = shortest(self.call, METHOD.estimate_launches)
            wanted = math.ceil(METHOD.graph_us / max(self.each_us, 1e-3))
            self.launches = max(1, min(METHOD.max_graph_launches, wanted))
            if self.each_us >= METHOD.long_us:
                return
            self.graph = captured(self.call, METHOD.estimate_launches, self.call_and_keep,
                                  self.launches)
            self.in_layer = self.problem.in_layer(self.call_in_layer)
        self.graph.replay()
        torch.cuda.synchronize()
        self.check_outputs()

    def check_outputs(self):
        """The outputs of an untimed launch passed fatune's gates, and timed launches must leave the
        same."""
        if not self.problem.same(self.output, self.expected):
            raise Refused("accuracy: the timed launches leave another output than a single one")

    def turn(self, cold_launches):
        if self.expected is None:
            with self.forced():
                self.expected = [output.clone() for output in self.outputs()]
        if self.graph is None:
            with self.forced():
                both_us = timed(self.call_and_keep)[0]
            self.check_outputs()
            return {"hot_us": both_us, "cold_us": both_us}
        # Two replays, of which the second counts: the caches then hold this contestant's data.
        hot_us = timed(self.graph.replay, self.graph.replay)[1] / self.launches
        self.check_outputs()
        cold_us = []
        with self.forced():
            for _ in range(1 if self.each_us >= METHOD.slow_us else cold_launches):
                self.problem.flush.zero_()
                cold_us += timed(self.call)
        return {"hot_us": hot_us, "cold_us": statistics.median(cold_us)}

    def layer_turn(self):
        """Time of a layer with attention less the mean of its two neighbours without. It is steady
        if both neighbours took equally long."""
        if self.in_layer is None:
            return {}
        layer = self.problem.layer
        without = layer.without.replay
        before, within, behind = timed(without, without, self.in_layer.replay, without)[1:]
        attention = within - (before + behind) / 2
        return {"in_layer_us": attention / (len(layer.layers) * layer.passes),
                "steady": abs(behind - before) <= METHOD.steady * max(before, attention)}


class JustInTime(Contestant):
    """A package that compiles its kernel for this architecture at its first call."""

    TITLE = PACKAGE = MODULE = FUNCTION = ""

    @classmethod
    def load(cls):
        return getattr(import_package(cls), cls.FUNCTION)

    def __init__(self, problem, name):
        self.attend = self.load()
        self.library = f"{self.TITLE} {installed(self.PACKAGE)}"
        super().__init__(problem, name)

    def first_run(self):
        try:
            output = in_time(self.call, self.TITLE)
            torch.cuda.synchronize()
        except Exception as error:
            if isinstance(error, Refused) or out_of_memory(error):
                raise
            raise Refused(f"{self.TITLE} cannot do this: {shortened(error)}")
        self.note_layout(output)
        return "sm_{}{}".format(*torch.cuda.get_device_capability(0))
