// service_test.cpp: Checks which requests idle compilers take and which wait.
#include <catch2/catch_test_macros.hpp>

#include "support/evaluate_fakes.hpp"
#include "tune/evaluate/pipeline.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

struct Ahead {
  KernelRef kernel = tiled_kernel("k");
  FakeCompiler compiler;
  CompileAhead ahead{compiler, *typical_limits(Arch{90, 'a'})};

  Ahead() {
    compiler.delay = [](const CompileRequest&) { return 10; };
  }
  Candidate candidate(int tile) const { return make_candidate(kernel, tile); }
  std::optional<Ticket> claim(int tile) { return ahead.claim(candidate_key(candidate(tile))); }
  void want(std::initializer_list<int> tiles) {
    std::vector<Candidate> likely;
    for (const int tile : tiles) likely.push_back(candidate(tile));
    ahead.want(std::move(likely));
  }
  void begin(std::size_t keep_free) { REQUIRE(ahead.begin(keep_free)); }
  std::vector<int> begun() const {
    std::vector<int> tiles;
    for (const CompileRequest& request : compiler.requests) tiles.push_back(tile_of(request));
    return tiles;
  }
};

}  // namespace

TEST_CASE("idle compilers take the likeliest, and some stay free") {
  Ahead bench;
  bench.want({3, 1, 2, 4});
  bench.begin(4);
  CHECK(bench.begun().empty());
  bench.begin(2);
  CHECK(bench.begun() == std::vector<int>{3, 1});
  CHECK(bench.compiler.dispatched == 2);
  bench.begin(2);
  CHECK(bench.begun() == std::vector<int>{3, 1});
  bench.begin(0);
  CHECK(bench.begun() == std::vector<int>{3, 1, 2, 4});
  CHECK(bench.ahead.begun() == 4);
}

TEST_CASE("a new list takes the place of what has not begun") {
  Ahead bench;
  bench.want({1, 2, 3});
  bench.begin(3);
  bench.want({4, 1, 5});
  bench.begin(0);
  CHECK(bench.begun() == std::vector<int>{1, 4, 5});
  bench.want({});
  bench.begin(0);
  CHECK(bench.begun().size() == 3);
}

TEST_CASE("what is claimed is the caller's, and no longer wanted") {
  Ahead bench;
  bench.want({1, 2, 3});
  bench.begin(3);
  const auto ticket = bench.claim(1);
  REQUIRE(ticket);
  CHECK_FALSE(bench.compiler.ready(*ticket));
  CHECK_FALSE(bench.claim(1));
  CHECK_FALSE(bench.claim(2));
  bench.begin(0);
  CHECK(bench.begun() == std::vector<int>{1, 3});
  CHECK(bench.ahead.claimed() == 1);
  bench.ahead.clear();
  CHECK(bench.compiler.cancelled == std::vector<int>{3});
  CHECK(bench.ahead.begun() == 0);
}
