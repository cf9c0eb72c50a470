"""fake_torch_helper.py: Answers the PyTorch helper's orders without PyTorch.

Its first argument says how a turn goes wrong, for the first start only. Its output is a copy of q.
The file of the second argument counts its starts; beside it lies the method of the greeting.
"""
import json
import mmap
import os
import signal
import sys
import time

mode, counter = sys.argv[1], sys.argv[2]
with open(counter, "a") as file:
    file.write("started\n")
with open(counter) as file:
    first = len(file.readlines()) == 1
memory, places = None, {}


def obey(order):
    global memory
    what = order["do"]
    if what == "hello":
        if mode == "unavailable":
            return {"ok": False, "kind": "environment", "reason": "no PyTorch here"}
        with open(counter + ".method", "w") as file:
            json.dump(order["method"], file)
        return {"ok": True, "torch": "9.9", "cuda": "99.0", "cudnn": "9.1.2", "device": "none"}
    if what == "problem":
        places.update((tensor["name"], tensor["place"]) for tensor in order["tensors"])
        with open(order["memory"]["path"], "r+b") as file:
            memory = mmap.mmap(file.fileno(), order["memory"]["bytes"])
        return {"ok": True}
    if what == "open":
        if order["backend"] == "efficient":
            return {"ok": False, "kind": "failed", "reason": "PyTorch's efficient cannot do this: too many heads"}
        if order["backend"].startswith("python:"):
            return {"ok": False, "kind": "environment", "reason": "there is no file mine.py"}
        return {"ok": True, "ran": "cudnn" if order["backend"] == "auto" else order["backend"]}
    if what == "run":
        size = places["k"] - places["q"]
        if order["upload"]:
            at, of = places["out"], places["q"]
            memory[at:at + size] = memory[of:of + size]
        return {"ok": True}
    if what == "prepare":
        return {"ok": True, "launches": 7}
    if what == "turn":
        return turn(order)
    return {"ok": False, "reason": "what?"}


def turn(order):
    if first and mode == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if first and mode == "silent":
        time.sleep(60)
    if first and mode == "garbage":
        return "Segmentation fault, or so"
    if first and mode == "ends":
        return {"ok": False, "kind": "failed", "reason": "an illegal address", "ends": True}
    return {"ok": True, "hot_us": 10.5, "cold_us": 12.0 + order["cold_launches"]}


for line in sys.stdin:
    answer = obey(json.loads(line))
    print(answer if isinstance(answer, str) else json.dumps(answer), flush=True)
