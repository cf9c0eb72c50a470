// reference_test.cpp - checks which references are attention, and what is said of the others.
#include "model/interchange/reference.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

const std::string kReferenceImports =
    "import torch, math\n"
    "import torch.nn.functional as F\n"
    "from torch.nn.attention.bias import causal_lower_right\n";

struct ReferenceSizes {
  std::vector<std::int64_t> q{2, 8, 128, 64}, k{2, 8, 128, 64};
};

Result<Problem> read_reference(const std::string& body, const ReferenceSizes& sizes = {}) {
  const auto module = parse_python(kReferenceImports + "def run(q, k, v, s):\n" + body, "r");
  REQUIRE(module);
  const PyStatement* run = find_block(*module, PyStatement::Kind::kFunction, "run");
  REQUIRE(run != nullptr);
  return attention_of(*run,
                      {{"q", true, sizes.q, "float16"},
                       {"k", true, sizes.k, "float16"},
                       {"v", true, sizes.k, "float16"},
                       {"s", false, {}, "", 0.125}},
                      *module, "r");
}

/// "2,8,128,64 f16 causal", or the error.
std::string problem_in(const std::string& body, const ReferenceSizes& sizes = {}) {
  const auto found = read_reference(body, sizes);
  return found ? describe(*found) : found.error().message;
}

}  // namespace

TEST_CASE("a call of scaled_dot_product_attention is the problem of its arguments") {
  const std::string call = "    return F.scaled_dot_product_attention";
  CHECK(problem_in(call + "(q, k, v)\n") == "2,8,128,64 f16");
  CHECK(problem_in(call + "(q, k, v, None, 0.0, True)\n") == "2,8,128,64 f16 causal");
  CHECK(problem_in(call + "(query=q, key=k, value=v, is_causal=True, scale=s)\n") ==
        "2,8,128,64 f16 causal");
  CHECK(problem_in(call + "(q, k, v, scale=1 / math.sqrt(q.size(-1)))\n") == "2,8,128,64 f16");
  CHECK(problem_in(call + "(q, k, v, scale=q.shape[-1] ** -0.5)\n") == "2,8,128,64 f16");
  CHECK(problem_in(call + "(q.float(), k.to(torch.float32), v.double()).to(q.dtype)\n") ==
        "2,8,128,64 f16");
  CHECK(problem_in(
            "    b, h, n, d = q.shape\n    return {'out': F.scaled_dot_product_attention(q, k, "
            "v, scale=d ** -0.5)}\n") == "2,8,128,64 f16");
  CHECK(problem_in(call + "(q, k, v, enable_gqa=True)\n", {{2, 8, 1, 64}, {2, 2, 99, 64}}) ==
        "2,8(kv 2),1x99,64 f16");
  CHECK(problem_in(call + "(q, k, v, attn_mask=causal_lower_right(16, 99))\n",
                   {{2, 8, 16, 64}, {2, 8, 99, 64}}) == "2,8,16x99,64 f16 causal");
}

TEST_CASE("swapped dimensions are layouts") {
  const std::string swapped =
      "    q, k, v = q.transpose(1, 2), k.transpose(-2, -3), v.permute(0, 2, 1, 3)\n";
  const ReferenceSizes sizes{{2, 128, 8, 64}, {2, 128, 8, 64}};
  CHECK(problem_in(swapped + "    out = F.scaled_dot_product_attention(q, k, v)\n"
                             "    return out.transpose(1, 2).contiguous()\n",
                   sizes) == "2,8,128,64 f16 bshd");
  CHECK(problem_in(swapped + "    return F.scaled_dot_product_attention(q, k, v)\n", sizes) ==
        "2,8,128,64 f16 bshd,out=bhsd");
  const auto moved =
      read_reference("    return F.scaled_dot_product_attention(q.permute(1, 2, 0, 3), k, v)\n",
                     {{128, 2, 8, 64}, {2, 8, 128, 64}});
  REQUIRE(moved);
  CHECK(moved->layouts.q == Layout{LayoutKind::kStrides, {512, 64, 1024}});
  const auto out =
      read_reference("    return F.scaled_dot_product_attention(q, k, v).permute(2, 0, 1, 3)\n");
  REQUIRE(out);
  CHECK(out->layouts.out == Layout{LayoutKind::kStrides, {512, 64, 1024}});
}

