// sample_kernel.hpp: Provides a small valid manifest and kernel for tests to modify.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/kernel.hpp"
#include "model/space/lint.hpp"

namespace fatune {

inline constexpr std::string_view kSampleManifest = R"json({
  "schema": "fatune.kernel/1",
  "name": "sample",
  "summary": "a kernel for tests",
  "source": "sample.cu",
  "role": "attention",
  "tuned_by_default": true,
  "needs_toolkit_headers": false,
  "arch": {"min": 80},
  "supports": {
    "dtypes": ["f16", "bf16"],
    "masks": ["none", "causal"],
    "rules": [{"require": "HEAD_DIM % 16 == 0", "why": "one mma covers 16 columns"}]
  },
  "parameters": [
    {"name": "BLOCK_M", "values": [32, 64, 128], "default": 64, "meaning": "query rows"},
    {"name": "BLOCK_N", "values": [16, 32, 64], "default": 32, "meaning": "keys"},
    {"name": "REDUCE", "values": ["warp", "serial"], "default": "warp", "meaning": "who sums"},
    {"name": "EXP2", "values": [false, true], "default": true, "meaning": "exp2 or exp"}
  ],
  "constraints": [
    {"require": "BLOCK_M >= 2 * BLOCK_N", "why": "tiles are tall"},
    {"require": "REDUCE == REDUCE_WARP || BLOCK_N <= 32", "why": "one thread sums 32 at most"}
  ],
  "scratch": [{"name": "scores", "bytes": "4 * BATCH * HEADS * SEQ_Q * SEQ_KV"}],
  "tensor_maps": [
    {"name": "map_k", "tensor": "k", "box": ["HEAD_DIM", "BLOCK_N", "1", "1"], "swizzle": 128}
  ],
  "stages": [
    {
      "entry": "sample_main",
      "grid": ["ceil_div(SEQ_Q, BLOCK_M)", "BATCH * HEADS", "1"],
      "block": ["BLOCK_M", "1", "1"],
      "shared_bytes": "BLOCK_M * HEAD_DIM * DTYPE_BYTES",
      "static_shared_bytes": "256",
      "arguments": ["q", "k", "v", "out", "scores", "map_k"]
    }
  ]
})json";

inline constexpr std::string_view kSampleSource =
    "extern \"C\" __global__ void sample_main() {\n"
    "  __shared__ int fixed[64];\n"
    "  int a = BLOCK_M + BLOCK_N + REDUCE + EXP2;\n"
    "}\n";

/// Returns the sample manifest with the first `from` replaced.
inline std::string sample_with(std::string_view from, std::string_view to) {
  std::string text(kSampleManifest);
  const std::size_t at = text.find(from);
  FATUNE_CHECK(at != std::string::npos, "a test must replace text that is there");
  return text.replace(at, from.size(), to);
}

/// Returns the error of parsing the modified sample manifest; empty if there is none.
inline std::string sample_error(std::string_view from, std::string_view to) {
  const Result<Manifest> manifest = parse_manifest(sample_with(from, to), "sample.json");
  return manifest ? "" : manifest.error().message;
}

inline KernelRef sample_kernel(std::string_view manifest = kSampleManifest,
                               std::string_view source = kSampleSource) {
  const SourceTree tree = {{"sample.cu", std::string(source)},
                           {"sample.json", std::string(manifest)}};
  const Result<std::vector<KernelRef>> kernels = load_kernels(tree);
  FATUNE_CHECK(static_cast<bool>(kernels), kernels.error().message.c_str());
  return kernels->front();
}

/// Returns the project's kernels.
inline std::vector<KernelRef> project_kernels() {
  const auto tree = load_source_tree(std::filesystem::path(FATUNE_SOURCE_DIR) / "kernels");
  FATUNE_CHECK(static_cast<bool>(tree), "the project's kernels are there");
  auto kernels = load_kernels(*tree);
  FATUNE_CHECK(static_cast<bool>(kernels), kernels.error().message.c_str());
  return *std::move(kernels);
}

/// Returns the findings of the static lint, one per line.
inline std::vector<std::string> sample_findings(const std::string& manifest,
                                                std::string_view source = kSampleSource) {
  std::vector<std::string> lines;
  for (const LintFinding& finding : lint(*sample_kernel(manifest, source))) {
    lines.push_back(std::string(name(finding.severity)) + ": " + finding.where + ": " +
                    finding.message);
  }
  return lines;
}

inline DeviceLimits limits_of(std::string_view arch) {
  const Result<Arch> parsed = parse_arch(arch);
  FATUNE_CHECK(static_cast<bool>(parsed), "tests name architectures that exist");
  const Result<DeviceLimits> limits = typical_limits(*parsed);
  FATUNE_CHECK(static_cast<bool>(limits), "tests name architectures with typical devices");
  return *limits;
}

inline const Attention kMission{
    .batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64};

/// Returns the sample kernel's default config at kMission.
inline Candidate sample_candidate() {
  const KernelRef kernel = sample_kernel();
  return {kernel, default_config(kernel->manifest), kMission};
}

}  // namespace fatune
