"""kernelbot_submission_test.py FILE: Tests a KernelBot submission on stand-ins for PyTorch and CUDA.

Checks the kernel and the arguments of each launch. tests/python/export_test.py makes FILE: kernels
plain and staged."""
import importlib.util
import sys
import unittest

import fake_cuda
import fake_torch

fake_torch.install()
import torch  # noqa: E402, the stand-in

FILE = sys.argv.pop(1)


def qkv(batch, heads, kv_heads, queries, keys, dtype=torch.float16, **options):
    key = (batch, kv_heads, keys, 64)
    return tuple(torch.Tensor(shape, dtype, **options) for shape in ((batch, heads, queries, 64), key, key))


class Calls(unittest.TestCase):
    def setUp(self):
        fake_torch.state.__dict__.update(capability=(9, 0), name="NVIDIA H200")
        spec = importlib.util.spec_from_file_location("submission", FILE)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.api = fake_cuda.Api(mode_of_loading=0)
        self.module.ctypes.CDLL = lambda name: self.api
        self.call = self.module.custom_kernel

    def test_a_launch_has_the_facts_and_the_addresses(self):
        q, k, v = qkv(2, 8, 2, 100, 300)
        out = self.call((q, k, v))
        launch, = self.api.launches
        self.assertEqual((launch.entry, launch.grid, launch.block), ("plain", (2, 4, 8), (256, 1, 1)))
        self.assertIsNone(launch.stream)
        self.assertEqual(launch.arguments, [q.address, k.address, v.address, out.address])
        self.assertEqual((out.shape, out.dtype), (q.shape, torch.float16))
        self.assertEqual(self.api.loaded, [b"machine code of plain"])

    def test_stages_share_their_scratch_and_maps_have_strides(self):
        q, k, v = qkv(1, 4, 4, 16, 512)
        out = self.call((q, k, v))
        first, second = self.api.launches
        self.assertEqual((first.entry, second.entry), ("staged", "combine"))
        self.assertEqual(first.arguments[:3], [q.address, k.address, v.address])
        partial = first.arguments[3]
        self.assertEqual(second.arguments, [partial, partial + 1024, out.address, 0])
        self.assertEqual((first.attributes, first.shared_bytes), ({6: (1, 0, 0)}, 1024))
        self.assertEqual(self.api.maps[0]["strides"], (128, 2048, 8192))

    def test_launches_are_kept_by_their_addresses(self):
        tensors = qkv(1, 4, 4, 16, 512)
        free = fake_torch.state.next_address
        for _ in range(3):
            fake_torch.state.next_address = free
            self.call(tensors)
        self.assertEqual((len(self.api.maps), len(self.api.loaded), len(self.api.launches)), (1, 1, 6))
        others = qkv(1, 4, 4, 16, 512)
        self.call(others)
        self.assertEqual(self.api.launches[-2].arguments[1], others[1].address)

    def test_inputs_are_read_contiguous(self):
        q, k, v = qkv(2, 8, 2, 100, 300)
        q = torch.Tensor(q.shape, q.dtype, stride=(51200, 64, 512, 1))
        self.call((q, k, v))
        self.assertNotEqual(self.api.launches[0].arguments[0], q.address)

    def test_what_no_kernel_is_for_is_refused(self):
        for tensors in (qkv(2, 8, 2, 101, 300), qkv(2, 8, 2, 100, 300, torch.bfloat16),
                        qkv(2, 8, 2, 100, 300, device="cpu")):
            with self.assertRaises(ValueError):
                self.call(tensors)
        fake_torch.state.capability = (10, 0)
        with self.assertRaisesRegex(RuntimeError, "runs on NVIDIA H200"):
            self.call(qkv(2, 8, 2, 100, 300))
        self.assertEqual(self.api.launches, [])

    def test_a_failed_launch_is_said(self):
        self.api.refuse["cuLaunchKernelEx"] = 719
        with self.assertRaisesRegex(RuntimeError, "cannot launch fa_plain: what the driver says .719."):
            self.call(qkv(2, 8, 2, 100, 300))


if __name__ == "__main__":
    unittest.main()
