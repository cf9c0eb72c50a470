#!/usr/bin/env python3
"""custom_test.py: Builds the file of a custom operation's kernel for operations of any name."""
import ctypes
import importlib.util
import json
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PARTS = pathlib.Path(__file__).resolve().parents[2] / "src/export"
NAMES = ("double", "info", "math", "torch", "warnings", "sorted", "next")
X, Y = ({"name": name, "type": "f32", "shape": [2, 4], "strides": [4, 1], "output": name == "y"} for name in "xy")


def facts(operation):
    return {"id": operation, "kernel": operation, "problem": {"operation": operation}, "tensors": [X, Y], "scratch": [],
            "cubin": {"file": operation, "sha256": operation}, "verified": True,
            "stages": [{"grid": [1, 1, 1], "cluster": [1, 1, 1], "block": [32, 1, 1], "shared_bytes": 0, "dependent": False,
                        "arguments": ["x", "y", "i32 4"]}]}


def runtime_facts(operation, tuned):
    """An operation of n elements and of a count that no shape tells, as fatune export describes it."""
    x, y = ({"name": name, "type": "f32", "shape": [tuned], "strides": [1], "output": output, "shape_expressions": [extent]}
            for name, output, extent in (("x", False, "n"), ("y", True, "ceil_div(n, 4) * count")))
    stage = {"grid": [tuned // 4, 1, 1], "grid_expressions": ["ceil_div(n, 4)", "max(count, 1, min(1))", "1"], "cluster": [1, 1, 1],
             "block": [32, 1, 1], "shared_bytes": 0, "dependent": False, "arguments": ["x", "y", "i64 n", "i32 ceil_div(n, 4)", "f32 1 / count"]}
    scratch = {"name": "parts", "bytes": tuned, "bytes_expression": "4 * n"}
    return {**facts(operation), "problem": {"operation": operation, "sizes": {"n": tuned, "count": 2}}, "tensors": [x, y],
            "runtime_sizes": ["n", "count"], "stages": [stage], "scratch": [scratch], "measured": None,
            "device": {"name": "any"}, "id": f"{operation}{tuned}"}


def filled_facts(operation):
    """An operation that reads x, and reads and writes y."""
    return {**facts(operation), "tensors": [X, {**Y, "filled": True}]}


def exported(folder, described):
    """The file, as fatune export makes it, but for machine code."""
    parts = ("torch_custom", "torch_driver", "torch_queue", "torch_sizes", "torch_custom_operator")
    text = "\n\n".join((PARTS / f"{part}.py").read_text(encoding="utf-8") for part in parts)
    filled = {'json.loads("[]")': f"json.loads({json.dumps(described)!r})",
              "_CUBINS: dict[str, str] = {}": f"_CUBINS = { {each['cubin']['sha256']: '' for each in described} }"}
    for line, made in filled.items():
        text = text.replace(line, made)
    file = pathlib.Path(folder) / "custom.py"
    file.write_text(text, encoding="utf-8")
    return file


class CustomTest(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        spec = importlib.util.spec_from_file_location("custom", exported(folder, [facts(each) for each in NAMES] + [filled_facts("add")] +
                                                                                   [runtime_facts("halve", n) for n in (64, 4096)]))
        self.custom = importlib.util.module_from_spec(spec)
        sys.modules["custom"] = self.custom  # torch.compile looks it up
        self.addCleanup(sys.modules.pop, "custom")
        spec.loader.exec_module(self.custom)

    def test_operations_leave_the_files_own_names_and_pythons_alone(self):
        self.assertEqual([row["id"] for row in self.custom.info()], [*NAMES, "add", "halve64", "halve4096"])
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
            passed = self.custom._scalar(text, {})
            self.assertEqual((passed.value, ctypes.sizeof(passed)), (value, size))
        self.assertEqual([value.value for value in self.custom._Plan(facts("double"), {}).scalars.values()], [4])

    def routed(self, kernel, sizes, **driver):
        """A route on the host, whose driver has these functions."""
        return self.patched(kernel, **driver)._Route(kernel, sizes, torch.device("cpu"))

    def patched(self, kernel, **driver):
        """The first such file of the process, with a driver of these functions and with tensors of the host."""
        names = type(kernel).sizes_of.__globals__
        self.enterContext(unittest.mock.patch.dict(
            names, _driver=unittest.mock.Mock(**{"api.cuMemcpyDtoDAsync_v2": driver.pop("copy", None), **driver}), _raw_stream=lambda index: 5, _current_device=lambda: None))
        self.enterContext(unittest.mock.patch.object(kernel, "on", lambda index: [kernel.operation]))
        return types.SimpleNamespace(**names)

    def test_constants_are_filled_on_the_queue(self):
        kernel, copies = self.custom._kernels[0], []
        kernel.facts = {**kernel.facts, "constants": [{"symbol": "c_x", "tensor": "x", "bytes": 32}]}
        constant = unittest.mock.Mock(return_value=ctypes.c_uint64(7))
        route = self.routed(kernel, {}, constant=constant, launch=lambda *_: 0,
                            copy=lambda *words: copies.append([each.value for each in words]) or 0)
        x = torch.empty(2, 4)
        for _ in range(2):
            route([x])
        self.assertEqual(copies, [[7, x.data_ptr(), 32, 5]] * 2)
        constant.assert_called_once_with(kernel.operation, "c_x", 32)

    def test_every_type_of_c_is_one_of_pytorch(self):
        sizes = {"f32": 4, "f64": 8, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "bool": 1}
        self.assertEqual({name: self.custom._DTYPES[name].itemsize for name in sizes}, sizes)
        self.assertEqual({name: ctypes.sizeof(self.custom._SCALARS[name]) for name in sizes}, sizes)

    def test_run_time_sizes_come_from_shapes_and_arguments(self):
        halve, x = torch.ops.fatune.halve, torch.empty(1001)
        self.assertEqual(str(halve.default._schema), "fatune::halve(Tensor x, SymInt count) -> Tensor")
        with self.assertRaisesRegex(ValueError, "halve: the inputs are on cpu"):
            halve(x, 3)
        with self.assertRaisesRegex(ValueError, r"no kernel takes \[7, 7\] float32; there are kernels for \[n\] float32$"):
            halve(torch.empty(7, 7), 3)
        takers = list(self.custom._takers("halve", [x], [3]))
        self.assertEqual([sizes for _, sizes in takers], [{"n": 1001, "count": 3}] * 2)
        self.assertEqual(min(takers, key=lambda taker: taker[0].distance(taker[1]))[0].facts["id"], "halve4096")
        plan = self.custom._Plan(takers[0][0].facts, {"n": 1001, "count": 3})
        self.assertEqual(plan.stages[0]["grid"], [251, 3, 1])
        self.assertEqual((plan.bytes, plan.outputs), (4096, [(753,)]))
        self.assertEqual([(type(value), value.value) for value in plan.scalars.values()],
                         [(ctypes.c_int64, 1001), (ctypes.c_int32, 251), (ctypes.c_float, ctypes.c_float(1 / 3).value)])

    def test_a_call_launches_for_its_sizes(self):
        kernel, launches = next(self.custom._takers("halve", [torch.empty(7)], [3]))[0], []

        def launch(config, function, arguments, _):
            n, parts = (ctypes.cast(arguments[i], ctypes.POINTER(kind)).contents.value
                        for i, kind in ((2, ctypes.c_int64), (3, ctypes.c_int32)))
            launches.append((function, list(config._obj.sizes), n, parts))
            return 0

        shapes = [self.routed(kernel, {"n": n, "count": 3}, launch=launch)([torch.empty(n)])[0].shape for n in (7, 1001)]
        self.assertEqual(launches, [("halve", [2, 3, 1, 32, 1, 1], 7, 2), ("halve", [251, 3, 1, 32, 1, 1], 1001, 251)])
        self.assertEqual(shapes, [(6,), (753,)])

    def test_an_output_that_is_read_begins_as_a_copy_of_the_input(self):
        self.assertEqual(str(torch.ops.fatune.add.default._schema), "fatune::add(Tensor x, Tensor y) -> Tensor")
        kernel = next(kernel for kernel in self.custom._kernels if kernel.operation == "add")

        def launch(config, function, arguments, _):
            x, y = (ctypes.cast(ctypes.cast(arguments[i], ctypes.POINTER(ctypes.c_uint64)).contents.value, ctypes.POINTER(ctypes.c_float))
                    for i in range(2))
            for i in range(8):
                y[i] += x[i]
            return 0

        x, y = torch.arange(8.0).reshape(2, 4), torch.ones(4, 2).t()
        (result,) = self.routed(kernel, {}, launch=launch)([x, y])
        self.assertEqual(result.tolist(), (x + 1).tolist())
        self.assertEqual(y.tolist(), torch.ones(2, 4).tolist())

    def test_run_time_sizes_have_limits(self):
        kernel = next(kernel for kernel in self.custom._kernels if kernel.operation == "halve")
        for sizes, told in (((0, 1), "n is 0 for n=0, count=1, but must be a whole number from 1"),
                            ((2**33, 1), "ceil_div.* is 2147483648 for .* to 2147483647"), ((4, 65536), "max.* is 65536 for")):
            with self.subTest(sizes), self.assertRaisesRegex(ValueError, told):
                self.custom._Plan(kernel.facts, dict(zip(("n", "count"), sizes)))
        with self.assertRaisesRegex(ValueError, "n is 2147483648, which i32 does not hold"):
            self.custom._scalar("i32 n", {"n": 2**31})

    def test_shapes_of_outputs_follow_symbolic_sizes(self):
        self.assertEqual(torch.ops.fatune.halve(torch.empty(1001, device="meta"), 3).shape, (753,))

        class Halve(torch.nn.Module):
            def forward(self, x):
                return torch.ops.fatune.halve(x, 3)

        exported = torch.export.export(Halve(), (torch.empty(1001),), dynamic_shapes=({0: torch.export.Dim("n", min=9)},))
        (size,) = next(node.meta["val"].shape for node in exported.graph.nodes if node.target == torch.ops.fatune.halve.default)
        self.assertIsInstance(size, torch.SymInt)

    def test_an_operation_is_a_member_of_the_file(self):
        for name in ("double", "sorted"):
            with self.assertRaisesRegex(ValueError, f"{name}: the inputs are on cpu"):
                getattr(self.custom, name)(torch.empty(2, 4))
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

    def test_a_call_of_real_tensors_passes_by_the_operator(self):
        kernel, operators = next(kernel for kernel in self.custom._kernels if kernel.operation == "halve"), []
        launch = unittest.mock.Mock(return_value=0)
        self.patched(kernel, launch=launch)
        found = unittest.mock.Mock(return_value=(kernel, {"n": 8, "count": 2}))
        x = torch.empty(8)

        class Seen(TorchDispatchMode):
            def __torch_dispatch__(self, function, *words):
                operators.append(str(function))
                return function(*words[1])

        with unittest.mock.patch.dict(type(kernel).sizes_of.__globals__, _kernel_for=found):
            for _ in range(2):
                self.assertEqual(self.custom.halve(x, 2).shape, (4,))
            found.assert_called_once()  # the choice is remembered
            self.assertEqual(launch.call_count, 2)
            with Seen():
                self.custom.halve(x, 2)
            self.assertIn("fatune.halve.default", operators)
            wanted = self.custom.halve(x.clone().requires_grad_(), 2)
            with self.assertRaisesRegex(RuntimeError, "missing value for argument 'count'"):
                self.custom.halve(x)
        self.assertEqual(wanted.shape, (4,))

    def test_a_thread_without_a_context_gets_one(self):
        kernel, codes = self.custom._kernels[0], [201, 0]
        driver = {"launch": lambda *_: codes.pop(0), "make_current": unittest.mock.Mock(), "check": unittest.mock.Mock()}
        self.routed(kernel, {}, **driver)([torch.empty(2, 4)])
        driver["make_current"].assert_called_once_with(None)
        driver["check"].assert_called_once_with(0, "launch double")


if __name__ == "__main__":
    sys.exit(unittest.main())
