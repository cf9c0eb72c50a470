"""torch_module_test.py FILE: Tests a file of `fatune export --to torch` on stand-ins.

Checks the kernel and the arguments of each launch, and calls left to PyTorch. write_torch_test.cpp
makes FILE: kernels tensor_maps, pointers, two_stages, packed_maps, packed_pointers, biased and capped."""
import importlib.util
import math
import pathlib
import random
import sys
import unittest
import unittest.mock
import warnings

import fake_cuda
import fake_torch

fake_torch.install()
import torch  # noqa: E402, the stand-in

FILE = sys.argv.pop(1)


def load(file=FILE, **names):
    spec = importlib.util.spec_from_file_location("sdpa", file)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(names)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        spec.loader.exec_module(module)
    return module, [str(warning.message) for warning in said]


def qkv(batch, heads, seq_q, dim, dtype=torch.float16, kv_heads=None, seq_kv=None, **options):
    key = (batch, kv_heads or heads, seq_kv or seq_q, dim)
    return [torch.Tensor(shape, dtype, **options) for shape in ((batch, heads, seq_q, dim), key, key)]


def laid(tensor, strides, address=None):
    """As many elements, elsewhere."""
    return torch.Tensor(tensor.shape, tensor.dtype, tensor.device, strides, address)


def rows_first(tensor):
    """As after x.view(batch, seq, heads, dim).transpose(1, 2)."""
    batch, heads, seq, dim = tensor.shape
    return laid(tensor, (seq * heads * dim, dim, heads * dim, 1))


def packed(batch, heads, seq, dim, kv_heads=None, dtype=torch.float16):
    """q, k and v as parts of x.view(batch, seq, heads + 2 * kv_heads, dim), seen as (batch, heads, seq, dim)."""
    kv_heads = kv_heads or heads
    row = (heads + 2 * kv_heads) * dim
    whole = torch.Tensor((batch, seq, row), dtype)
    starts = (0, heads * dim, (heads + kv_heads) * dim)
    return [torch.Tensor((batch, count, seq, dim), dtype, stride=(seq * row, dim, row, 1),
                         address=whole.address + start * torch.BYTES[dtype])
            for count, start in zip((heads, kv_heads, kv_heads), starts)]


