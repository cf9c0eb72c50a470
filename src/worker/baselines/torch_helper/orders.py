"""orders.py: Answers orders, which come as JSON lines, with outputs and times.

fatune sends them (torch_process.cpp). A line holds one order and gets one line as its answer. That
is {"ok": true, ...}, or {"ok": false, "kind": "environment", "infeasible" or "failed", "reason":
"...", "ends": whether the helper ends now}. Everything that libraries print goes to stderr. The
orders:

  hello    {method}: takes the numbers of the timing method; returns versions and the device.
           `packages` has the version of each package beside PyTorch, empty for a missing one
  load     {backend}: imports a package, as open does
  problem  {problem, tensors, memory, flush_bytes, layer, varies_within}: replaces the problem,
           which is attention or a declared operation. `memory` is a file, of which the first part
           has the inputs. `tensors` has {name, type, shape, strides, place, output} of each tensor
           in it, where no strides mean contiguous.
           `layer` is {layers, tokens, hidden, packed, cached_keys}; null: no time in a layer
  open     {backend}: forces flash, cudnn, efficient or math, leaves the choice to PyTorch
           (auto), or takes a package (fa3), a function (python:FILE:FUNCTION) or an expression
           (torch:EXPR, torch.compile:EXPR)
  run      {backend, upload}: runs once and leaves the output in the memory; `upload` first
           takes the inputs from there
  prepare  {backend, upload}: makes a graph of launches, ready to be timed
  turn     {backend, cold_launches}: returns {hot_us, cold_us} of a launch
  layer_turn {backend}: returns {in_layer_us, steady}, or nothing for a problem without a layer
"""
import gc
import importlib
import json
import os
import sys
import traceback

from torch_helper.basics import (METHOD, PACKAGES, Refused, installed, name_cache_of_triton,
                                 out_of_memory, shortened)

torch = None


def import_torch():
    global torch
    try:
        module = importlib.import_module("torch")
        importlib.import_module("torch.nn.attention")
    except (ImportError, OSError) as error:
        raise Refused(f"{sys.executable} has no PyTorch that can be used: {shortened(error)}",
                      "environment")
    if not module.cuda.is_available():
        if module.version.cuda is None:
            raise Refused(f"PyTorch {module.__version__} of {sys.executable} is built without CUDA",
                          "environment")
        try:
            module.cuda.init()
            reason = "no reason given"
        except Exception as error:
            reason = shortened(error)
        raise Refused(f"PyTorch {module.__version__} finds no GPU: {reason}", "environment")
    torch = module
    torch.set_grad_enabled(False)


class Helper:
    def __init__(self, modules):
        self.modules = modules  # one a package; each registers its class
        self.problem = None
        self.orders = {"hello": self.hello, "load": self.load, "problem": self.begin,
                       "open": self.open, "run": self.run, "prepare": self.prepare,
                       "turn": self.turn, "layer_turn": self.layer_turn}

    def obey(self, order):
        if order["do"] not in self.orders:
            raise Refused(f"there is no order '{order['do']}'")
        return self.orders[order["do"]](order)

    def hello(self, order):
        import_torch()
        METHOD.adopt(order["method"])
        for module in self.modules:
            importlib.import_module(module)
        cudnn = torch.backends.cudnn.version() or 0
        version = f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}" if cudnn else ""
        return {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": version,
                "packages": {name: installed(kind.PACKAGE) for name, kind in PACKAGES.items()},
                "device": torch.cuda.get_device_name(0)}

    def load(self, order):
        PACKAGES[order["backend"]].load()
        return {}

    def begin(self, order):
        from torch_helper.attention import Attention
        from torch_helper.problem import Declared

        self.problem = None
        gc.collect()
        torch.cuda.empty_cache()
        self.problem = (Declared if "operation" in order["problem"] else Attention)(order)
        return {}

    def open(self, order):
        from torch_helper import function, sdpa

        name = order["backend"]
        kind = PACKAGES.get(name, sdpa.Sdpa)
        if name.startswith(function.PREFIX):
            kind = function.Function
        elif ":" in name:
            kind = function.Expression
        contestant = kind(self.problem, name)
        self.problem.contestants[name] = contestant
        return {"ran": contestant.ran, "note": ", ".join(contestant.notes),
                "library": contestant.library}

    def contestant(self, order):
        contestant = self.problem.contestants[order["backend"]]
        if order.get("upload"):
            self.problem.upload()
        return contestant

    def run(self, order):
        self.contestant(order).run()
        return {}

    def prepare(self, order):
        contestant = self.contestant(order)
        contestant.prepare()
        return {"launches": contestant.launches}

    def turn(self, order):
        return self.contestant(order).turn(order["cold_launches"])

    def layer_turn(self, order):
        return self.contestant(order).layer_turn()


def answer(helper, line):
    try:
        return {"ok": True, **helper.obey(json.loads(line))}
    except Refused as refused:
        return {"ok": False, "kind": refused.kind, "reason": str(refused)}
    except Exception as error:
        traceback.print_exc()
        kind = "out of GPU memory" if out_of_memory(error) else type(error).__name__
        return {"ok": False, "kind": "failed", "reason": f"{kind}: {shortened(error)}"}


def device_is_lost():
    """After an illegal address, for example, every later call fails."""
    try:
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
    except Exception:
        return True
    return False


def main(modules):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print to stdout, which carries answers only
    name_cache_of_triton()
    helper = Helper(modules)
    for line in sys.stdin:
        said = answer(helper, line)
        said["ends"] = not said["ok"] and torch is not None and device_is_lost()
        answers.write(json.dumps(said) + "\n")
        answers.flush()
        if said["ends"]:
            sys.exit("the device is lost to this process")
