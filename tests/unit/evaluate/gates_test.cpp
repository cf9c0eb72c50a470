// gates_test.cpp - what two runs over poisoned outputs tell.
#include "evaluate/gates.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

const Problem kProblem{
    .batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 4, .seq_kv = 4, .head_dim = 8};

std::vector<std::byte> output(std::byte value) {
  return std::vector<std::byte>(2 * 2 * 4 * 8, value);
}

}  // namespace

TEST_CASE("equal outputs say nothing") {
  CHECK(poison_finding(kProblem, output(std::byte{1}), 0xff, output(std::byte{1}), 0x5a).empty());
}

TEST_CASE("elements that kept both patterns were never written") {
  auto first = output(std::byte{1}), second = output(std::byte{1});
  const std::size_t at = 2 * ((4 + 3) * 8 + 5);  // head 1, row 3, column 5
  for (const std::size_t byte : {at, at + 1}) {
    first[byte] = std::byte{0xff};
    second[byte] = std::byte{0x5a};
  }
  CHECK(poison_finding(kProblem, first, 0xff, second, 0x5a) ==
        "poison: 1 of 64 outputs were never written, first at batch 0, head 1, row 3, column 5");
}

TEST_CASE("other differences are a result that does not repeat") {
  auto first = output(std::byte{1});
  first[2 * 9] = std::byte{2};
  CHECK(
      poison_finding(kProblem, first, 0xff, output(std::byte{1}), 0x5a) ==
      "repeat: 1 of 64 outputs differ between two runs, first at batch 0, head 0, row 1, column 1");
}

TEST_CASE("a hang names the limit") {
  const Failure failure = hang_failure(std::chrono::milliseconds(2000));
  CHECK(failure.outcome == Outcome::kTimeout);
  CHECK(failure.fatal);
  CHECK(failure.reason.find("2.0 s") != std::string::npos);
}
