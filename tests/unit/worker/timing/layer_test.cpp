// layer_test.cpp - whether the order of replays matters, beyond their noise; the edges of a graph.
#include "worker/timing/layer.hpp"

#include <catch2/catch_test_macros.hpp>

#include "support/fake_driver.hpp"

using namespace fatune;

namespace {

/// About `us`, within half a per cent.
std::vector<double> replays(double us) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) times.push_back(us * (1 + 0.001 * (i % 5)));
  return times;
}

/// Of a plain launch, a dependent and a plain one.
Result<std::optional<gpu::GraphEdges>> edges_of_three(test::FakeDriver& driver) {
  gpu::use_driver(driver.symbols());
  driver.define("nothing", std::function([](void*) {}));
  FATUNE_TRY(const gpu::Context context, gpu::make_context(0));
  FATUNE_TRY(const gpu::Stream stream, gpu::make_stream(context));
  FATUNE_TRY(const gpu::Module module, gpu::load_module(context,
                                                        "\x7f"
                                                        "ELF"));
  FATUNE_TRY(const CUfunction function, gpu::find_function(module, "nothing"));
  const auto work = [&]() -> Status {
    void* argument = nullptr;
    void* arguments[] = {&argument};
    for (const bool dependent : {false, true, false}) {
      const gpu::LaunchShape shape{{1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, dependent};
      FATUNE_TRY_STATUS(gpu::launch(function, shape, arguments, stream.raw()));
    }
    return {};
  };
  FATUNE_TRY(const gpu::Graph graph, gpu::capture(stream.raw(), work));
  return gpu::edges_of(graph);
}

}  // namespace

TEST_CASE("the edges of a graph are read back, where the driver tells them") {
  test::FakeDriver driver;
  SECTION("as it does since CUDA 12.3") {
    const auto edges = edges_of_three(driver);
    REQUIRE((edges && *edges));
    CHECK((*edges)->all == 2);
    CHECK((*edges)->programmatic == 1);
  }
  SECTION("not before") {
    driver.missing = {"cuGraphGetEdges_v2"};
    const auto edges = edges_of_three(driver);
    REQUIRE(edges);
    CHECK_FALSE(*edges);
  }
  gpu::use_driver({});
}

TEST_CASE("replays that take as long in turn as in a row are no finding") {
  CHECK(order_finding(replays(20), replays(20), 42).empty());
  CHECK(order_finding(replays(20.05), replays(20), 42).empty());
}

TEST_CASE("replays that another's make slower, or faster, are a finding") {
  CHECK(order_finding(replays(21), replays(20), 42) ==
        "order: its layers take 1.048 to 1.052 times as long in turn with another's as in a row");
  CHECK_FALSE(order_finding(replays(19), replays(20), 42).empty());
}
