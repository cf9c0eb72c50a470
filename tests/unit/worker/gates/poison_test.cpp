// poison_test.cpp: Checks the conclusions from two runs over poisoned outputs.
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "worker/gates/findings.hpp"

using namespace fatune;

namespace {

const Attention kWithLse{
    .batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 4, .seq_kv = 4, .head_dim = 8, .lse = true};

constexpr std::size_t kOut = 0, kLse = 1;

std::vector<std::byte> output(std::byte value) {
  return std::vector<std::byte>(2 * 2 * 4 * 8, value);
}

std::string finding(std::size_t output, const std::vector<std::byte>& first,
                    const std::vector<std::byte>& second) {
  const TensorPlan tensor = attention_plan(kWithLse).outputs()[output];
  const auto found = poison_finding(tensor, {first, 0xff}, {second, 0x5a});
  return found ? describe(*found) : "";
}

}  // namespace

TEST_CASE("equal outputs say nothing") {
  CHECK(finding(kOut, output(std::byte{1}), output(std::byte{1})).empty());
}

TEST_CASE("elements that kept both patterns were never written") {
  auto first = output(std::byte{1}), second = output(std::byte{1});
  const std::size_t at = 2 * ((4 + 3) * 8 + 5);  // head 1, row 3, column 5
  for (const std::size_t byte : {at, at + 1}) {
    first[byte] = std::byte{0xff};
    second[byte] = std::byte{0x5a};
  }
  CHECK(finding(kOut, first, second) ==
        "poison: 1 of 64 outputs were never written, first at batch 0, head 1, row 3, column 5");
}

TEST_CASE("other differences are a result that does not repeat") {
  auto first = output(std::byte{1});
  first[2 * 9] = std::byte{2};
  CHECK(
      finding(kOut, first, output(std::byte{1})) ==
      "repeat: 1 of 64 outputs differ between two runs, first at batch 0, head 0, row 1, column 1");
}
