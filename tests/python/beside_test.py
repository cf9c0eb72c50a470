#!/usr/bin/env python3
"""beside_test.py: Tests installed kernels together with other features of PyTorch.

Features: learned masks, nested tensors, dynamic sizes, FLOP counters. Kernels are functions on the CPU.
"""
import sys
import unittest

import fatune
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

import fakes
import models
from install_test import Recorded, attend, full_mask, qkv

FLOPS = 4 * models.BATCH * models.HEADS * models.TOKENS**2 * models.DIM


class LearnedMaskTest(Recorded):
    def setUp(self):
        super().setUp()
        self.mask = full_mask(torch.float16).requires_grad_()

    def test_its_gradient_is_pytorchs(self):
        inputs = qkv()
        theirs, = torch.autograd.grad(attend(*inputs, attn_mask=self.mask).float().square().sum(), self.mask)
        for assume in (None, "captured"):
            with self.subTest(assume), self.install(assume_masks=assume) as installed:
                out = attend(*inputs, attn_mask=self.mask)
                ours, = torch.autograd.grad(out.float().square().sum(), self.mask)
                self.assertTrue(torch.equal(ours, theirs))
                self.assertEqual([row.reason for row in installed.why().rows], ["gradients of its mask are wanted"])

    def test_it_says_what_it_says_where_no_gradient_is_wanted(self):
        with self.install(), torch.no_grad():
            attend(*qkv(), attn_mask=self.mask)
        self.assertEqual(fakes.Route.launched, 1)

    def test_it_is_captured_as_a_bias(self):
        call, = fatune.capture(lambda: attend(*qkv(), attn_mask=self.mask)).calls
        self.assertEqual((call["mask"]["kind"], call["problem"]), ("bias", None))


class NestedTest(Recorded):
    def test_nested_tensors_are_passed_on_as_they_are(self):
        nested = torch.nested.nested_tensor([torch.randn(2, rows, 8) for rows in (4, 5)], layout=torch.strided)
        with self.install() as installed:
            for options in ({}, {"dropout_p": 0.1}):
                self.assertTrue(attend(nested, nested, nested, **options).is_nested)
            self.assertEqual(installed.why().rows, [])


class SymbolicSizesTest(Recorded):
    def test_queries_of_a_batch_that_is_broadcast_are_pytorchs(self):
        def step(*inputs):
            out = attend(*inputs)
            return out, out.new_empty(out.shape)  # as it is known while this is traced

        one, *keys = qkv()[0][:1].contiguous(), *qkv()[1:]
        theirs = attend(one, *keys)
        with self.install(), torch.no_grad():
            compiled = torch.compile(step, backend="aot_eager", fullgraph=True, dynamic=True)
            ours, known = compiled(one, *keys)
            torch.testing.assert_close(ours, theirs)
            self.assertEqual((known.shape, fakes.Route.launched), (theirs.shape, 0))
            compiled(*qkv())
            self.assertEqual(fakes.Route.launched, 1)


class FlopsTest(Recorded):
    def test_calls_that_kernels_serve_are_counted(self):
        with self.install(), torch.no_grad(), FlopCounterMode(display=False) as counter:
            attend(*qkv())
        self.assertEqual((fakes.Route.launched, counter.get_total_flops()), (1, FLOPS))


if __name__ == "__main__":
    sys.exit(unittest.main())
