// cudnn_graph_test.cpp: Checks a problem's operations, tensors and refusals on a fake cuDNN.
#include <cmath>
#include <limits>
#include <map>

#include <catch2/catch_test_macros.hpp>

#include "fake_cudnn.hpp"
#include "support/problem_text.hpp"
#include "worker/baselines/cudnn_library.hpp"

using namespace fatune;

namespace {

using Values = std::vector<std::int64_t>;

Values values(const test::FakeDescriptor& descriptor, CudnnName attribute) {
  return descriptor.attributes.at(attribute.value).values;
}

int type_of(const test::FakeDescriptor& descriptor, CudnnName attribute) {
  return descriptor.attributes.at(attribute.value).type;
}

float scalar(const CudnnGraph& graph, std::int64_t id) {
  for (const CudnnScalar& each : graph.scalars) {
    if (each.id != id) continue;
    if (const auto* whole = std::get_if<std::int32_t>(&each.value))
      return static_cast<float>(*whole);
    return std::get<float>(each.value);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

std::string refusal(const Attention& problem, std::size_t version) {
  const Status status = check_cudnn_problem(problem, version);
  return status ? "" : status.error().message;
}

Attention causal(std::int64_t seq_q, std::int64_t seq_kv) {
  return {.batch = 2,
          .heads = 4,
          .kv_heads = 4,
          .seq_q = seq_q,
          .seq_kv = seq_kv,
          .head_dim = 64,
          .dtype = Dtype::kF16,
          .mask = Mask::kCausal};
}

}  // namespace

TEST_CASE("attention is written as cuDNN's fused engines know it") {
  test::FakeCudnn cudnn;
  int handle = 0;
  const Attention problem = test::problem("2,8(kv 2),512x1024,128 bf16");
  const auto graph = build_cudnn_graph(cudnn.functions(), &handle, problem);
  REQUIRE(graph);
  CHECK(cudnn.operations(graph->graph.raw()) ==
        std::vector<std::string>{"matmul 1 2 -> 100", "mul 100 5 -> 101", "row_max 101 -> 102",
                                 "sub 101 102 -> 103", "exp 103 -> 104", "row_sum 104 -> 105",
                                 "log 105 -> 106", "add 102 106 -> 107", "div 104 105 -> 108",
                                 "matmul 108 3 -> 4"});

  const auto& q = cudnn.tensor(cudnn_id::kQ);
  CHECK(values(q, cudnn_attribute::kTensorDimensions) == Values{2, 8, 512, 128});
  CHECK(values(q, cudnn_attribute::kTensorStrides) == Values{8 * 512 * 128, 512 * 128, 128, 1});
  CHECK(values(q, cudnn_attribute::kTensorDataType) == Values{9});
  CHECK(type_of(q, cudnn_attribute::kTensorDataType) == 1);
  CHECK(type_of(q, cudnn_attribute::kTensorDimensions) == 3);
  CHECK_FALSE(q.attributes.contains(cudnn_attribute::kTensorIsVirtual.value));

  // K comes transposed and with its own number of heads.
  const auto& k = cudnn.tensor(cudnn_id::kK);
  CHECK(values(k, cudnn_attribute::kTensorDimensions) == Values{2, 2, 128, 1024});
  CHECK(values(k, cudnn_attribute::kTensorStrides) == Values{2 * 1024 * 128, 1024 * 128, 1, 128});
  CHECK(values(cudnn.tensor(cudnn_id::kV), cudnn_attribute::kTensorDimensions) ==
        Values{2, 2, 1024, 128});

  // Scores in fp32, probabilities in the element type; neither touches memory.
  const auto& scores = cudnn.tensor(100);
  CHECK(values(scores, cudnn_attribute::kTensorDimensions) == Values{2, 8, 512, 1024});
  CHECK(values(scores, cudnn_attribute::kTensorDataType) == Values{0});
  CHECK(values(scores, cudnn_attribute::kTensorIsVirtual) == Values{1});
  CHECK(values(cudnn.tensor(102), cudnn_attribute::kTensorDimensions) == Values{2, 8, 512, 1});
  CHECK(values(cudnn.tensor(108), cudnn_attribute::kTensorDataType) == Values{9});

  const auto& scale = cudnn.tensor(cudnn_id::kScale);
  CHECK(values(scale, cudnn_attribute::kTensorIsByValue) == Values{1});
  CHECK(values(scale, cudnn_attribute::kTensorDimensions) == Values{1, 1, 1, 1});
  CHECK(scalar(*graph, cudnn_id::kScale) == 1.0F / std::sqrt(128.0F));
  CHECK(graph->scalars.size() == 1);
}

TEST_CASE("fp8 has a factor a tensor, a scale of P and the largest magnitudes") {
  test::FakeCudnn cudnn;
  int handle = 0;
  Attention problem{2, 8, 8, 512, 512, 128, Dtype::kE4m3};
  problem.out_dtype = Dtype::kBf16;
  problem.layouts = *parse_layouts("out=1048576:256:2048");
  const auto graph = build_cudnn_graph(cudnn.functions(), &handle, problem);
  REQUIRE(graph);
  CHECK(cudnn.operations(graph->graph.raw()) ==
        std::vector<std::string>{"matmul 1 2 -> 100", "mul 100 5 -> 101", "mul 101 9 -> 102",
                                 "mul 102 10 -> 103", "row_max 103 -> 104", "sub 103 104 -> 105",
                                 "exp 105 -> 106", "row_sum 106 -> 107", "log 107 -> 108",
                                 "add 104 108 -> 109", "div 106 107 -> 110", "amax 110 -> 15",
                                 "mul 110 12 -> 111", "matmul 111 3 -> 112", "mul 112 13 -> 113",
                                 "mul 113 11 -> 114", "mul 114 14 -> 4", "amax 114 -> 16"});
  CHECK(values(cudnn.tensor(cudnn_id::kQ), cudnn_attribute::kTensorDataType) == Values{12});
  CHECK(values(cudnn.tensor(110), cudnn_attribute::kTensorDataType) == Values{0});
  CHECK(values(cudnn.tensor(111), cudnn_attribute::kTensorDataType) == Values{12});
  CHECK(values(cudnn.tensor(cudnn_id::kOut), cudnn_attribute::kTensorDataType) == Values{12});
  CHECK(values(cudnn.tensor(cudnn_id::kOut), cudnn_attribute::kTensorStrides) ==
        Values{8 * 512 * 128, 512 * 128, 128, 1});
  const auto& factor = cudnn.tensor(cudnn_id::kQDescale);
  CHECK(values(factor, cudnn_attribute::kTensorDimensions) == Values{1, 1, 1, 1});
  CHECK_FALSE(factor.attributes.contains(cudnn_attribute::kTensorIsByValue.value));
  CHECK_FALSE(factor.attributes.contains(cudnn_attribute::kTensorIsVirtual.value));

  std::map<std::int64_t, float> numbers;
  for (const CudnnDeviceScalar& each : graph->device_scalars) numbers[each.id] = each.value;
  CHECK(numbers == std::map<std::int64_t, float>{{cudnn_id::kPScale, 256.0F},
                                                 {cudnn_id::kPDescale, 1 / 256.0F},
                                                 {cudnn_id::kOutScale, 1.0F},
                                                 {cudnn_id::kPLargest, 0.0F},
                                                 {cudnn_id::kOutLargest, 0.0F}});

  problem.dtype = Dtype::kE5m2;
  REQUIRE(build_cudnn_graph(cudnn.functions(), &handle, problem));
  CHECK(values(cudnn.tensor(cudnn_id::kQ), cudnn_attribute::kTensorDataType) == Values{13});
  CHECK(values(cudnn.tensor(cudnn_id::kOut), cudnn_attribute::kTensorDataType) == Values{13});
}

TEST_CASE("tensors have the strides of the problem's layout") {
  test::FakeCudnn cudnn;
  int handle = 0;
  Attention problem{2, 8, 2, 512, 512, 128};
  problem.layouts = *parse_layouts("packed,out=600000:70000:136");
  const auto graph = build_cudnn_graph(cudnn.functions(), &handle, problem);
  REQUIRE(graph);
  const auto strides = [&](std::int64_t id) {
    return values(cudnn.tensor(id), cudnn_attribute::kTensorStrides);
  };
  CHECK(strides(cudnn_id::kQ) == Values{512 * 12 * 128, 128, 12 * 128, 1});
  CHECK(strides(cudnn_id::kK) == Values{512 * 12 * 128, 128, 1, 12 * 128});
  CHECK(strides(cudnn_id::kV) == Values{512 * 12 * 128, 128, 12 * 128, 1});
  CHECK(strides(cudnn_id::kOut) == Values{600000, 70000, 136, 1});
  CHECK(strides(100) == Values{8 * 512 * 512, 512 * 512, 512, 1});
}

TEST_CASE("a causal mask compares row and column, shifted when lengths differ") {
  test::FakeCudnn cudnn;
  int handle = 0;
  const auto square = build_cudnn_graph(cudnn.functions(), &handle, causal(512, 512));
  REQUIRE(square);
  auto lines = cudnn.operations(square->graph.raw());
  CHECK(std::vector(lines.begin() + 2, lines.begin() + 7) ==
        std::vector<std::string>{"index2 101 -> 102", "index3 101 -> 103", "ge 102 103 -> 104",
                                 "select 101 6 104 -> 105", "row_max 105 -> 106"});
  CHECK(values(cudnn.tensor(102), cudnn_attribute::kTensorDataType) == Values{4});
  CHECK(values(cudnn.tensor(104), cudnn_attribute::kTensorDataType) == Values{11});
  CHECK(scalar(*square, cudnn_id::kMasked) == -std::numeric_limits<float>::infinity());

  const auto shifted = build_cudnn_graph(cudnn.functions(), &handle, causal(128, 512));
  REQUIRE(shifted);
  lines = cudnn.operations(shifted->graph.raw());
  CHECK(std::vector(lines.begin() + 4, lines.begin() + 8) ==
        std::vector<std::string>{"add 102 7 -> 104", "sub 104 8 -> 105", "ge 105 103 -> 106",
                                 "select 101 6 106 -> 107"});
  CHECK(scalar(*shifted, cudnn_id::kSeqKv) == 512);
  CHECK(scalar(*shifted, cudnn_id::kSeqQ) == 128);
  CHECK(values(cudnn.tensor(cudnn_id::kSeqQ), cudnn_attribute::kTensorDataType) == Values{4});

  // The last query sees every key.
  const auto decode = build_cudnn_graph(cudnn.functions(), &handle, causal(1, 512));
  REQUIRE(decode);
  CHECK(cudnn.operations(decode->graph.raw()).size() == 10);

  cudnn.version = 90800;
  const auto older = build_cudnn_graph(cudnn.functions(), &handle, causal(512, 512));
  REQUIRE(older);
  CHECK(scalar(*older, cudnn_id::kMasked) == std::numeric_limits<float>::lowest());
}

TEST_CASE("what cuDNN cannot do is refused with its reason") {
  Attention more = causal(512, 512);
  more.mask = *parse_mask("causal+padding:9");
  CHECK(refusal(more, 91900) ==
        "cudnn: --mask causal+padding:9 is not taken, only none and causal");
  more.sink = true;
  CHECK(refusal(more, 91900) == "cudnn: --sink is not taken");
  more.alibi = true;
  CHECK(refusal(more, 91900) == "cudnn: --alibi is not taken");
  CHECK(refusal(causal(512, 512), 91900).empty());
  CHECK(refusal(causal(100, 300), 91900).empty());
  CHECK(refusal(causal(512, 500), 91900) ==
        "cudnn: --causal with more queries than keys is not taken: the first 12 rows see no key, "
        "and cuDNN does not define their result");
  CHECK(refusal(causal(100, 300), 90500).ends_with("lengths must be multiples of 64"));
  CHECK(refusal(causal(128, 512), 90500).empty());

  Attention problem = causal(512, 512);
  problem.dtype = Dtype::kE4m3;
  problem.head_dim = 64;
  CHECK(refusal(problem, 91900) ==
        "cudnn: head_dim 64 is not taken in e4m3: its fp8 forward has 128");
  problem = causal(512, 512);
  problem.head_dim = 60;
  CHECK(refusal(problem, 91900) == "cudnn: head_dim 60 is not taken: it must be a multiple of 8");

  const Status old = check_cudnn_problem(causal(512, 512), 90000);
  REQUIRE_FALSE(old);
  CHECK(old.error().kind == ErrorKind::kEnvironment);
  CHECK(old.error().message == "cuDNN 9.0.0 is too old; fatune uses 9.1.0 or newer");
  CHECK(refusal(causal(512, 512), 91001).ends_with("9.10.2 corrects it"));
  CHECK(refusal(causal(512, 512), 91002).empty());
}

TEST_CASE("a graph that cuDNN refuses names descriptor, status and cuDNN's words") {
  test::FakeCudnn cudnn;
  cudnn.finalize_status[cudnn_descriptor::kMatmulOperation.value] = 3000;
  cudnn.last_error = "\n  no such product\nReason: shape\n";
  int handle = 0;
  {
    const auto graph = build_cudnn_graph(cudnn.functions(), &handle, causal(512, 512));
    REQUIRE_FALSE(graph);
    CHECK(graph.error().kind == ErrorKind::kDevice);
    CHECK(graph.error().message ==
          "while writing cuDNN's operation graph: cannot finalize OPERATION_MATMUL_DESCRIPTOR: "
          "CUDNN_STATUS_NOT_SUPPORTED (3000): no such product; Reason: shape");
  }
  CHECK(cudnn.count_alive() == 0);
}
