// write_torch_test.cpp - the Python file of exported kernels, and what it does on stand-ins.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/run_program.hpp"
#include "out/export/formats.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

ExportedKernel kernel(const std::string& entry, const Problem& problem) {
  ExportedKernel made;
  made.name = entry;
  made.cubin = "machine code of " + entry;
  KernelFacts& facts = made.facts;
  facts.kernel = "fa_" + entry;
  facts.config = "{}";
  facts.problem = problem;
  facts.arch = "sm_90a";
  facts.compute_major = 9;
  facts.exact_compute = true;
  facts.cubin = {entry + ".cubin", sha256_hex(made.cubin),
                 static_cast<std::int64_t>(made.cubin.size())};
  facts.stages = {{entry, {2, 4, 8}, {256, 1, 1}, {1, 1, 1}, 0, 0, false, {}}};
  facts.scale = 0.125;
  facts.verified = true;
  facts.device_name = "NVIDIA H200";
  facts.fatune = "1.2.3";
  facts.command = "fatune sweep --shape \"\"\"'\\";
  return made;
}

using MapStrides = std::array<std::int64_t, 3>;

TensorMapFacts map(const std::string& tensor, const MapStrides& strides) {
  return {"map_" + tensor, tensor, MapElement::kF16, {64, 512, 8, 4}, strides, {64, 64, 1, 1}, 128};
}

/// Reads its tensors through maps only, so that any strides will do.
ExportedKernel with_maps(const std::string& entry, const Problem& problem, const MapStrides& inputs,
                         const MapStrides& out) {
  ExportedKernel made = kernel(entry, problem);
  StageFacts& stage = made.facts.stages.front();
  stage.cluster = {2, 1, 1};
  stage.shared_bytes = 147608;
  stage.dependent = true;
  stage.arguments = {"out", "lse", "map_q", "map_k", "map_v", "map_out"};
  made.facts.tensor_maps = {map("q", inputs), map("k", inputs), map("v", inputs), map("out", out)};
  return made;
}

ExportedKernel with_tensor_maps() {
  constexpr MapStrides kPlain = {128, 65536, 524288};
  ExportedKernel made = with_maps("tensor_maps", {4, 8, 8, 512, 512, 64}, kPlain, kPlain);
  made.facts.measured = MeasuredFacts{6.29, {{6.28, 6.3}}, "cudnn", 0.64};
  return made;
}

constexpr Layout kPacked = {LayoutKind::kPacked, {}}, kBshd = {LayoutKind::kBshd, {}};
constexpr Layouts kPackedToBshd = {kPacked, kPacked, kPacked, kBshd};

ExportedKernel with_packed_maps() {
  const Problem problem{
      .batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .layouts = kPackedToBshd};
  ExportedKernel made =
      with_maps("packed_maps", problem, {3072, 128, 1572864}, {1024, 128, 524288});
  made.facts.measured = MeasuredFacts{5.8, {}, "", {}};
  return made;
}

ExportedKernel with_packed_pointers() {
  ExportedKernel made = kernel(
      "packed_pointers", {2, 4, 1, 256, 256, 128, Dtype::kBf16, Mask::kNone, false, kPackedToBshd});
  made.facts.stages.front().arguments = {"q", "k", "v", "out", "lse"};
  made.facts.scale = 0.08838834764831845;
  return made;
}

ExportedKernel with_pointers() {
  ExportedKernel made =
      kernel("pointers", {2, 8, 2, 128, 256, 64, Dtype::kBf16, Mask::kCausal, false});
  made.facts.stages.front().arguments = {"q", "k", "v", "out", "lse"};
  made.facts.measured = MeasuredFacts{20, {}, "torch:flash", 0.5};
  return made;
}

/// Two launches with scratch between them; unverified and never measured.
ExportedKernel with_two_stages() {
  ExportedKernel made =
      kernel("two_stages", {1, 4, 4, 1, 1024, 64, Dtype::kF16, Mask::kNone, true});
  made.facts.stages.front().arguments = {"q", "k", "v", "partial", "stats"};
  made.facts.stages.push_back({"combine",
                               {4, 1, 1},
                               {64, 1, 1},
                               {16, 1, 1},
                               0,
                               0,
                               false,
                               {"partial", "stats", "out", "lse"}});
  made.facts.scratch = {{"partial", 1000}, {"stats", 64}};
  made.facts.verified = false;
  return made;
}

std::vector<ExportedKernel> five_kernels() {
  return {with_tensor_maps(), with_pointers(), with_two_stages(), with_packed_maps(),
          with_packed_pointers()};
}

}  // namespace

