// layer_test.cpp: Checks the products around attention, the number of layers timed, and graph
// edges.
#include "worker/timing/layer.hpp"

#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "support/fake_driver.hpp"

namespace fatune {
namespace {

/// Returns the edges of a plain launch, a dependent and a plain one.
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

constexpr std::int64_t kL2 = std::int64_t{50} << 20;

Attention laid(const char* shape, const char* layout) {
  Attention problem = *parse_shape(shape);
  problem.layouts = *parse_layouts(layout);
  return problem;
}

TEST_CASE("one product leaves packed q, k and v, one each the others") {
  Attention problem = laid("4,8,512,64", "packed");
  problem.kv_heads = 2;
  const auto packed = layer_plan(problem, kL2);
  REQUIRE(packed);
  REQUIRE(packed->before.size() == 1);
  CHECK(packed->before[0].to == "qkv");
  CHECK(packed->before[0].plan.m == 2048);
  CHECK(packed->before[0].plan.n == (8 + 2 * 2) * 64);
  CHECK(packed->before[0].plan.k == 512);
  CHECK(packed->after.from == "out");
  CHECK(packed->after.plan.n == 512);

  const auto apart = layer_plan(laid("4,8,512,64", "bshd"), kL2);
  REQUIRE(apart);
  REQUIRE(apart->before.size() == 3);
  CHECK(apart->before[2].to == "v");
  CHECK(apart->before[2].plan.operands[2].pitch == 512);
}

TEST_CASE("products of v and out have the columns of v") {
  const auto plan = layer_plan(with_value_dim(laid("4,8,512,64", "bshd"), 32), kL2);
  REQUIRE(plan);
  REQUIRE(plan->before.size() == 3);
  CHECK(plan->before[1].plan.n == 512);
  CHECK(plan->before[2].plan.n == 256);
  CHECK(plan->before[2].plan.operands[2].pitch == 256);
  CHECK(plan->after.plan.k == 256);
  CHECK(plan->after.plan.n == 512);
}

TEST_CASE("weights give scores of the usual size, whatever the softmax scale") {
  Attention problem = laid("4,8,512,64", "bshd");
  CHECK(layer_plan(problem, kL2)->before[0].factor == 1);
  problem.scale = 1;
  const auto apart = layer_plan(problem, kL2);
  REQUIRE(apart);
  CHECK(apart->before[0].factor == 0.125);
  CHECK(apart->before[1].factor == 1);
  problem.layouts = *parse_layouts("packed");
  CHECK(layer_plan(problem, kL2)->before[0].factor == std::sqrt(0.125));
}

TEST_CASE("no product leaves an optional tensor") {
  Attention problem = laid("4,8,512,64", "bshd");
  problem.bias = *parse_bias("1,1,1,512");
  problem.mask = *parse_mask("padding:512,3");
  problem.alibi = problem.sink = true;
  const auto plan = layer_plan(problem, kL2);
  REQUIRE(plan);
  REQUIRE(plan->before.size() == 3);
  CHECK(plan->before[2].to == "v");
}

TEST_CASE("rows with gaps are written where they lie, heads apart as dense memory") {
  const auto gaps = layer_plan(laid("2,8,128,64", "bshd,q=66560:64:520"), kL2);
  REQUIRE(gaps);
  CHECK(gaps->before[0].plan.operands[2].pitch == 520);
  const auto heads = layer_plan(laid("2,8,128,64", "bhsd"), kL2);
  REQUIRE(heads);
  CHECK(heads->before[0].plan.operands[2].pitch == 512);
  // With one token any stride of rows is as good: a product's is at least as long as its rows.
  Attention token = laid("1,32,1,128", "bhsd");
  token.seq_kv = 4096;
  const auto one = layer_plan(token, kL2);
  REQUIRE(one);
  for (const LayerProduct& each : one->before) CHECK(each.plan.operands[2].pitch >= each.plan.n);
  CHECK(one->after.plan.operands[0].pitch == 4096);
}

TEST_CASE("the weights of all layers are twice the L2 cache, but long ones are few") {
  const auto mission = layer_plan(laid("4,8,512,64", "packed"), kL2);
  REQUIRE(mission);
  CHECK(mission->layers == 50);  // of 2 MiB
  const auto stress = layer_plan(laid("2,16,8192,128", "packed"), kL2);
  REQUIRE(stress);
  CHECK(stress->layers == 4);  // of 32 MiB
  const auto longer = layer_plan(laid("2,16,16384,128", "packed"), kL2);
  REQUIRE(longer);
  CHECK(longer->layers == 3);  // 4.4e12 FLOPs each
  Attention decoding = laid("16,32,1,128", "bshd");
  decoding.kv_heads = 8;
  decoding.seq_kv = 4096;
  const auto cached = layer_plan(decoding, kL2);
  REQUIRE(cached);
  CHECK(cached->cached_keys);
  REQUIRE(cached->before.size() == 1);
  CHECK(cached->before[0].to == "q");
  CHECK(cached->layers == 3);
  // Keys of 61 MB a layer do not count.
  Attention cross = laid("8,20,1,64", "bshd");
  cross.seq_kv = 1500;
  const auto narrow = layer_plan(cross, kL2);
  REQUIRE(narrow);
  CHECK(narrow->layers == 16);  // of 6.25 MiB
  // Keys of 550 MB a layer are as many as 8 GB hold.
  cross.seq_kv = 13'400;
  const auto wide = layer_plan(cross, kL2);
  REQUIRE(wide);
  CHECK(wide->layers == 14);
}

TEST_CASE("8-bit floats have no layer") {
  Attention problem = laid("4,8,512,64", "bhsd");
  problem.dtype = Dtype::kE4m3;
  CHECK_FALSE(layer_plan(problem, kL2));
}

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

}  // namespace
}  // namespace fatune
