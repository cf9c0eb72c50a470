"""problem.py: Holds a problem's tensors, and the sizes of a declared operation."""
import math
import mmap

import torch

from torch_helper.basics import Refused
from torch_helper.measuring import difference, is_whole, same_bits, type_of, width_of


class Problem:
    """The tensors of a problem, on the device and in the memory shared with fatune.

    A name is that of an input, of an output, or of both: an output that a kernel reads and writes.
    """

    optional = ()  # names of inputs that few implementations take
    layer = None

    def __init__(self, order):
        memory = order["memory"]
        with open(memory["path"], "r+b") as file:
            mapped = mmap.mmap(file.fileno(), memory["bytes"])
        self.shapes, self.strides, self.words = {}, {}, {}
        inputs, outputs = {}, {}  # bytes in front of each
        for tensor in order["tensors"]:
            name, shape = tensor["name"], tuple(tensor["shape"])
            self.shapes[name], self.words[name] = shape, tensor["type"]
            self.strides[name] = tuple(tensor["strides"] or (math.prod(shape[i + 1:])
                                                             for i in range(len(shape))))
            (outputs if tensor["output"] else inputs)[name] = tensor["place"]
        whole = torch.frombuffer(mapped, dtype=torch.int16, count=memory["bytes"] // 2, offset=0)
        self.outs = {name: self.view(name, place, whole) for name, place in outputs.items()}
        self.host_inputs = whole[:memory["inputs"] // 2]
        self.inputs = torch.zeros(memory["inputs"] // 2, dtype=torch.int16, device="cuda")
        self.places = inputs
        self.device = {name: self.view(name, place, self.inputs) for name, place in inputs.items()}
        self.flush = torch.empty(max(order["flush_bytes"], 1), dtype=torch.uint8, device="cuda")
        self.varies_within = order["varies_within"]
        self.contestants = {}

    def view(self, name, place, memory):
        word = self.words[name]
        return torch.as_strided(memory.view(type_of(word)), self.shapes[name], self.strides[name],
                                place // width_of(word))

    def arguments(self, tensors):
        """Arguments of a function of the user's, by position and by keyword."""
        raise NotImplementedError

    def judged(self, outputs, title):
        """The outputs that the gates judge, of those that a function of the user's returned."""
        return outputs

    def upload(self):
        self.inputs.copy_(self.host_inputs)
        self.untouched = self.inputs.clone()
        for contestant in self.contestants.values():
            contestant.expected = None
            contestant.renew()

    def in_layer(self, call):
        """A graph of the layers; none for a problem without layers."""
        return None

    def check_inputs(self):
        if same_bits(self.inputs, self.untouched):
            return
        changed = [name for name, place in self.places.items()
                   if not same_bits(self.device[name], self.view(name, place, self.untouched))]
        changed = ", ".join(changed) or "what lies between rows"
        raise Refused(f"inputs: the kernel changed {changed}")

    def same(self, outputs, expected):
        """Whether two runs left the same. Floats of a library that adds up in no fixed order may
        differ a little."""
        return all(same_bits(output, other) or not is_whole(self.words[name])
                   and difference(output, other) <= self.varies_within
                   for name, output, other in zip(self.outs, outputs, expected))


class Declared(Problem):
    """A declared operation: its inputs in their order, and its sizes by name."""

    def __init__(self, order):
        self.sizes = order["problem"]["sizes"]
        super().__init__(order)

    def arguments(self, tensors):
        return [tensors[name] for name in self.places], self.sizes

    def judged(self, outputs, title):
        inputs = self.inputs.untyped_storage().data_ptr()
        for output in outputs:
            if torch.is_tensor(output) and output.untyped_storage().data_ptr() == inputs:
                raise Refused(f"{title} returned a view of an input, which computes nothing")
        return outputs
