#!/usr/bin/env python3
"""custom_test.py: Builds the file of a custom operation's kernel for operations of any name."""
import ctypes
import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import torch

PARTS = pathlib.Path(__file__).resolve().parents[2] / "src/export"
NAMES = ("double", "info", "math", "torch", "warnings", "sorted", "next")
X, Y = ({"name": name, "type": "f32", "shape": [2, 4], "strides": [4, 1], "output": name == "y"} for name in "xy")


def facts(operation):
    return {"id": operation, "kernel": operation, "problem": {"operation": operation}, "tensors": [X, Y], "scratch": [],
            "cubin": {"file": operation, "sha256": operation}, "verified": True,
            "stages": [{"arguments": ["x", "y", "i32 4"]}]}


def exported(folder, operations):
    """The file, as fatune export makes it, but for machine code."""
    parts = ("torch_custom", "torch_driver", "torch_queue", "torch_custom_operator")
    text = "\n\n".join((PARTS / f"{part}.py").read_text(encoding="utf-8") for part in parts)
    filled = {'json.loads("[]")': f"json.loads({json.dumps([facts(each) for each in operations])!r})",
              "_CUBINS: dict[str, str] = {}": f"_CUBINS = {dict.fromkeys(operations, '')}"}
    for line, made in filled.items():
        text = text.replace(line, made)
    file = pathlib.Path(folder) / "custom.py"
    file.write_text(text, encoding="utf-8")
    return file


class CustomTest(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        spec = importlib.util.spec_from_file_location("custom", exported(folder, NAMES))
        self.custom = importlib.util.module_from_spec(spec)
        self.enterContext(unittest.mock.patch.dict(sys.modules, custom=self.custom))  # torch.compile looks it up
        spec.loader.exec_module(self.custom)

    def test_operations_leave_the_files_own_names_and_pythons_alone(self):
        self.assertEqual([row["id"] for row in self.custom.info()], list(NAMES))
        self.assertIs(self.custom.torch, torch)
        x = torch.empty(2, 4)
        for name in NAMES:
            with self.subTest(name), self.assertRaisesRegex(ValueError, f"{name}: the inputs are on cpu"):
                getattr(torch.ops.fatune, name)(x)
            with self.assertRaisesRegex(ValueError, f"{name}: no kernel takes .*; there are kernels for"):
                getattr(torch.ops.fatune, name)(x.half())

    def test_values_are_passed_in_their_types(self):
        for text, value, size in (("i32 -1", -1, 4), ("u64 9007199254740992", 2**53, 8), ("f32 0.5", 0.5, 4),
                                  ("f64 1e-300", 1e-300, 8), ("bool 1", True, 1)):
            passed = self.custom._scalar(*text.split())
            self.assertEqual((passed.value, ctypes.sizeof(passed)), (value, size))
        self.assertEqual([value.value for value in self.custom._kernels[0].scalars.values()], [4])

    def test_constants_are_filled_on_the_queue(self):
        kernel, copies = self.custom._kernels[0], []
        kernel.facts = {**kernel.facts, "constants": [{"symbol": "c_x", "tensor": "x", "bytes": 32}]}
        driver = unittest.mock.Mock()
        driver.constant.return_value = ctypes.c_uint64(7)
        driver.api.cuMemcpyDtoDAsync_v2.side_effect = lambda *words: copies.append([each.value for each in words]) or 0
        names = type(kernel).fill.__globals__  # of the first such file of the process
        with unittest.mock.patch.dict(names, _driver=driver, _raw_stream=lambda index: 5):
            for _ in range(2):
                kernel.fill("function", {"x": 4096}, 0)
        self.assertEqual(copies, [[7, 4096, 32, 5]] * 2)
        driver.constant.assert_called_once_with("function", "c_x", 32)

    def test_every_type_of_c_is_one_of_pytorch(self):
        sizes = {"f32": 4, "f64": 8, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "bool": 1}
        self.assertEqual({name: self.custom._DTYPES[name].itemsize for name in sizes}, sizes)
        self.assertEqual({name: ctypes.sizeof(self.custom._SCALARS[name]) for name in sizes}, sizes)

    def test_an_operation_is_a_member_of_the_file(self):
        for name in ("double", "sorted"):
            self.assertIs(getattr(self.custom, name), getattr(torch.ops.fatune, name))
        with self.assertRaisesRegex(AttributeError, "module 'custom' has no attribute 'other'"):
            self.custom.other

    def test_it_is_traced_as_an_operator(self):
        custom, seen = self.custom, []

        def keep(graph, _):
            seen.extend(node.target for node in graph.graph.nodes if node.op == "call_function")
            return graph.forward

        with self.assertRaisesRegex(ValueError, "the inputs are on cpu"):
            torch.compile(lambda x: custom.double(x), backend=keep, fullgraph=True)(torch.empty(2, 4))
        self.assertEqual(seen, [torch.ops.fatune.double])


if __name__ == "__main__":
    sys.exit(unittest.main())
