// write_torch_test.cpp: Tests the Python file of exported kernels on stand-ins.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/file.hpp"
#include "core/run_program.hpp"
#include "export/formats.hpp"
#include "exported_kernel_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

using MapStrides = std::array<std::int64_t, 3>;

TensorMapFacts map(const std::string& tensor, const MapStrides& strides) {
  return {"map_" + tensor, tensor, MapElement::kF16, {64, 512, 8, 4}, strides, {64, 64, 1, 1}, 128};
}

/// Reads its tensors through maps only, so that any strides will do.
ExportedKernel with_maps(const std::string& entry, const Attention& problem,
                         const MapStrides& inputs, const MapStrides& out) {
  ExportedKernel made = test::exported_kernel(entry, problem);
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
  const Attention problem{
      .batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .layouts = kPackedToBshd};
  ExportedKernel made =
      with_maps("packed_maps", problem, {3072, 128, 1572864}, {1024, 128, 524288});
  made.facts.measured = MeasuredFacts{5.8, {}, "", {}};
  return made;
}

ExportedKernel with_packed_pointers() {
  ExportedKernel made = test::exported_kernel(
      "packed_pointers",
      Attention{2, 4, 1, 256, 256, 128, Dtype::kBf16, Mask::kNone, false, kPackedToBshd});
  made.facts.stages.front().arguments = {"q", "k", "v", "out", "lse"};
  made.facts.scale = 0.08838834764831845;
  return made;
}

ExportedKernel with_pointers() {
  ExportedKernel made = test::exported_kernel(
      "pointers", Attention{2, 8, 2, 128, 256, 64, Dtype::kBf16, Mask::kCausal, false});
  made.facts.stages.front().arguments = {"q", "k", "v", "out", "lse"};
  made.facts.measured = MeasuredFacts{20, {}, "torch:flash", 0.5};
  return made;
}

/// Two launches with scratch between them; unverified and never measured.
ExportedKernel with_two_stages() {
  ExportedKernel made = test::exported_kernel(
      "two_stages", Attention{1, 4, 4, 1, 1024, 64, Dtype::kF16, Mask::kNone, true});
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

/// Reads a mask of padding, a byte a key.
ExportedKernel with_bias() {
  Attention problem{2, 8, 8, 128, 128, 64};
  problem.bias = *parse_bias("2,1,1,128:bool");
  ExportedKernel made = test::exported_kernel("biased", problem);
  made.facts.stages.front().arguments = {"q", "k", "v", "out", "lse", "bias"};
  return made;
}

ExportedKernel with_softcap() {
  Attention problem{.batch = 2, .heads = 8, .kv_heads = 8, .seq_q = 128, .seq_kv = 128};
  problem.mask = Mask::kCausal;
  problem.softcap = 30;
  ExportedKernel made = test::exported_kernel("capped", problem);
  made.facts.stages.front().arguments = {"q", "k", "v", "out", "lse"};
  return made;
}

std::vector<ExportedKernel> all_kernels() {
  return {with_tensor_maps(),     with_pointers(), with_two_stages(), with_packed_maps(),
          with_packed_pointers(), with_bias(),     with_softcap()};
}

Result<ProgramRun> run_script(const std::string& name, const std::filesystem::path& file) {
  const std::string script = FATUNE_SOURCE_DIR "/tests/unit/export/" + name;
  return run_program(
      {.program = "/usr/bin/env", .arguments = {"python3", "-B", script, file.string()}}, 60s);
}

Attention in_fp8(Quant quant) {
  Attention problem{2, 4, 2, 128, 256, 64, Dtype::kE4m3};
  problem.out_dtype = Dtype::kBf16;
  problem.quant = quant;
  return problem;
}

/// Quantized inputs, by maps of bytes, and their factors.
ExportedKernel with_factors() {
  ExportedKernel made = test::exported_kernel("factors", in_fp8(Quant::kGiven));
  made.facts.stages.front().arguments = {"out",   "q_descale", "k_descale", "v_descale",
                                         "map_q", "map_k",     "map_v"};
  for (const char* tensor : {"q", "k", "v"}) {
    made.facts.tensor_maps.push_back({std::string("map_") + tensor,
                                      tensor,
                                      MapElement::kByte,
                                      {64, 256, 2, 2},
                                      {64, 16384, 32768},
                                      {64, 64, 1, 1},
                                      64});
  }
  return made;
}

/// Quantizes into scratch memory, which maps of the second launch describe.
ExportedKernel that_quantizes(const char* name = "quantizes", Quant quant = Quant::kFused) {
  ExportedKernel made = test::exported_kernel(name, in_fp8(quant));
  made.facts.stages.front().arguments = {"q", "k", "v", "q_fp8"};
  made.facts.stages.push_back(
      {"attend", {2, 1, 1}, {64, 1, 1}, {1, 1, 1}, 0, 0, true, {"out", "map_q"}});
  made.facts.tensor_maps = {{"map_q",
                             "q_fp8",
                             MapElement::kByte,
                             {64, 128, 4, 2},
                             {64, 8192, 32768},
                             {64, 64, 1, 1},
                             64}};
  made.facts.scratch = {{"q_fp8", 65536}};
  return made;
}

}  // namespace

