// custom_operation.hpp: Provides a small custom operation, y = x * w by rows, for tests to modify.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/kernel/operation.hpp"

namespace fatune::test {

inline constexpr std::string_view kCustomReference = R"json({
  "schema": "fatune.kernel/1",
  "name": "scale_reference",
  "summary": "one thread an element",
  "source": "scale_reference.cu",
  "role": "reference",
  "operation": {
    "name": "scale",
    "summary": "y = x * w, w by columns",
    "sizes": [
      {"name": "ROWS", "meaning": "rows of x and y"},
      {"name": "COLUMNS", "meaning": "elements of a row"}
    ],
    "tensors": [
      {"name": "x", "shape": ["ROWS", "COLUMNS"], "fill": "normal"},
      {"name": "w", "type": "f32", "shape": ["COLUMNS"], "fill": "uniform", "scale": 0.5, "offset": 1},
      {"name": "y", "shape": ["ROWS", "COLUMNS"], "output": true},
      {"name": "sums", "type": "f32", "shape": ["ROWS"], "output": true}
    ],
    "typical": [{"ROWS": 512, "COLUMNS": 64}],
    "edges": [{"ROWS": 1, "COLUMNS": 1}, {"ROWS": 3, "COLUMNS": 17}],
    "hard_inputs": ["outliers", "zeros"],
    "least": {"flops": "2 * ROWS * COLUMNS"}
  },
  "supports": {"dtypes": ["f16", "bf16"]},
  "stages": [
    {"entry": "scale_reference", "grid": ["ROWS", "1", "1"], "block": ["32", "1", "1"], "arguments": ["x", "w", "y", "sums"]}
  ]
})json";

inline constexpr std::string_view kCustomKernel = R"json({
  "schema": "fatune.kernel/1",
  "name": "scale",
  "summary": "a block a row",
  "source": "scale.cu",
  "operation": "scale",
  "supports": {"dtypes": ["f16", "bf16"], "rules": [{"require": "COLUMNS <= 4096", "why": "a row stays in registers"}]},
  "parameters": [
    {"name": "THREADS", "values": [32, 64, 128, 256], "default": 64, "meaning": "threads of a block"},
    {"name": "UNROLL", "values": [1, 2, 4, 8], "default": 2, "meaning": "elements of a thread"}
  ],
  "constraints": [
    {"prunes": true, "require": "THREADS * UNROLL <= max(64, COLUMNS)", "why": "threads without work"}
  ],
  "stages": [
    {"entry": "scale_main", "grid": ["ROWS", "1", "1"], "block": ["THREADS", "1", "1"], "arguments": ["x", "w", "y", "sums"]}
  ]
})json";

/// Returns the text with the first `from` replaced.
inline std::string changed(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const std::size_t at = result.find(from);
  FATUNE_CHECK(at != std::string::npos, "a test must replace text that is there");
  return result.replace(at, from.size(), to);
}

inline Result<std::vector<KernelRef>> load_custom(std::string_view reference = kCustomReference,
                                                  std::string_view kernel = kCustomKernel) {
  const SourceTree tree = {
      {"scale.cu", "extern \"C\" __global__ void scale_main() { THREADS; UNROLL; }\n"},
      {"scale.json", std::string(kernel)},
      {"scale_reference.cu", "extern \"C\" __global__ void scale_reference() {}\n"},
      {"scale_reference.json", std::string(reference)}};
  return load_kernels(tree);
}

/// Returns the candidate and the reference.
inline std::vector<KernelRef> custom_kernels() {
  const auto kernels = load_custom();
  FATUNE_CHECK(kernels && kernels->size() == 2, "the operation of the tests is well formed");
  return *kernels;
}

inline Problem custom_test_problem(std::int64_t rows = 512, std::int64_t columns = 64) {
  const OperationRef operation = custom_kernels().front()->manifest.operation;
  const auto problem =
      operation->declared()->problem({{"ROWS", rows}, {"COLUMNS", columns}}, Dtype::kF16);
  FATUNE_CHECK(static_cast<bool>(problem), "sizes of the tests make a problem");
  return *problem;
}

}  // namespace fatune::test
