// runtime_sizes_test.cpp: Checks that machine code knows no run-time size, and who may use one.
#include "model/kernel/runtime_sizes.hpp"

#include <algorithm>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "model/kernel/candidate.hpp"
#include "model/space/lint.hpp"
#include "support/custom_operation.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

DeviceLimits hopper() { return *typical_limits(Arch{90, 'a'}); }

/// The operation of the tests with ROWS at run time, after one change to its kernel.
Result<std::vector<KernelRef>> load_runtime(std::string_view from = "", std::string_view to = "") {
  return load_custom(
      changed(kCustomReference, "\"meaning\": \"rows of x and y\"", "\"runtime\": true"),
      changed(kCustomKernel, from, to));
}

std::string runtime_error_of(std::string_view from, std::string_view to) {
  const auto kernels = load_runtime(from, to);
  return kernels ? "" : kernels.error().message;
}

Candidate with_rows(const KernelRef& kernel, std::int64_t rows) {
  return {kernel, default_config(kernel->manifest), custom_test_problem(rows, 64)};
}

}  // namespace

TEST_CASE("a run-time size is no macro, but an argument, and sizes the grid") {
  const auto kernels = load_runtime(R"("sums"])", R"("sums", "i64 ROWS", "i32 ROWS - 1"])");
  REQUIRE(kernels);
  const KernelRef& kernel = kernels->front();
  CHECK(runtime_sizes(*kernel->manifest.operation) == std::vector<std::string>{"ROWS"});
  const auto few = with_rows(kernel, 3), many = with_rows(kernel, 512);
  CHECK(macros_of(few, hopper()) == macros_of(many, hopper()));
  CHECK(candidate_id(few, "") != candidate_id(many, ""));
  const auto plan = launch_plan(many, hopper());
  REQUIRE(plan);
  CHECK(plan->stages[0].grid[0] == 512);
  CHECK(plan->stages[0].arguments[4] == "i64 512");
  CHECK(plan->stages[0].arguments[5] == "i32 511");
}

TEST_CASE("a run-time size may pass 2^31, another may not") {
  const auto kernels = load_runtime();
  REQUIRE(kernels);
  const DeclaredOperation& operation = *kernels->front()->manifest.operation->declared();
  const std::int64_t large = (std::int64_t{1} << 31) + 5;
  const auto problem = operation.problem({{"ROWS", large}, {"COLUMNS", 1}}, Dtype::kF16);
  REQUIRE(problem);
  CHECK(problem->custom()->sizes[0].value == large);
  const auto wide = operation.problem({{"ROWS", 1}, {"COLUMNS", large}}, Dtype::kF16);
  REQUIRE_FALSE(wide);
  CHECK(wide.error().message.find("COLUMNS is 2147483653, but a size without \"runtime\"") !=
        std::string::npos);
}

TEST_CASE("what is fixed before the launch cannot depend on a run-time size") {
  const std::pair<const char*, const char*> cases[] = {
      {R"("block": ["THREADS", "1", "1"])", R"x("block": ["min(ROWS, THREADS)", "1", "1"])x"},
      {R"("arguments")", R"("shared_bytes": "4 * ROWS", "arguments")"},
      {R"("arguments")", R"("static_shared_bytes": "ROWS", "arguments")"},
      {R"("arguments")", R"("when": "ROWS > 1", "arguments")"},
      {R"("scale_main")", R"("scale_main<ROWS>")"},
      {"max(64, COLUMNS)", "max(64, ROWS)"},
      {R"("COLUMNS <= 4096")", R"("ROWS <= 4096")"},
      {R"("default": 2,)", R"("default": 2, "when": "ROWS > 4",)"}};
  for (const auto& [from, to] : cases) {
    INFO(to);
    const std::string error = runtime_error_of(from, to);
    CHECK(error.starts_with("scale.json: field '"));
    CHECK(error.find("depends on a run-time size (ROWS), but must not. Only grid, arguments by "
                     "value and scratch bytes may") != std::string::npos);
  }
}

TEST_CASE("expressions of run-time sizes are such that C and Python can evaluate") {
  CHECK(runtime_error_of(R"("grid": ["ROWS")", R"("grid": ["ROWS % 2 + 1")")
            .find("has '%' beside the run-time size ROWS") != std::string::npos);
  CHECK(runtime_error_of(R"("grid": ["ROWS")", R"x("grid": ["log2(ROWS)")x").find("has 'log2'") !=
        std::string::npos);
  const auto kernels = load_runtime(R"("constraints")",
                                    R"x("terms": [{"name": "TILE", "value": "COLUMNS > 32 ? 4 : 2"},
                                {"name": "TILES", "value": "ceil_div(ROWS, TILE)"}],
                      "constraints")x");
  REQUIRE(kernels);
  const Manifest& manifest = kernels->front()->manifest;
  const Candidate candidate = with_rows(kernels->front(), 512);
  const Scope scope = scope_of(manifest, candidate.config, candidate.problem, hopper());
  CHECK(*runtime_text(manifest, "TILES*min(ROWS,THREADS)", scope) ==
        "(ceil_div(ROWS, 4)) * min(ROWS, 64)");
  CHECK(runtime_text(manifest, "TILE * COLUMNS", scope)->empty());
}

TEST_CASE("an input of a run-time size fills no constant") {
  const auto kernels = load_runtime(R"("stages")", R"("constants": {"c_x": "x"}, "stages")");
  REQUIRE_FALSE(kernels);
  CHECK(kernels.error().message.find("'ROWS' has a run-time size") != std::string::npos);
}

TEST_CASE("the lint tells a run-time size that is used as a macro from a parameter") {
  const auto kernels = load_runtime();
  REQUIRE(kernels);
  const auto findings = [&](const char* text) {
    Kernel kernel = *kernels->front();
    kernel.source.text = text;
    return lint_runtime_sizes(kernel);
  };
  CHECK(findings("// ROWS\n__global__ void k(float* x, const long long ROWS) { x[ROWS] = 0; }")
            .empty());
  const auto undeclared = findings("__global__ void k(float* x) { x[ROWS] = 0; }");
  REQUIRE(undeclared.size() == 1);
  CHECK(undeclared[0].where == "scale.cu");
  CHECK(undeclared[0].message.starts_with("ROWS would be an undeclared identifier"));
  const auto branch = findings("__global__ void k(int ROWS) {\n#if ROWS > 4\n#endif\n}");
  REQUIRE(branch.size() == 1);
  CHECK(branch[0].message.starts_with("ROWS is unknown to #if"));
  CHECK(findings("#define TWICE(ROWS) (2 * ROWS)").empty());
  CHECK(findings("__device__ int rows() { return ROWS; }").size() == 1);
}
