// tensor_test.cpp: Checks sizes, element positions and JSON of declared tensors.
#include "model/problem/tensor.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"

using namespace fatune;

namespace {

OperationPlan sample() {
  OperationPlan plan;
  plan.tensors = {
      {"x", Dtype::kF16, {2, 3, 4}, false, {}},
      {"w", std::nullopt, {4}, false, {Fill::Kind::kUniform, 0.5, 1}},
      {"one", Dtype::kE4m3, {4}, false, {Fill::Kind::kConstant, 1, 1}},
      {"y", Dtype::kF16, {2, 3, 4}, true, {}},
  };
  return plan;
}

}  // namespace

TEST_CASE("elements, bytes and places follow from shape and type") {
  const OperationPlan plan = sample();
  CHECK(plan.tensors[0].elements() == 24);
  CHECK(plan.tensors[0].bytes() == 48);
  CHECK(plan.tensors[0].columns() == 4);
  CHECK(plan.tensors[1].bytes() == 16);
  CHECK(plan.tensors[2].bytes() == 4);
  CHECK(describe_place(plan.tensors[0], 0) == "x[0, 0, 0]");
  CHECK(describe_place(plan.tensors[0], 23) == "x[1, 2, 3]");
  CHECK(describe_place(plan.tensors[1], 2) == "w[2]");
}

TEST_CASE("inputs and outputs keep their order") {
  const OperationPlan plan = sample();
  REQUIRE(plan.inputs().size() == 3);
  CHECK(plan.inputs()[1].name == "w");
  REQUIRE(plan.outputs().size() == 1);
  CHECK(plan.outputs()[0].name == "y");
}

TEST_CASE("a plan survives the journey to a worker") {
  OperationPlan plan = sample();
  auto read = read_value<OperationPlan>(*parse_json(dump(to_json(plan)), "test"), "test");
  REQUIRE(read);
  CHECK(*read == plan);
  plan.tolerance = DeclaredTolerance{1e-3, 1e-2, "because"};
  read = read_value<OperationPlan>(*parse_json(dump(to_json(plan)), "test"), "test");
  REQUIRE(read);
  CHECK(*read == plan);
}

TEST_CASE("a plan that is cut or wrong is refused") {
  Json json = to_json(sample());
  json["tensors"][0].erase("shape");
  CHECK_FALSE(read_value<OperationPlan>(json, "test"));
  json = to_json(sample());
  json["tensors"][1]["fill"]["kind"] = "odd";
  CHECK_FALSE(read_value<OperationPlan>(json, "test"));
  json = to_json(sample());
  json["tensors"][1]["shape"] = {0};
  CHECK_FALSE(read_value<OperationPlan>(json, "test"));
}