TEST_CASE("a scale is read; that of the head dimension is none of its own") {
  const std::string call = "    return F.scaled_dot_product_attention(q, k, v";
  const auto own = read_reference(call + ", scale=1.0)\n");
  REQUIRE(own);
  CHECK(own->scale == 1.0);
  const auto usual = read_reference(call + ", scale=0.125)\n");
  REQUIRE(usual);
  CHECK_FALSE(usual->scale);
}

TEST_CASE("what is not attention of ours is refused with its line and reason") {
  const std::string call = "    return F.scaled_dot_product_attention";
  const std::string at = "r: line 5: ";
  CHECK(problem_in(call + "(q, k, v, scale=q)\n") == at + "scale= is no number");
  CHECK(problem_in(call + "(q, k, v, scale=-1.0)\n").starts_with(at));
  CHECK(problem_in(call + "(q, k, v, dropout_p=0.1)\n") == at + "dropout_p= is not 0");
  CHECK(problem_in(call + "(q, k, v, attn_mask=q)\n") ==
        at + "attn_mask= is given: no mask but causal is known");
  CHECK(problem_in(call + "(q, k, v, is_causal=True)\n", {{2, 8, 1, 64}, {2, 8, 99, 64}})
            .starts_with(at + "is_causal=True aligns the mask with the first key"));
  CHECK(problem_in(call + "(q, k, v, None, causal_lower_right(1, 1))\n") ==
        at + "dropout_p= is not 0");
  CHECK(problem_in(call + "(q, k, v, attn_mask=causal_lower_right(1, 1))\n") ==
        at + "causal_lower_right() has other lengths than q and k");
  CHECK(problem_in(call + "(q, k, k)\n") == at + "query, key and value are not three tensors");
  CHECK(problem_in(call + "(q, k, v)\n", {{2, 8, 128, 64}, {2, 2, 128, 64}}) ==
        at + "k and v have other heads than q, without enable_gqa=True");
  CHECK(problem_in(call + "(q, k, v)\n", {{2, 8, 128}, {2, 8, 128}}) ==
        at + "q has 3 dimensions, not 4");
  CHECK(problem_in(call + "(q, k, v)\n", {{2, 8, 128, 64}, {2, 8, 128, 32}}) ==
        at + "q, k and v differ in batch or head_dim, or k and v in their sizes");
  CHECK(problem_in(call + "(q * s, k, v)\n") ==
        at + "a tensor is part of '*': more than attention is computed");
  CHECK(problem_in(call + "(torch.relu(q), k, v)\n") ==
        at + "torch.relu() is called: more than attention is computed");
  CHECK(problem_in(call + "(q.transpose(1, 2).contiguous(), k, v)\n") ==
        at + ".contiguous() copies an argument; a kernel reads it where it lies");
  CHECK(problem_in(call + "(q.to(torch.int8), k, v)\n") ==
        at + ".to(torch.int8) is not understood");
  CHECK(problem_in(call + "(torch.rand(2, 8, 128, 64), k, v)\n") ==
        at + "attention is of a tensor that is made here");
  CHECK(problem_in(call + "(q.transpose(2, 3), k.transpose(2, 3), v.transpose(2, 3))\n") ==
        at + "q's columns do not lie side by side");
  CHECK(problem_in("    if s:\n        q = k\n    return q\n") ==
        at + "'if s :' is not understood");
  CHECK(problem_in("    return q\n") == at + "what is returned is not attention's output alone");
  CHECK(problem_in("    x = 1\n") == at + "nothing is returned behind it");
  CHECK(problem_in("    return helper(q)\n") == at + "'helper' is not known here");
  CHECK(problem_in(call + "(q, k, v)\n", {{0, 8, 128, 64}, {0, 8, 128, 64}}) ==
        at + "batch must be at least 1, but is 0");
}

TEST_CASE("values that would grow without end are refused") {
  std::string body = "    a = [1, 2]\n";
  for (int i = 0; i < 60; ++i) body += "    a = [a, a]\n";
  CHECK(problem_in(body + "    return a\n").find("lists nest too deep") != std::string::npos);
  CHECK(problem_in("    a = 2 ** 62 * 4\n    return a\n").find("not attention") !=
        std::string::npos);
  CHECK(problem_in("    a = 1 // 0\n    return a\n") == "r: line 5: '//' has no value");
}
