// lint_test.cpp: Checks each finding of the static lint on a sample kernel with one fault.
#include "model/space/lint.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

/// A tensor map of 128 columns needs no swizzle, and then the sample suits every standard problem.
std::string clean() {
  std::string text = sample_with("\"swizzle\": 128", "\"swizzle\": 0");
  return text;
}

std::string clean_with(std::string_view from, std::string_view to) {
  std::string text = clean();
  return text.replace(text.find(from), from.size(), to);
}

bool has_finding(const std::vector<std::string>& lines, const std::string& line) {
  for (const std::string& found : lines) UNSCOPED_INFO(found);
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST_CASE("a sound kernel has no findings") {
  CHECK(sample_findings(clean()) == std::vector<std::string>{});
}

TEST_CASE("a parameter that the text never mentions is inert") {
  const std::string without =
      "extern \"C\" __global__ void sample_main() {\n"
      "  int a = BLOCK_M2 + BLOCK_N + EXP2;\n  __shared__ int x;\n}\n";
  const auto lines = sample_findings(clean(), without);
  CHECK(has_finding(
      lines,
      "error: sample.json: field 'parameters[2].name': REDUCE does nothing: sample.cu and its "
      "headers do not mention it"));
  CHECK(has_finding(
      lines,
      "warning: sample.json: field 'parameters[0].name': BLOCK_M changes the launch only; "
      "sample.cu and its headers do not mention it"));
}

TEST_CASE("single values, idle constraints and impossible ones are found") {
  CHECK(has_finding(
      sample_findings(clean_with("[false, true]", "[true]")),
      "warning: sample.json: field 'parameters[3].values': EXP2 has a single value, so there "
      "is nothing to choose"));
  CHECK(has_finding(
      sample_findings(clean_with("BLOCK_N <= 32", "BLOCK_N <= 64")),
      "warning: sample.json: field 'constraints[1].require': REDUCE == REDUCE_WARP || BLOCK_N "
      "<= 64 excludes nothing that other rules leave, for any standard problem"));
  const auto lines =
      sample_findings(clean_with("BLOCK_M >= 2 * BLOCK_N", "BLOCK_M >= 20 * BLOCK_N"));
  CHECK(has_finding(
      lines,
      "error: sample.json: field 'constraints[0].require': BLOCK_M >= 20 * BLOCK_N excludes "
      "every config for 4,8,512,64 f16 on sm_80"));
  CHECK(has_finding(
      lines,
      "error: sample.json: field 'constraints': no config is left for 4,8,512,64 f16 on "
      "sm_80, sm_86, sm_90a, sm_120; the default: breaks BLOCK_M >= 20 * BLOCK_N: tiles are tall"));
}

TEST_CASE("a default that a device rules out is found") {
  const auto lines =
      sample_findings(clean_with("BLOCK_M * HEAD_DIM * DTYPE_BYTES", "BLOCK_M * 2000"));
  CHECK(has_finding(lines,
                    "warning: sample.json: field 'parameters': the default config is ruled out for "
                    "4,8,512,64 f16 on sm_86, sm_120; the default: needs 128256 bytes of shared "
                    "memory a block, the device allows 101376"));
  CHECK(has_finding(
      sample_findings(clean_with("\"default\": 32", "\"default\": 64")),
      "error: sample.json: field 'parameters': the default config is ruled out for 4,8,512,64 "
      "f16 on sm_80, sm_86, sm_90a, sm_120; the default: breaks BLOCK_M >= 2 * BLOCK_N: tiles are "
      "tall"));
}

TEST_CASE("entries, buffers and static shared memory must match the text") {
  CHECK(
      has_finding(sample_findings(clean_with("\"sample_main\"", "\"sample_mian\"")),
                  "error: sample.json: field 'stages[0].entry': sample.cu and its headers have no "
                  "sample_mian"));
  CHECK(has_finding(sample_findings(clean_with(", \"scores\", \"map_k\"", ", \"map_k\"")),
                    "error: sample.json: field 'scratch[0].name': no stage has scores among its "
                    "arguments"));
  CHECK(has_finding(sample_findings(clean_with("\"scores\", \"map_k\"", "\"scores\"")),
                    "error: sample.json: field 'tensor_maps[0].name': no stage has map_k among its "
                    "arguments"));
  CHECK(has_finding(
      sample_findings(clean_with("\"v\", \"out\"", "\"v\"")),
      "error: sample.json: field 'stages': no stage has out among its arguments, so nothing "
      "is computed"));
  CHECK(has_finding(
      sample_findings(
          clean_with("\"static_shared_bytes\": \"256\"", "\"static_shared_bytes\": \"0\"")),
      "warning: sample.json: field 'stages': sample.cu declares __shared__ arrays of fixed "
      "size, but every static_shared_bytes is 0"));
  CHECK(has_finding(
      sample_findings(clean_with("\"static_shared_bytes\": \"256\",",
                                 "\"static_shared_bytes\": \"256\", \"dependent\": \"EXP2\",")),
      "error: sample.json: field 'stages[0].dependent': sample.cu and its headers never wait "
      "(griddepcontrol.wait) for the work in front"));
}

TEST_CASE("a 'when' that is always true, or never, is found") {
  const std::string keys = "\"meaning\": \"keys\"";
  CHECK(has_finding(sample_findings(clean_with(keys, keys + R"(, "when": "BLOCK_M > 16")")),
                    "warning: sample.json: field 'parameters[1].when': BLOCK_M > 16 is always "
                    "true, for any config of any standard problem"));
  CHECK(has_finding(sample_findings(clean_with(keys, keys + R"(, "when": "BLOCK_M > HEADS * 64")")),
                    "warning: sample.json: field 'parameters[1].when': BLOCK_M > HEADS * 64 is "
                    "never true, for any config of any standard problem"));
  CHECK_FALSE(has_finding(sample_findings(clean_with(keys, keys + R"(, "when": "0")")),
                          "warning: sample.json: field 'parameters[1].when': 0 is never true, for "
                          "any config of any standard problem"));
  // Two query heads share keys and values at decoding problems only.
  CHECK(sample_findings(clean_with(keys, keys + R"(, "when": "BLOCK_M > 32 || HEADS > KV_HEADS")"))
            .empty());
}

TEST_CASE("a space that cannot be built is an error, and one never built is said") {
  const auto lines =
      sample_findings(clean_with("BLOCK_M >= 2 * BLOCK_N", "BLOCK_M % (BLOCK_N - 16) == 0"));
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.front().starts_with(
      "error: sample.json: the space of 4,8,512,64 f16 on sm_80 cannot be built: sample.json: "
      "field 'constraints[0].require': "));
  CHECK(has_finding(
      sample_findings(clean_with("HEAD_DIM % 16 == 0", "HEAD_DIM == 80")),
      "warning: sample.json: field 'supports': no standard problem is supported, so no space "
      "was examined"));
}

TEST_CASE("a kernel for few queries is examined at decoding problems") {
  const auto lines = sample_findings(clean_with("HEAD_DIM % 16 == 0", "SEQ_Q <= 64"));
  CHECK_FALSE(
      has_finding(lines,
                  "warning: sample.json: field 'supports': no standard problem is supported, so no "
                  "space was examined"));
}

TEST_CASE("fault fixtures are wrong on purpose") {
  CHECK(sample_findings(clean_with("\"role\": \"attention\"", "\"role\": \"fault\"")).empty());
}

}  // namespace
}  // namespace fatune