class Sizes(unittest.TestCase):
    """Checks that need no tensors."""

    def setUp(self):
        self.sdpa, _ = load()

    def test_heads_count_not_how_they_are_made_up(self):
        key = self.sdpa._problem_key
        self.assertEqual(key((4, 8, 16, 64), (4, 8, 16, 64), (4, 8, 16, 64), "f16", None, False),
                         key((2, 16, 16, 64), (2, 16, 16, 64), (2, 16, 16, 64), "f16", None, True))

    def test_what_knows_heads_or_batch_entries_is_of_these(self):
        key = self.sdpa._problem_key
        for word in (" with sink", "causal with alibi", "padding", "causal+document of 2", "k < q + h", " score score * b"):
            self.assertNotEqual(key((4, 8, 16, 64), (4, 8, 16, 64), (4, 8, 16, 64), "f16", word, False),
                                key((2, 16, 16, 64), (2, 16, 16, 64), (2, 16, 16, 64), "f16", word, True), word)

    def test_what_no_kernel_does_has_no_key(self):
        key, q, k = self.sdpa._problem_key, (2, 8, 16, 64), (2, 4, 16, 64)
        self.assertIsNotNone(key(q, k, k, "f16", None, True))
        self.assertIsNone(key(q, k, k, "f16", None, False))
        self.assertIsNone(key(q, (2, 3, 16, 64), (2, 3, 16, 64), "f16", None, True))
        self.assertIsNone(key(q, k, (2, 4, 8, 64), "f16", None, True))
        self.assertNotEqual(key(q, k, (2, 4, 16, 32), "f16", None, True), key(q, k, k, "f16", None, True))
        self.assertIsNone(key(q, (1, 4, 16, 64), (1, 4, 16, 64), "f16", None, True))
        self.assertIsNone(key(q[1:], k[1:], k[1:], "f16", None, True))
        self.assertIsNone(key(q, (2, 0, 16, 64), (2, 0, 16, 64), "f16", None, True))

    def test_causal_masks_that_start_upper_left_are_others_at_unlike_lengths(self):
        key, q, k = self.sdpa._problem_key, (1, 2, 16, 64), (1, 2, 32, 64)
        self.assertNotEqual(key(q, k, k, "f16", "causal-upper-left", False), key(q, k, k, "f16", "causal", False))
        self.assertEqual(key(q, q, q, "f16", "causal-upper-left", False), key(q, q, q, "f16", "causal", False))

    def test_one_query_at_the_lower_right_sees_every_key(self):
        key, q, k = self.sdpa._problem_key, (1, 2, 1, 64), (1, 2, 32, 64)
        self.assertEqual(key(q, k, k, "f16", "causal", False), key(q, k, k, "f16", None, False))
        self.assertNotEqual(key(q, k, k, "f16", "causal-window:31", False), key(q, k, k, "f16", None, False))

    def test_strides_say_where_each_element_lies(self):
        chance, seen = random.Random(42), 0
        for _ in range(2000):
            shape = tuple(chance.choice(sizes) for sizes in ((1, 2, 3), (1, 2, 4), (1, 3), (8, 16)))
            order = chance.sample(range(3), 3) + [3]
            strides, step = [0] * 4, 1
            for dimension in reversed(order):
                strides[dimension] = step if shape[dimension] > 1 else chance.choice((step, 7))
                step *= shape[dimension] * chance.choice((1, 1, 2))
            total = shape[0] * shape[1]
            heads = chance.choice([count for count in range(1, total + 1) if total % count == 0])
            found = self.sdpa._strides_seen(shape, strides, heads)
            if found is None:
                continue
            seen += 1
            row, head, batch = found
            view = (total // heads, heads, shape[2], shape[3])
            self.assertEqual(fake_cuda.offsets(shape, strides), fake_cuda.offsets(view, (batch, head, row, 1)))
        self.assertGreater(seen, 500)

    def test_strides_that_cannot_be_read(self):
        strides, can_be_mapped = self.sdpa._strides_seen, self.sdpa._can_be_mapped
        self.assertIsNone(strides((2, 4, 16, 64), (4096, 1024, 1, 16), 4))  # columns apart
        self.assertIsNone(strides((2, 4, 16, 64), (5000, 64, 256, 1), 8))  # heads of two batches, unevenly apart
        self.assertTrue(can_be_mapped(strides((2, 4, 16, 64), (4 * 16 * 72, 16 * 72, 72, 1), 4), 2))
        self.assertFalse(can_be_mapped(strides((2, 4, 16, 64), (4096, 0, 64, 1), 4), 2))  # one head for all
        self.assertFalse(can_be_mapped(strides((2, 4, 16, 64), (4 * 16 * 68, 16 * 68, 68, 1), 4), 2))  # rows of 136 bytes

    def test_an_output_has_the_order_of_the_query_and_no_gaps(self):
        chance, dense = random.Random(42), self.sdpa._dense_strides
        for _ in range(500):
            shape = tuple(chance.choice((1, 2, 3, 5)) for _ in range(4))
            strides, step = [0] * 4, 1
            for dimension in chance.sample(range(4), 4):
                strides[dimension] = step
                step *= shape[dimension] * chance.choice((1, 2))
            found, made = dense(shape, strides), torch.empty_like(torch.Tensor(shape, stride=tuple(strides)))
            for size, own, theirs in zip(shape, found, made.stride()):
                self.assertTrue(size == 1 or own == theirs)
        self.assertIsNone(dense((2, 4, 16, 64), (4096, 64, 64, 1)))  # heads and rows begin at the same places

    def test_devices(self):
        runs_on = self.sdpa._runs_on
        hopper, ampere = {"min_compute": [9, 0], "exact_compute": True}, {"min_compute": [8, 0], "exact_compute": False}
        self.assertEqual([runs_on(hopper, c) for c in ((9, 0), (10, 0), (9, 1), (8, 0))], [True, False, False, False])
        self.assertEqual([runs_on(ampere, c) for c in ((8, 0), (8, 9), (7, 5), (9, 0))], [True, True, False, False])


class Calls(unittest.TestCase):
    def setUp(self):
        fake_torch.state.__dict__.update(grad=False, autocast=None, modes=0, compiling=False, device=0, stream=70,
                                         capability=(9, 0), name="NVIDIA H200")
        sys.modules["torch"].ops.fatune.__dict__.clear()
        fake_torch.calls.clear()
        self.api = fake_cuda.Api()
        self.sdpa, self.said = load()
        self.sdpa.ctypes.CDLL = lambda name: self.api

    def one_launch(self):
        self.assertEqual(fake_torch.calls, [])
        self.assertEqual(len(self.api.launches), 1)
        return self.api.launches[0]

    def left_to_pytorch(self, *arguments, **options):
        before = len(fake_torch.calls), len(self.api.launches)
        result = self.sdpa.sdpa(*arguments, **options)
        self.assertEqual(result, "PyTorch's")
        self.assertEqual((len(fake_torch.calls), len(self.api.launches)), (before[0] + 1, before[1]))
        return fake_torch.calls[-1]

    def test_a_launch_has_the_facts_and_the_addresses(self):
        tensors = qkv(4, 8, 512, 64)
        out = self.sdpa.sdpa(*tensors)
        launch = self.one_launch()
        self.assertEqual((launch.entry, launch.grid, launch.block), ("tensor_maps", (2, 4, 8), (256, 1, 1)))
        self.assertEqual((launch.shared_bytes, launch.stream), (147608, 70))
        self.assertEqual(launch.attributes, {4: (2, 1, 1), 6: (1, 0, 0)})
        addresses = [tensor.address for tensor in tensors]
        self.assertEqual(launch.arguments, [out.address, 0, *addresses, out.address])
        self.assertEqual((out.shape, out.dtype, out.is_contiguous()), (tensors[0].shape, torch.float16, True))
        self.assertEqual(self.api.prepared, [("tensor_maps", 8, 147608), ("tensor_maps", 9, 100)])
        self.assertEqual(self.api.loaded, [b"machine code of tensor_maps"])
        self.assertEqual(self.api.mode, 0)
        q = self.api.maps[0]
        self.assertEqual((q["element"], q["swizzle"], q["box"]), (6, 3, (64, 64, 1, 1)))
        self.assertEqual((q["sizes"], q["strides"]), ((64, 512, 8, 4), (128, 65536, 524288)))

    def test_launches_are_kept_by_their_addresses(self):
        tensors = qkv(4, 8, 512, 64)
        free = fake_torch.state.next_address
        for _ in range(3):
            fake_torch.state.next_address = free
            out = self.sdpa.sdpa(*tensors)
        self.assertEqual((len(self.api.maps), len(self.api.loaded), len(self.api.launches)), (4, 1, 3))
        others = qkv(4, 8, 512, 64)
        fake_torch.state.stream = 80
        self.sdpa.sdpa(*others)
        last = self.api.launches[-1]
        self.assertEqual((last.arguments[2:5], last.stream), ([tensor.address for tensor in others], 80))
        fake_torch.state.next_address = free
        self.sdpa.sdpa(*tensors)
        self.assertEqual((self.api.launches[-1].arguments[0], self.api.launches[-1].stream), (out.address, 80))

    def test_maps_of_a_kernel_have_the_strides_of_the_tensors(self):
        q, *others = qkv(4, 8, 512, 64)
        k, v = (rows_first(tensor) for tensor in others)
        out = self.sdpa.sdpa(q, k, v)
        self.assertEqual(self.one_launch().entry, "tensor_maps")
        self.assertEqual(self.one_launch().arguments[2:5], [q.address, k.address, v.address])
        self.assertEqual([m["strides"] for m in self.api.maps],
                         [(128, 65536, 524288), (1024, 128, 524288), (1024, 128, 524288), (128, 65536, 524288)])
        self.assertTrue(out.is_contiguous())

    def test_one_kernel_serves_every_query_whose_rows_come_before_its_heads(self):
        sliced = [laid(tensor, (4096, 64, 1024, 1)) for tensor in qkv(4, 8, 512, 64)]  # the half of 16 heads
        for given, strides in ((packed(4, 8, 512, 64), (3072, 128, 1572864)), (sliced, (2048, 128, 8192)),
                               ([rows_first(tensor) for tensor in qkv(4, 8, 512, 64)], (1024, 128, 524288))):
            out = self.sdpa.sdpa(*given)
            self.assertEqual(self.api.launches[-1].entry, "packed_maps")
            self.assertEqual(self.api.launches[-1].arguments[2:5], [tensor.address for tensor in given])
            self.assertEqual([m["strides"] for m in self.api.maps[-4:]], [strides] * 3 + [(1024, 128, 524288)])
            self.assertEqual(out.stride(), (262144, 64, 512, 1))  # transpose(1, 2).reshape() costs nothing
        self.assertEqual(fake_torch.calls, [])

    def test_the_output_is_where_pytorch_would_leave_it_or_pytorchs(self):
        q, k, v = qkv(4, 8, 512, 64)
        heads_last = laid(q, (64, 512 * 4 * 64, 4 * 64, 1))  # (head, row, batch, column)
        self.left_to_pytorch(heads_last, k, v)
        self.left_to_pytorch(laid(q, (262144, 512, 1, 8)), k, v)
        self.left_to_pytorch(laid(q, (262144, 0, 64, 1)), k, v)  # expanded
        q, k, v = qkv(2, 8, 128, 64, torch.bfloat16, kv_heads=2, seq_kv=256)
        mask = fake_torch.CausalBias("lower", 128, 256)
        self.left_to_pytorch(rows_first(q), k, v, mask, enable_gqa=True)

    def test_strides_that_were_compiled_in_are_those_of_the_tensors(self):
        tensors = packed(2, 4, 256, 128, 1, torch.bfloat16)
        out = self.sdpa.sdpa(*tensors, enable_gqa=True)
        launch = self.one_launch()
        self.assertEqual((launch.entry, launch.arguments[:3]),
                         ("packed_pointers", [tensor.address for tensor in tensors]))
        self.assertEqual(out.stride(), (131072, 128, 512, 1))
        self.left_to_pytorch(*(rows_first(tensor) for tensor in tensors), enable_gqa=True)
        self.left_to_pytorch(*qkv(2, 4, 256, 128, torch.bfloat16, kv_heads=1), enable_gqa=True)
        self.left_to_pytorch(*packed(1, 8, 256, 128, 2, torch.bfloat16), enable_gqa=True)  # other rows in a batch

    def test_strides_of_dimensions_of_one_do_not_count(self):
        q, k, v = qkv(1, 4, 1, 64, seq_kv=1024)
        self.sdpa.sdpa(laid(q, (7, 64, 3, 1)), laid(k, (5, 65536, 64, 1)), v)
        self.assertEqual(self.api.launches[0].entry, "two_stages")
        self.assertEqual(fake_torch.calls, [])

    def test_of_kernels_for_several_layouts_the_exact_one_is_taken(self):
        maps = self.sdpa._own[3]
        faster = type(maps)({**maps.facts, "kernel": "fa_other", "stages": [{**maps.facts["stages"][0],
                             "entry": "for_rows_first"}], "strides": dict.fromkeys(
                             ("q", "k", "v", "out"), [262144, 64, 512, 1])}, maps.cubin)
        self.sdpa._service.table.kernels.append(faster)
        maps.facts["measured"]["hot_us"] = 1.0
        self.sdpa.sdpa(*(rows_first(tensor) for tensor in qkv(4, 8, 512, 64)))
        self.sdpa.sdpa(*packed(4, 8, 512, 64))
        self.assertEqual([launch.entry for launch in self.api.launches], ["for_rows_first", "packed_maps"])

    def test_a_call_can_be_explained(self):
        q, k, v = qkv(4, 8, 512, 64)
        said = [self.sdpa.explain(*arguments, **options) for arguments, options in (
            ((q, k, v), {}), (packed(4, 8, 512, 64), {}), ((q, k, v, torch.Tensor((512, 512))), {}),
            (qkv(4, 8, 500, 64), {}), ((q, k, v), {"scale": 1.0}), ((laid(q, (262144, 512, 1, 8)), k, v), {}),
            ((laid(q, q.stride(), q.address + 2), k, v), {}), (qkv(4, 8, 512, 64, device="cpu"), {}))]
        self.assertEqual(said, [
            "4,8,512,64 f16: fa_tensor_maps, sm_90a, 6.29 us, 0.64 of cudnn, on NVIDIA H200",
            "4,8,512,64 f16 packed: fa_packed_maps, sm_90a, 5.80 us, on NVIDIA H200",
            "PyTorch: no kernel takes such a mask",
            "PyTorch: no kernel is for these sizes, type and mask",
            "PyTorch: no kernel for it has the scale 1.0",
            "PyTorch: no kernel for it takes these strides, or writes in the query's order: q (262144, 512, 1, 8), "
            "k (262144, 32768, 64, 1), v (262144, 32768, 64, 1)",
            "PyTorch: a tensor does not begin at a multiple of 16 bytes",
            "PyTorch: the tensors are on cpu"])
        fake_torch.state.capability = (10, 0)
        self.assertEqual(self.sdpa.explain(q, k, v), "PyTorch: no kernel for it runs on NVIDIA H200")
        q.requires_grad, fake_torch.state.grad = True, True
        self.assertEqual(self.sdpa.explain(q, k, v), "PyTorch: gradients are wanted, which no kernel computes")
        self.assertEqual((fake_torch.calls, self.api.launches), ([], []))

    def test_other_batches_of_as_many_heads(self):
        out = self.sdpa.sdpa(*qkv(2, 16, 512, 64))
        self.assertEqual(out.shape, (2, 16, 512, 64))
        self.assertEqual(self.one_launch().grid, (2, 4, 8))

    def test_addresses_that_are_not_aligned_are_left_to_pytorch(self):
        q, k, v = qkv(4, 8, 512, 64)
        q.address += 2
        (given, *rest), _ = self.left_to_pytorch(q, k, v)
        self.assertEqual((given.history, rest), ([q], [k, v]))

    def test_pytorch_gets_copies_of_rows_at_odd_addresses(self):
        q, k, v = qkv(3, 5, 40, 64)  # no kernel's problem
        odd = torch.Tensor(k.shape, k.dtype, stride=(5 * 40 * 65, 40 * 65, 65, 1))
        (*rest, given), options = self.left_to_pytorch(q, k, odd, is_causal=True)
        self.assertEqual((given.history, rest), ([odd], [q, k]))
        self.assertEqual(options, {"is_causal": True, "scale": None, "enable_gqa": False})
        even = torch.Tensor(k.shape, k.dtype, stride=(5 * 40 * 72, 40 * 72, 72, 1))
        self.assertIs(self.left_to_pytorch(q, k, even)[0][2], even)

    def test_pytorch_gets_no_copies_that_would_lie_no_better(self):
        columns_apart = [laid(tensor, (5 * 64 * 41, 64 * 41, 1, 41)) for tensor in qkv(3, 5, 41, 64)]
        short_rows = ([rows_first(tensor) for tensor in qkv(3, 5, 40, dim)] for dim in (36, 60, 100))
        for tensors in (columns_apart, *short_rows):
            self.assertEqual(self.left_to_pytorch(*tensors)[0][:3], tuple(tensors))

    def test_no_query_gives_no_rows(self):
        q, k, v = qkv(0, 8, 512, 64)
        self.assertEqual(self.sdpa.sdpa(q, k, v).shape, (0, 8, 512, 64))
        self.assertEqual((fake_torch.calls, self.api.launches), ([], []))

    def test_stages_scratch_and_log_sum_exp(self):
        q, k, v = qkv(1, 4, 1, 64, seq_kv=1024)
        out = self.sdpa.sdpa(q, k, v)
        first, second = self.api.launches
        partial, stats = first.arguments[3:]
        self.assertEqual(first.arguments[:3], [q.address, k.address, v.address])
        self.assertEqual(second.arguments[:3], [partial, stats, out.address])
        lse = second.arguments[3]
        self.assertEqual((stats - partial, lse - stats), (1024, 256))  # 1000 and 64 bytes, rounded to 256
        self.assertIn(("combine", 14, 1), self.api.prepared)
        self.assertEqual(second.attributes, {4: (16, 1, 1)})

    def test_other_problems_are_left_to_pytorch(self):
        q, k, v = qkv(4, 8, 512, 64)
        self.left_to_pytorch(*qkv(4, 8, 511, 64))
        self.left_to_pytorch(*qkv(4, 8, 512, 128))
        self.left_to_pytorch(*qkv(4, 8, 512, 64, torch.bfloat16))
        self.left_to_pytorch(*qkv(4, 8, 512, 64, torch.float32))
        self.left_to_pytorch(*qkv(4, 8, 512, 64, device="cpu"))
        self.left_to_pytorch(q, k, v, is_causal=True)
        self.left_to_pytorch(q, k, v, scale=0.1)
        self.left_to_pytorch(q, k, v, dropout_p=0.1)
        self.left_to_pytorch(q, k, v, torch.Tensor((512, 512)))
        self.left_to_pytorch(q, k, v, fake_torch.CausalBias("lower", 512, 512))
        self.left_to_pytorch(*qkv(4, 8, 512, 64, kv_heads=2))
        self.assertEqual(self.left_to_pytorch(q, k, v, scale=0.5), ((q, k, v), {
            "is_causal": False, "scale": 0.5, "enable_gqa": False}))

    def test_a_bias_is_passed_as_a_pointer_and_never_read(self):
        q, k, v = qkv(2, 8, 128, 64)
        mask = torch.Tensor((2, 1, 1, 128), torch.bool)
        for given in (mask, laid(mask, (128, 0, 0, 1)), torch.Tensor((2, 8, 128, 128), torch.bool, stride=(128, 0, 0, 1))):
            out = self.sdpa.sdpa(q, k, v, given)
            launch = self.api.launches[-1]
            self.assertEqual((launch.entry, launch.arguments),
                             ("biased", [q.address, k.address, v.address, out.address, 0, given.address]))
        self.assertEqual(fake_torch.calls, [])
        for other in (torch.Tensor((2, 1, 1, 128)), torch.Tensor((1, 1, 1, 128), torch.bool), laid(mask, (256, 0, 0, 1)),
                      laid(mask, mask.stride(), mask.address + 4), torch.Tensor(mask.shape, torch.bool, "cpu"),
                      torch.Tensor((2, 1, 128, 128), torch.bool)):
            self.assertIs(self.left_to_pytorch(q, k, v, other)[0][3], other)
        self.left_to_pytorch(*qkv(4, 4, 128, 64), mask)
        self.assertEqual(self.sdpa.explain(q, k, v, mask), "2,8,128,64 f16 bias 2,1,1,128:bool: fa_biased, sm_90a, not measured")

    def test_a_softcap_is_a_kernels_own(self):
        tensors = qkv(2, 8, 128, 64)
        self.sdpa.sdpa(*tensors, is_causal=True, softcap=30.0)
        self.assertEqual(self.one_launch().entry, "capped")
        self.left_to_pytorch(*tensors, is_causal=True)
        self.sdpa._mask_tensor = lambda *given: given[0]
        self.sdpa._capped = lambda *given: ("operations", given[-1])
        for softcap, options in ((29.0, {"is_causal": True}), (30.0, {"attn_mask": torch.Tensor((2, 1, 1, 128), torch.bool)})):
            self.assertEqual(self.sdpa.sdpa(*tensors, **options, softcap=softcap), ("operations", softcap))
        self.assertEqual(len(self.api.launches), 1)

    def test_the_scale_compiled_in_may_be_given(self):
        q, k, v = qkv(4, 8, 512, 64)
        self.sdpa.sdpa(q, k, v, scale=1 / math.sqrt(64))
        self.one_launch()

    def test_upper_left_masks_of_other_lengths_are_left_to_pytorch(self):
        q, k, v = qkv(2, 8, 128, 64, torch.bfloat16, kv_heads=2, seq_kv=256)
        self.left_to_pytorch(q, k, v, is_causal=True, enable_gqa=True)
        self.left_to_pytorch(q, k, v, fake_torch.CausalBias("upper", 128, 256), enable_gqa=True)
        self.left_to_pytorch(q, k, v, fake_torch.CausalBias("lower", 100, 256), enable_gqa=True)
        self.left_to_pytorch(q, k, v, fake_torch.CausalBias("lower", 128, 256))
        self.sdpa.sdpa(q, k, v, fake_torch.CausalBias("lower", 128, 256), enable_gqa=True)
        self.assertEqual(self.api.launches[0].entry, "pointers")

    def test_calls_whose_gradients_are_wanted_are_left_to_pytorch(self):
        reason = "gradients are wanted, which no kernel computes"
        for i in range(3):
            tensors = qkv(4, 8, 512, 64)
            tensors[i].requires_grad, fake_torch.state.grad = True, True
            self.left_to_pytorch(*tensors)
            self.assertEqual(self.sdpa.explain(*tensors), f"PyTorch: {reason}")
        self.assertEqual(self.sdpa.counts(), [{"call": "4,8,512,64 f16", "calls": 3, "reason": reason}])
        fake_torch.state.grad = False
        self.sdpa.sdpa(*tensors)
        self.assertEqual(len(self.api.launches), 1)

    def test_a_graph_that_was_traced_without_gradients_leaves_them_to_pytorch(self):
        q, k, v = qkv(4, 8, 512, 64)
        q.requires_grad, fake_torch.state.grad = True, True
        made = torch.Tensor((4, 8, 512, 64))
        self.sdpa._pytorch = lambda *_, **__: made
        self.assertIs(self.sdpa._run_kernel(q, k, v), made)
        self.assertEqual(self.api.launches, [])

    def test_autocast_converts_as_pytorch_does(self):
        fake_torch.state.autocast = torch.float16
        q, k, v = qkv(4, 8, 512, 64, torch.float32)
        out = self.sdpa.sdpa(q, k, v)
        self.assertEqual(out.dtype, torch.float16)
        self.assertEqual(self.one_launch().entry, "tensor_maps")

    def test_autocast_converts_beside_a_mask_as_an_object(self):
        fake_torch.state.autocast = torch.bfloat16
        q, k, v = qkv(2, 8, 128, 64, torch.bfloat16, kv_heads=2, seq_kv=256)
        wide = torch.Tensor(k.shape, torch.float32)
        self.sdpa.sdpa(q, wide, v, fake_torch.CausalBias("lower", 128, 256), enable_gqa=True)
        arguments = self.one_launch().arguments
        self.assertIn(q.address, arguments)
        self.assertNotIn(wide.address, arguments)

    def test_types_that_autocast_of_another_device_leaves_are_refused(self):
        fake_torch.state.autocast = torch.float16
        q, k, v = qkv(4, 8, 512, 64)
        with self.assertRaisesRegex(ValueError, "key is .*float64"):
            self.sdpa.sdpa(q, torch.Tensor(k.shape, torch.float64), v)

    def test_other_devices_of_the_kernel(self):
        tensors = qkv(4, 8, 512, 64, device="cuda:1")
        self.sdpa.sdpa(*tensors)
        self.sdpa.sdpa(*qkv(4, 8, 512, 64))
        self.assertEqual([launch.stream for launch in self.api.launches], [71, 70])
        self.assertEqual((len(self.api.loaded), fake_torch.state.device), (2, 0))

    def test_other_kinds_of_devices(self):
        fake_torch.state.capability = (10, 0)
        self.left_to_pytorch(*qkv(4, 8, 512, 64))
        sys.modules["torch"].version.cuda = None  # ROCm has capabilities of its own
        fake_torch.state.capability = (9, 0)
        self.sdpa._service.forget()
        try:
            self.left_to_pytorch(*qkv(4, 8, 512, 64))
        finally:
            sys.modules["torch"].version.cuda = "13.0"

    def test_misuse_raises(self):
        q, k, v = qkv(4, 8, 512, 64)
        for wrong, error, text in (
                ((q, k, qkv(4, 8, 512, 64, torch.bfloat16)[2]), ValueError, "value is bfloat16, query float16"),
                ((q, qkv(4, 8, 512, 64, device="cpu")[1], v), ValueError, "key is on cpu, query on cuda:0"),
                ((q, qkv(4, 8, 512, 64, device="cuda:1")[1], v), ValueError, "key is on cuda:1"),
                ((q, k, qkv(4, 8, 500, 64)[2]), ValueError, "key has 512 rows, value 500"),
                ((q, *qkv(4, 8, 512, 32)[1:]), ValueError, "query has head_dim 64, key 32"),
                (([1.0], k, v), TypeError, "query must be a torch.Tensor, not list")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                self.sdpa.sdpa(*wrong)
        self.assertEqual((fake_torch.calls, self.api.launches), ([], []))

    def test_a_thread_without_a_context_gets_one(self):
        self.sdpa.sdpa(*qkv(4, 8, 512, 64))
        self.api.context["set"] = None
        self.sdpa.sdpa(*qkv(4, 8, 512, 64))
        self.assertEqual((len(self.api.launches), self.api.context["set"]), (2, 0x700))

    def test_a_launch_that_fails_raises(self):
        self.api.refuse["cuLaunchKernelEx"] = 719
        with self.assertRaisesRegex(RuntimeError, r"cannot launch fa_tensor_maps: what the driver says \(719\)"):
            self.sdpa.sdpa(*qkv(4, 8, 512, 64))

    def test_a_kernel_that_cannot_be_loaded_is_left_out_aloud(self):
        self.api.refuse["cuFuncSetAttribute"] = 1
        with self.assertWarnsRegex(RuntimeWarning, "fa_tensor_maps is left out: fatune: cannot prepare tensor_maps"):
            self.left_to_pytorch(*qkv(4, 8, 512, 64))
        self.assertEqual(self.api.mode, 0)
        self.left_to_pytorch(*qkv(4, 8, 512, 64))  # and once only

    def test_machine_code_that_was_changed_is_refused(self):
        text = pathlib.Path(FILE).read_text(encoding="utf-8")
        changed = f"{FILE}.changed.py"
        pathlib.Path(changed).write_text(text.replace(self.sdpa.info()[0]["cubin"]["sha256"], "0" * 64),
                                         encoding="utf-8")
        sys.modules["torch"].ops.fatune.__dict__.clear()
        self.sdpa, _ = load(changed)
        self.sdpa.ctypes.CDLL = lambda name: self.api
        with self.assertWarnsRegex(RuntimeWarning, "machine code of tensor_maps.cubin in .*changed.py was changed"):
            self.left_to_pytorch(*qkv(4, 8, 512, 64))
        with self.assertRaisesRegex(RuntimeError, "export it again"):
            self.sdpa.load(0)

    def test_while_compiling_the_operator_is_called(self):
        fake_torch.state.compiling = True
        seen = []
        sys.modules["torch"].ops.fatune.sdpa = lambda *arguments: seen.append(arguments)
        tensors = qkv(4, 8, 512, 64)
        self.sdpa.sdpa(*tensors, is_causal=True)
        mask = torch.Tensor((2, 1, 1, 512), torch.bool)
        self.sdpa.sdpa(*tensors, mask)
        self.assertEqual(seen, [(*tensors, True, None, False, False), (*tensors, False, None, False, False, None, mask)])
        self.left_to_pytorch(*tensors, dropout_p=0.5)

    def test_a_tracer_sees_the_operator_where_there_is_a_kernel(self):
        seen = []
        sys.modules["torch"].ops.fatune._sdpa_kernel = lambda *arguments: seen.append(arguments)
        for kind in (torch.FakeTensor, torch.Tensor):  # a tracer's own tensors, and a mode that sees operators
            fake_torch.state.modes = int(kind is torch.Tensor)
            tensors = [kind((4, 8, 512, 64)) for _ in range(3)]
            self.sdpa.sdpa(*tensors)
            self.assertEqual(seen.pop(), (*tensors, False, None, False, False, None, None))
            self.left_to_pytorch(*(kind((4, 8, 500, 64)) for _ in range(3)))
            self.left_to_pytorch(*(kind((4, 8, 512, 64), stride=(262144, 512, 1, 8)) for _ in range(3)))
        batch, few = torch.Symbol(), torch.Symbol()

        def symbolic(batch, heads=8):
            return torch.FakeTensor((batch, heads, torch.Symbol(), 64), stride=(1,) * 4, address=0)

        self.sdpa.sdpa(*(symbolic(batch) for _ in range(3)))
        self.sdpa.sdpa(symbolic(batch), symbolic(batch, few), symbolic(batch, few), enable_gqa=True)
        self.assertEqual(len(seen), 2)
        for q, k, gqa in ((symbolic(1), symbolic(batch), False), (symbolic(torch.Symbol()), symbolic(batch), False),
                          (symbolic(batch, 1), symbolic(batch), False),
                          (symbolic(batch), symbolic(batch, few), False)):  # the result may be larger than the query
            self.left_to_pytorch(q, k, k, enable_gqa=gqa)
        self.left_to_pytorch(symbolic(batch), symbolic(batch, few), symbolic(batch), enable_gqa=True)
        other = type("DTensor", (torch.Tensor,), {})
        self.left_to_pytorch(*(other((4, 8, 512, 64)) for _ in range(3)))
        self.assertEqual(self.api.launches, [])

    def test_the_operator_chooses_when_it_runs(self):
        out = self.sdpa._run_kernel(*packed(4, 8, 512, 64))
        self.assertEqual((self.one_launch().entry, out.stride()), ("packed_maps", (262144, 64, 512, 1)))

    def test_the_operator_leaves_its_result_in_the_querys_order_whatever_computed_it(self):
        tensors = [rows_first(tensor) for tensor in qkv(3, 5, 40, 64)]  # no kernel's problem
        for made in (torch.Tensor((3, 5, 40, 64)), rows_first(torch.Tensor((3, 5, 40, 64)))):
            self.sdpa._pytorch = lambda *_, **__: made
            out = self.sdpa._run_kernel(*tensors)
            self.assertEqual(out.stride(), (12800, 64, 320, 1))
            self.assertEqual(out.history, [made] if made.is_contiguous() else [])

    def test_it_can_stand_in_pytorchs_place(self):
        functional = sys.modules["torch.nn.functional"]
        original = functional.scaled_dot_product_attention
        functional.scaled_dot_product_attention = self.sdpa.sdpa
        try:
            self.left_to_pytorch(*qkv(4, 8, 500, 64))
            second, _ = load()
            functional.scaled_dot_product_attention = second.sdpa
            self.left_to_pytorch(*qkv(4, 8, 501, 64))
            mask = fake_torch.CausalBias("lower", 500, 512)
            self.assertEqual(self.sdpa.sdpa(*qkv(4, 8, 500, 64), mask), ("the mask's", second.sdpa))
        finally:
            functional.scaled_dot_product_attention = original

    def test_what_stands_in_pytorchs_place_while_calls_are_recorded_is_not_kept(self):
        functional = sys.modules["torch.nn.functional"]
        recorder = unittest.mock.Mock(_recorded=functional.scaled_dot_product_attention)
        sys.modules["torch"].ops.fatune.__dict__.clear()
        with unittest.mock.patch.object(functional, "scaled_dot_product_attention", recorder):
            self.sdpa, _ = load()
        self.left_to_pytorch(*qkv(4, 8, 500, 64))
        recorder.assert_not_called()

    def test_two_files_share_their_kernels_and_the_operators(self):
        second, _ = load()
        self.assertEqual(len(second.info()), 7)
        self.assertEqual(second._own, self.sdpa._own)
        second.sdpa(*qkv(4, 8, 512, 64))
        self.sdpa.sdpa(*qkv(4, 8, 512, 64))
        self.assertEqual((len(self.api.launches), len(self.api.loaded)), (2, 1))

    def test_an_unverified_kernel_is_announced(self):
        self.assertEqual([text for text in self.said if "never verified" not in text], [])
        self.assertEqual([kernel["kernel"] for kernel in self.sdpa.info() if not kernel["verified"]], ["fa_two_stages"])
        self.assertEqual(len(self.said), 1)

    def test_load_takes_what_the_device_can_run(self):
        self.assertEqual(self.sdpa.load(0), 7)
        fake_torch.state.capability = (8, 6)
        self.assertEqual(self.sdpa.load("cuda:1"), 0)

    def test_decisions_are_not_kept_without_end(self):
        for seq in range(1, 1100):
            self.left_to_pytorch(*qkv(1, 1, seq, 8))
        self.assertLessEqual(len(self.sdpa._service.table.routes), 1024)
        self.left_to_pytorch(*qkv(1, 1, 1100, 8), dropout_p=0.5)
        rows = {(row["call"], row["reason"]): row["calls"] for row in self.sdpa.counts()}
        self.assertEqual(sum(rows.values()), 1100)
        self.assertEqual(rows["1,1,1,8 f16", "no kernel is for these sizes, type and mask"], 1)
        self.assertEqual(rows["calls of further kinds", "no kernel is for these sizes, type and mask"], 75)
        self.assertEqual(rows["calls of further kinds", "it has dropout"], 1)

    def test_a_kind_of_call_is_looked_up_once(self):
        with unittest.mock.patch.object(self.sdpa, "_choose", wraps=self.sdpa._choose) as choose, \
                unittest.mock.patch.object(self.sdpa, "_counter", wraps=self.sdpa._counter) as counter:
            for options in ({}, {"is_causal": True}, {"scale": 0.5}, {"dropout_p": 0.5}, {"attn_mask": torch.Tensor((9, 9))}):
                for _ in range(3):
                    self.left_to_pytorch(*qkv(1, 1, 9, 8), **options)
                    self.left_to_pytorch(*qkv(1, 1, 9, 8, torch.bfloat16), **options)
        self.assertEqual((choose.call_count, counter.call_count), (6, 10))
        self.assertEqual([row["calls"] for row in self.sdpa.counts()], [3] * 10)

    def test_a_tensor_on_another_device_is_never_taken_for_one_that_was_seen(self):
        self.sdpa.sdpa(*qkv(4, 8, 512, 64))
        q, k, v = qkv(4, 8, 512, 64)
        for place in ("cuda:1", "cpu"):
            other = qkv(4, 8, 512, 64, device=place)[0]
            for wrong in ((other, k, v), (q, other, v), (q, k, other)):
                with self.assertRaisesRegex(ValueError, f"is on {place}|query on {place}"):
                    self.sdpa.sdpa(*wrong)
        self.assertEqual(len(self.api.launches), 1)


if __name__ == "__main__":
    unittest.main()
