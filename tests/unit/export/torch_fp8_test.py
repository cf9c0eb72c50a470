"""torch_fp8_test.py FILE: Tests a file of fp8 kernels on stand-ins for PyTorch and the CUDA driver.

Checks the kernel and the arguments of each launch, refusals, and calls left to PyTorch.
write_torch_test.cpp makes FILE: kernels factors, quantizes, smooths and below, a causal kernel."""
import importlib.util
import sys
import unittest

import fake_cuda
import fake_torch

fake_torch.install()
import torch  # noqa: E402, the stand-in

FILE = sys.argv.pop(1)
SHAPES = ((2, 4, 128, 64), (2, 2, 256, 64), (2, 2, 256, 64))


def load():
    spec = importlib.util.spec_from_file_location("sdpa", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def qkv(dtype):
    return [torch.Tensor(shape, dtype) for shape in SHAPES]


def factors(**options):
    return {f"descale_{name}": torch.Tensor((2, 2), torch.float32, **options) for name in "qkv"}


class Fp8(unittest.TestCase):
    def setUp(self):
        fake_torch.state.grad, fake_torch.state.autocast = False, None
        sys.modules["torch"].ops.fatune.__dict__.clear()
        fake_torch.calls.clear()
        self.api = fake_cuda.Api()
        self.module = load()
        self.module.ctypes.CDLL = lambda name: self.api

    def call(self, tensors, **options):
        return self.module.sdpa_fp8(*tensors, enable_gqa=True, scale=0.125, **options)

    def test_given_factors_are_arguments(self):
        tensors, given = qkv(torch.float8_e4m3fn), factors()
        out = self.call(tensors, **given)
        self.assertEqual((out.dtype, out.shape), (torch.bfloat16, SHAPES[0]))
        launch, = self.api.launches
        self.assertEqual(launch.arguments, [each.address for each in (out, *given.values(), *tensors)])
        self.assertEqual([each["strides"] for each in self.api.maps],
                         [(64, 8192, 32768), (64, 16384, 32768), (64, 16384, 32768)])

    def test_16_bits_are_quantized(self):
        tensors = qkv(torch.bfloat16)
        out = self.call(tensors)
        first, second = self.api.launches
        self.assertEqual((first.entry, second.entry), ("quantizes", "attend"))
        self.assertEqual(first.arguments[:3], [each.address for each in tensors])
        self.assertEqual(second.arguments, [out.address, first.arguments[3]])
        self.assertEqual(self.api.maps[0]["strides"], (64, 8192, 32768))

    def test_smooth_k_chooses_between_those_that_quantize(self):
        for smooth_k, entry in ((True, "smooths"), (False, "quantizes"), (None, "quantizes")):
            self.call(qkv(torch.bfloat16), smooth_k=smooth_k)
            self.assertEqual(self.api.launches[-2].entry, entry)
        with self.assertRaisesRegex(ValueError, "smooth_k is for tensors that are quantized here"):
            self.call(qkv(torch.float8_e4m3fn), **factors(), smooth_k=False)

    def test_masks_as_objects(self):
        tensors = qkv(torch.bfloat16)
        self.call(tensors, attn_mask=fake_torch.CausalBias("lower", 128, 256))
        self.assertEqual(self.api.launches[0].entry, "below")
        out, function = self.call(tensors, attn_mask=fake_torch.CausalBias("upper", 128, 256))
        self.assertEqual((out, function), ("the mask's", fake_torch.scaled_dot_product_attention))
        self.assertEqual(len(self.api.launches), 2)

    def test_autocast_converts_what_is_no_fp8(self):
        fake_torch.state.autocast = torch.bfloat16
        q, k, v = qkv(torch.bfloat16)
        wide = torch.Tensor(k.shape, torch.float32)
        self.call([q, wide, v])
        self.assertEqual(self.api.launches[0].entry, "quantizes")
        self.assertNotIn(wide.address, self.api.launches[0].arguments)
        fp8 = qkv(torch.float8_e4m3fn)
        self.call(fp8, **factors())
        self.assertEqual(self.api.launches[-1].arguments[-3:], [each.address for each in fp8])
        with self.assertRaisesRegex(ValueError, "convert them to one type"):
            self.call([q, fp8[1], v])

    def test_sdpa_has_none_of_them(self):
        tensors = qkv(torch.bfloat16)
        self.module.sdpa(*tensors, scale=0.125, enable_gqa=True)
        self.assertEqual((len(self.api.launches), len(fake_torch.calls)), (0, 1))

    def test_keys_expanded_for_all_heads_are_one_head_only_without_factors(self):
        expanded = {"stride": (16384, 0, 64, 1)}
        for dtype, given in ((torch.bfloat16, {}), (torch.float8_e4m3fn, {
                f"descale_{name}": torch.Tensor((4, 2), torch.float32) for name in "qkv"})):
            tensors = [torch.Tensor((4, 2, 128, 64), dtype),
                       *(torch.Tensor((4, 2, 256, 64), dtype, **expanded) for _ in range(2))]
            if given:  # one a head that is told
                with self.assertRaisesRegex(ValueError, "no kernel is for these sizes"):
                    self.call(tensors, **given)
            else:
                self.call(tensors)
            self.assertEqual(len(self.api.launches), 2)

    def test_a_kernel_that_cannot_be_loaded_is_left_out_aloud(self):
        self.api.refuse["cuModuleLoadData"] = 1
        with self.assertWarnsRegex(RuntimeWarning, "fa_quantizes is left out: fatune: cannot load the machine code"):
            self.assertEqual(self.call(qkv(torch.bfloat16)), "PyTorch's")
        self.assertEqual(self.call(qkv(torch.bfloat16)), "PyTorch's")  # and once only
        with self.assertWarns(RuntimeWarning), self.assertRaisesRegex(ValueError, "its kernel could not be loaded"):
            self.call(qkv(torch.float8_e4m3fn), **factors())
        self.assertEqual((len(self.api.loaded), self.api.launches), (2, []))

    def test_without_a_kernel(self):
        self.module.sdpa_fp8(*qkv(torch.float16), scale=0.125, enable_gqa=True)
        self.assertEqual((len(self.api.launches), len(fake_torch.calls)), (0, 1))
        with self.assertRaisesRegex(ValueError, "no kernel is for"):
            self.call(qkv(torch.float8_e5m2), **factors())

    def test_refused(self):
        fp8, wide = qkv(torch.float8_e4m3fn), qkv(torch.bfloat16)
        given = factors()
        for tensors, options, why in (
                (fp8, {}, "descale_q is missing"),
                (fp8, {**given, "descale_v": None}, "descale_v is missing"),
                (fp8, {**given, "descale_k": torch.Tensor((2, 4), torch.float32)}, "descale_k must be"),
                (fp8, {**given, "descale_k": torch.Tensor((2, 2), torch.float16)}, "descale_k must be"),
                (fp8, {**given, "descale_k": torch.Tensor((2, 2), torch.float32, "cpu")}, "descale_k must be"),
                (fp8, {**given, "descale_v": 1.0}, "descale_v must be"),
                (wide, {"attn_mask": torch.Tensor((128, 256))}, "must be a causal mask"),
                (wide, {"attn_mask": fake_torch.CausalBias("lower", 128, 128)}, "is for 128 queries and 128 keys"),
                (wide, given, "descale_q is for fp8")):
            with self.assertRaisesRegex(ValueError, why):
                self.call(tensors, **options)
        wide[0].requires_grad = True
        fake_torch.state.grad = True
        with self.assertRaisesRegex(ValueError, "gradients"):
            self.call(wide)


if __name__ == "__main__":
    unittest.main()
