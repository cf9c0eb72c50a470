// kernelbench_test.cpp - checks problem files of KernelBench, and what is refused of them.
#include "model/interchange/kernelbench.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/text.hpp"

using namespace fatune;

namespace {

const std::string kKernelBenchFile = R"(import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

N = 512

def get_inputs():
    q = torch.rand(2, 8, N, 64, device='cuda', dtype=torch.float16)
    k = torch.rand(2, 8, N, 64).half()
    return [q, k, torch.randn((2, 8, N, 64)).cuda().to(torch.float16)]

def get_init_inputs():
    return []
)";

std::string kernelbench_label(const std::string& text, const std::string& dtype = "") {
  const auto suite = parse_kernelbench(text, dtype, "level1/3_A.py");
  return suite ? label(suite->problems.front()) : suite.error().message;
}

std::string changed_label(const std::string& from, const std::string& to) {
  return kernelbench_label(replaced(kKernelBenchFile, from, to));
}

}  // namespace

TEST_CASE("a file of KernelBench is a problem") {
  CHECK(kernelbench_label(kKernelBenchFile) == "3_A 2,8,512,64 f16");
  CHECK(kernelbench_label(kKernelBenchFile, "bf16") == "3_A 2,8,512,64 bf16");
  CHECK(changed_label("torch.rand(2, 8, N, 64).half()",
                      "torch.rand(2, N, 8, 64).half().transpose(1, 2)") ==
        "3_A 2,8,512,64 f16 k=bshd");
  CHECK(changed_label("N = 512", "heads = 4\nN = heads * 2 ** 7 + 1") == "3_A 2,8,513,64 f16");
}

TEST_CASE("what is not attention is refused") {
  CHECK(changed_label(", dtype=torch.float16", "").find("say --dtype f16 or bf16") !=
        std::string::npos);
  CHECK(changed_label("        super().__init__()", "        self.w = nn.Linear(8, 8)") ==
        "level1/3_A.py: line 6: Model keeps weights or settings: more than attention is computed");
  CHECK(changed_label("return torch.nn", "q = self.w(q)\n        return torch.nn")
            .find("line 9: 'self' is not known here") != std::string::npos);
  CHECK(changed_label("class Model", "class Other") ==
        "level1/3_A.py: has no class Model: it is no problem of KernelBench");
  CHECK(changed_label("def get_inputs", "def inputs") ==
        "level1/3_A.py: has no get_inputs(): it is no problem of KernelBench");
  CHECK(changed_label("return [q, k, ", "return [q, k]; [").find("is not understood") !=
        std::string::npos);
  CHECK(changed_label("(self, q, k, v)", "(self, q, k)") ==
        "level1/3_A.py: forward() has 2 parameters, but 3 arguments are given");
  CHECK(changed_label("N = 512", "N = torch.load('x')").find("line 11") != std::string::npos);
  CHECK(kernelbench_label("\xff\xfe"
                          "class Model") ==
        "level1/3_A.py: has no class Model: it is no problem of KernelBench");
}