TEST_CASE("kernels of fp8 are a function of their own") {
  const test::TemporaryFolder folder;
  std::vector<ExportedKernel> kernels = {with_factors(), that_quantizes(),
                                         that_quantizes("smooths", Quant::kSmoothK),
                                         that_quantizes("below")};
  kernels.back().facts.problem.as_attention().mask = Mask::kCausal;
  const auto written = write_torch(kernels, folder / "fp8.py");
  REQUIRE(written);
  const auto done = run_script("torch_fp8_test.py", written->front());
  REQUIRE(done);
  INFO(done->text);
  CHECK(done->succeeded());
}

TEST_CASE("the file launches what was exported and leaves the rest to PyTorch") {
  const test::TemporaryFolder folder;
  const auto written = write_torch(all_kernels(), folder / "attention.py");
  REQUIRE(written);
  REQUIRE(*written == std::vector{folder / "attention.py"});
  const auto done = run_script("torch_module_test.py", written->front());
  REQUIRE(done);
  INFO(done->text);
  CHECK(done->succeeded());
}

TEST_CASE("the file begins with what is in it") {
  const auto text = torch_module(all_kernels());
  REQUIRE(text);
  CHECK_THAT(*text, ContainsSubstring("# Written by fatune 1.2.3"));
  CHECK_THAT(*text, ContainsSubstring("#   4,8,512,64 f16: fa_tensor_maps for sm_90a, 6.29 us"));
  CHECK_THAT(*text, ContainsSubstring("fa_two_stages for sm_90a, NOT VERIFIED\n"));
}

TEST_CASE("a kernel with a mask and a bias is for calls of flex_attention") {
  ExportedKernel made = with_bias();
  made.facts.problem.as_attention().mask = Mask::kCausal;
  const auto text = torch_module(std::span(&made, 1));
  REQUIRE(text);
  CHECK_THAT(*text, ContainsSubstring("causal"));
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
  const auto written = write_torch(all_kernels(), folder / "both");
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
  const CustomProblem problem{.operation = "rmsnorm", .sizes = {{"ROWS", 8}}};
  ExportedKernel custom = test::exported_kernel("rows", problem);
  custom.facts.tensors = {{"x", "bf16", {8, 64}, {64, 1}, false}, {"y", "f32", {8}, {1}, true}};
  const std::vector<ExportedKernel> alone = {custom};
  const auto module = torch_module(alone);
  REQUIRE(module);
  CHECK_THAT(*module, ContainsSubstring("\"operation\":\"rmsnorm\""));
  CHECK_THAT(*module, ContainsSubstring("class _Kernel(_Loaded):"));
  CHECK_THAT(*module, ContainsSubstring("class _Plan:"));
  CHECK(module->find("@fatune") == std::string::npos);
  CHECK(module->find("scaled_dot_product_attention") == std::string::npos);
  const test::TemporaryFolder folder;
  const auto files = write_torch(alone, folder.path());
  REQUIRE(files);
  CHECK(files->front().filename() == "custom.py");
  const std::vector<ExportedKernel> mixed = {custom, with_pointers()};
  CHECK_THAT(torch_module(mixed).error().message, ContainsSubstring("one after the other"));
}