TEST_CASE("the file launches what was exported and leaves the rest to PyTorch") {
  const test::TemporaryFolder folder;
  const auto written = write_torch(five_kernels(), folder / "attention.py");
  REQUIRE(written);
  REQUIRE(*written == std::vector{folder / "attention.py"});
  const std::string script = FATUNE_SOURCE_DIR "/tests/unit/out/export/torch_module_test.py";
  const auto done = run_program({.program = "/usr/bin/env",
                                 .arguments = {"python3", "-B", script, written->front().string()}},
                                60s);
  REQUIRE(done);
  INFO(done->text);
  CHECK(done->succeeded());
}

TEST_CASE("the file begins with what is in it") {
  const auto text = torch_module(five_kernels());
  REQUIRE(text);
  CHECK_THAT(*text, ContainsSubstring("# Written by fatune 1.2.3"));
  CHECK_THAT(*text, ContainsSubstring("#   4,8,512,64 f16: fa_tensor_maps for sm_90a, 6.29 us"));
  CHECK_THAT(*text, ContainsSubstring("fa_two_stages for sm_90a, NOT VERIFIED\n"));
}

TEST_CASE("nothing that a run says of itself becomes code") {
  ExportedKernel made = with_pointers();
  made.facts.command = "fatune sweep\nimport os  # \"\"\"";
  made.facts.device_name = "GPU\r\nexit()";
  const auto text = torch_module(std::span(&made, 1));
  REQUIRE(text);
  CHECK_THAT(*text, !ContainsSubstring("\nimport os"));
  CHECK_THAT(*text, !ContainsSubstring("\nexit()"));
}

TEST_CASE("element types that PyTorch's attention does not take are refused") {
  ExportedKernel made = with_pointers();
  made.facts.problem.dtype = Dtype::kE4m3;
  const auto text = torch_module(std::span(&made, 1));
  REQUIRE_FALSE(text);
  CHECK(text.error().kind == ErrorKind::kUsage);
  CHECK(text.error().message ==
        "--to torch: pointers is for e4m3, which PyTorch's scaled_dot_product_attention does not "
        "take; leave this problem out, or export it --to header");
}

TEST_CASE("a target that ends in the format's extension is its file, another a folder") {
  const test::TemporaryFolder folder;
  const auto torch = find_format("torch");
  const auto cubin = find_format("cubin");
  REQUIRE((torch && cubin));
  CHECK(make_target(std::vector{*torch}, folder / "deep" / "sdpa.py"));
  CHECK(std::filesystem::is_directory(folder / "deep"));
  CHECK_FALSE(std::filesystem::exists(folder / "deep" / "sdpa.py"));
  CHECK(make_target(std::vector{*torch, *cubin}, folder / "both"));
  CHECK(std::filesystem::is_directory(folder / "both"));
  const auto both = make_target(std::vector{*torch, *cubin}, folder / "sdpa.py");
  REQUIRE_FALSE(both);
  CHECK_THAT(both.error().message,
             ContainsSubstring("names a file, which --to torch alone writes"));
  const auto written = write_torch(five_kernels(), folder / "both");
  REQUIRE(written);
  CHECK(written->front() == folder / "both" / "sdpa.py");
}

TEST_CASE("packed text is base64 of a zlib stream, in lines") {
  const std::string bytes(5000, 'x');
  const std::string text = packed_text(bytes + std::string(1, '\0'), 8);
  CHECK_THAT(text, Catch::Matchers::StartsWith("eNrt"));
  CHECK(text.size() < 200);
  CHECK(text.back() == '\n');
  CHECK(text.find('\n') == 8);
  CHECK(packed_text("", 76) == "eNoDAAAAAAE=\n");
}

TEST_CASE("kernels of custom operations are a module of their own") {
  Problem problem;
  problem.custom = {.operation = "rmsnorm", .sizes = {{"ROWS", 8}}};
  ExportedKernel custom = kernel("rows", problem);
  custom.facts.tensors = {{"x", "bf16", {8, 64}, {64, 1}, false}, {"y", "f32", {8}, {1}, true}};
  const std::vector<ExportedKernel> alone = {custom};
  const auto module = torch_module(alone);
  REQUIRE(module);
  CHECK_THAT(*module, ContainsSubstring("\"operation\":\"rmsnorm\""));
  CHECK_THAT(*module, ContainsSubstring("class _Kernel(_Loaded):"));
  CHECK(module->find("@fatune") == std::string::npos);
  CHECK(module->find("scaled_dot_product_attention") == std::string::npos);
  const test::TemporaryFolder folder;
  const auto files = write_torch(alone, folder.path());
  REQUIRE(files);
  CHECK(files->front().filename() == "custom.py");
  const std::vector<ExportedKernel> mixed = {custom, with_pointers()};
  CHECK_THAT(torch_module(mixed).error().message, ContainsSubstring("one after the other"));
}
