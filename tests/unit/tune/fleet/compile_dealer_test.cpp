// compile_dealer_test.cpp - which rank gets which order, and what becomes of those of a lost one.
#include "tune/fleet/compile_dealer.hpp"

#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "support/captured_stderr.hpp"

namespace fatune {
namespace {

struct Dealt {
  std::vector<std::pair<int, RankMessage>> told;
  CompileDealer dealer{[this](int rank, const RankMessage& message) -> Status {
    told.emplace_back(rank, message);
    return {};
  }};

  void ask(int from, std::int64_t number) {
    REQUIRE(dealer.ask(from, {number, {"key " + std::to_string(number), {}}}));
  }
  /// The last order to the rank, or none.
  std::optional<CompileMessage> order(int rank) const {
    std::optional<CompileMessage> last;
    for (const auto& [to, message] : told) {
      const auto* compile = std::get_if<CompileMessage>(&message);
      if (to == rank && compile != nullptr) last = *compile;
    }
    return last;
  }
  std::vector<CompiledMessage> answers(int rank) const {
    std::vector<CompiledMessage> all;
    for (const auto& [to, message] : told) {
      const auto* compiled = std::get_if<CompiledMessage>(&message);
      if (to == rank && compiled != nullptr) all.push_back(*compiled);
    }
    return all;
  }
  void compiled(int by, std::int64_t number) {
    REQUIRE(dealer.answer(by, {.number = number, .code = "aa"}));
  }
};

TEST_CASE("orders go to the rank with most room, and wait when there is none") {
  Dealt dealt;
  dealt.dealer.add(1, 1);
  dealt.dealer.add(2, 2);
  CHECK(dealt.dealer.jobs() == 3);
  for (std::int64_t number = 1; number <= 4; ++number) dealt.ask(5, number);
  CHECK(dealt.told.size() == 3);
  CHECK(dealt.dealer.busy() == 3);
  const auto first = dealt.order(1);
  REQUIRE(first);
  dealt.compiled(1, first->number);
  REQUIRE(dealt.answers(5).size() == 1);
  CHECK(dealt.answers(5).front().number == 1);
  CHECK(dealt.order(1)->order.key == "key 4");
  CHECK(dealt.dealer.compiled() == 1);
}

TEST_CASE("what a lost rank has goes to another, and its late answer counts for nothing") {
  Dealt dealt;
  dealt.dealer.add(1, 1);
  dealt.ask(0, 7);
  const std::int64_t lost = dealt.order(1)->number;
  dealt.dealer.add(2, 1);
  REQUIRE(dealt.dealer.lose(1));
  REQUIRE(dealt.order(2));
  CHECK(dealt.order(2)->order.key == "key 7");
  dealt.compiled(1, lost);
  CHECK(dealt.answers(0).empty());
  dealt.compiled(2, dealt.order(2)->number);
  CHECK(dealt.answers(0).size() == 1);
  dealt.dealer.find_again(1);
  CHECK(dealt.dealer.jobs() == 2);
}

TEST_CASE("what two ranks were lost with is refused, and so is all when nobody is left") {
  Dealt dealt;
  for (int rank = 1; rank <= 3; ++rank) dealt.dealer.add(rank, 1);
  dealt.ask(0, 7);
  REQUIRE(dealt.dealer.lose(1));
  REQUIRE(dealt.dealer.lose(2));
  REQUIRE(dealt.answers(0).size() == 1);
  CHECK(dealt.answers(0).front().refused == "ranks were lost that had it");
  CHECK_FALSE(dealt.order(3));
  REQUIRE(dealt.dealer.lose(3));
  dealt.ask(0, 8);
  REQUIRE(dealt.answers(0).size() == 2);
  CHECK(dealt.answers(0).back().refused == "no rank is left that compiles");
}

TEST_CASE("a rank that refuses again and again gets no more, and the others do") {
  Dealt dealt;
  dealt.dealer.add(1, 1);
  dealt.dealer.add(2, 1);
  const auto refuse = [&] {
    REQUIRE(dealt.dealer.answer(1, {.number = dealt.order(1)->number, .refused = "other headers"}));
  };
  dealt.ask(5, 1);
  dealt.ask(5, 2);
  refuse();
  dealt.ask(5, 3);
  dealt.compiled(2, dealt.order(2)->number);
  refuse();
  const std::string said = test::captured_stderr([&] {
    for (std::int64_t number = 4; dealt.dealer.jobs() == 2; ++number) {
      dealt.ask(5, number);
      if (dealt.dealer.busy() == 2) refuse();
    }
  });
  CHECK(said.find("rank 1 compiles no more: other headers") != std::string::npos);
  CHECK(dealt.dealer.jobs() == 1);
  const auto last = dealt.order(1)->number;
  dealt.ask(5, 9);
  CHECK(dealt.order(1)->number == last);
}

TEST_CASE("what nobody waits for is taken from its rank, or out of the line") {
  Dealt dealt;
  dealt.dealer.add(1, 1);
  for (std::int64_t number = 1; number <= 3; ++number) dealt.ask(0, number);
  const std::int64_t first = dealt.order(1)->number;
  REQUIRE(dealt.dealer.withdraw(0, {2}));
  REQUIRE(dealt.dealer.withdraw(0, {1}));
  CHECK(std::get<WithdrawMessage>(dealt.told.at(1).second).number == first);
  CHECK(dealt.order(1)->order.key == "key 3");
}

}  // namespace
}  // namespace fatune
