"""kernelbot_reference_test.py FOLDER: Tests that the tasks' Python compiles and computes attention.

With PyTorch, each ref_kernel() is compared on the CPU in fp64, on what generate_input() makes.
tests/python/export_test.py makes FOLDER."""
import pathlib
import re
import sys
import types

FOLDER = pathlib.Path(sys.argv[1])
ARGUMENTS = ({"batch": 2, "heads": 4, "kvheads": 2, "queries": 9, "keys": 9, "dim": 16, "seed": 1},
             {"batch": 1, "heads": 4, "kvheads": 4, "queries": 5, "keys": 12, "dim": 16, "seed": 2})


def module(name, text, **members):
    made = sys.modules[name] = types.ModuleType(name)
    vars(made).update(members)
    exec(compile(text, name, "exec"), vars(made))
    return made


def attention(torch, q, k, v, causal):
    k, v = (tensor.double().repeat_interleave(q.shape[1] // tensor.shape[1], 1) for tensor in (k, v))
    scores = q.double() @ k.transpose(2, 3) / q.shape[3] ** 0.5
    if causal:
        mask = torch.ones(scores.shape[2:], dtype=torch.bool).tril(scores.shape[3] - scores.shape[2])
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v


def check_shapes(folder, arguments, tensors):
    """As the task describes them; and the tensors with heads before rows."""
    described = re.findall(r"^ +(\w+): \((.+)\)$", (folder / "task.yml").read_text(), re.MULTILINE)
    assert [name for name, _ in described] == ["q", "k", "v", "out"], folder
    for (_, sizes), tensor in zip(described, tensors):
        assert tensor.is_contiguous() and tuple(tensor.shape) == tuple(arguments[size] for size in sizes.split(", ")), folder
    return [tensor if sizes.split(", ")[1].endswith("heads") else tensor.transpose(1, 2)
            for (_, sizes), tensor in zip(described, tensors)]


def check(torch, folder):
    module("task", (folder / "task.py").read_text())
    module("utils", "", make_match_reference=lambda reference, **limits: (reference, limits))
    reference = module("reference", (folder / "reference.py").read_text().replace('"cuda"', '"cpu"'))
    limits = reference.check_implementation[1]
    for arguments in ARGUMENTS:
        data = reference.generate_input(**arguments)
        out = reference.ref_kernel(data)
        q, k, v, seen = check_shapes(folder, arguments, [*data, out])
        wanted = attention(torch, q, k, v, "_causal" in folder.name).to(data[0].dtype)
        torch.testing.assert_close(seen, wanted, **limits)


def main():
    folders = sorted(FOLDER.iterdir())
    for folder in folders:
        for file in folder.glob("*.py"):
            compile(file.read_text(), file, "exec")
    try:
        import torch
    except ImportError:
        print(f"{len(folders)} tasks compile; without PyTorch no reference is run")
        return
    for folder in folders:
        check(torch, folder)
    print(f"{len(folders)} references are attention")


if __name__ == "__main__":
    main()
