// write_kernelbot_test.cpp - checks tasks of KernelBot: read back as the same problems, in Python
// that compiles, with submissions that launch on stand-ins.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/file.hpp"
#include "core/run_program.hpp"
#include "core/text.hpp"
#include "exported_kernel_fixture.hpp"
#include "model/interchange/kernelbot.hpp"
#include "out/export/formats.hpp"
#include "support/captured_stderr.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

ExportedKernel submitted_kernel(const std::string& entry, const Problem& problem) {
  ExportedKernel made = test::exported_kernel(entry, problem);
  made.facts.stages.front().arguments = {"q", "k", "v", "out"};
  return made;
}

Problem submitted_problem(const std::string& layout = "bhsd", Mask mask = Mask::kNone) {
  Problem problem{.batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 100, .seq_kv = 300};
  problem.mask = mask;
  problem.layouts = *parse_layouts(layout);
  return problem;
}

/// Of two launches with scratch between them, and a tensor map.
ExportedKernel staged_kernel() {
  ExportedKernel made = submitted_kernel("staged", {1, 4, 4, 16, 512, 64});
  StageFacts& first = made.facts.stages.front();
  first.arguments = {"map_q", "k", "v", "partial"};
  first.shared_bytes = 1024;
  first.dependent = true;
  made.facts.stages.push_back({"combine", {4, 1, 1}, {64, 1, 1}, {1, 1, 1}, 0, 0, false, {}});
  made.facts.stages.back().arguments = {"partial", "stats", "out", "lse"};
  made.facts.scratch = {{"partial", 1000}, {"stats", 64}};
  made.facts.tensor_maps = {
      {"map_q", "q", MapElement::kF16, {64, 16, 4, 1}, {128, 2048, 8192}, {64, 16, 1, 1}, 128}};
  return made;
}

std::vector<fs::path> written_tasks(const std::vector<ExportedKernel>& kernels,
                                    const fs::path& folder) {
  const auto files = write_kernelbot(kernels, folder);
  INFO((files ? "" : files.error().message));
  REQUIRE(files);
  return *files;
}

void run_python(const std::string& script, const fs::path& argument) {
  const std::string path = FATUNE_SOURCE_DIR "/tests/unit/out/export/" + script;
  const auto done = run_program(
      {.program = "/usr/bin/env", .arguments = {"python3", "-B", path, argument.string()}}, 120s);
  REQUIRE(done);
  INFO(done->text);
  CHECK(done->succeeded());
}

}  // namespace

TEST_CASE("tasks are read back as the problems of their kernels") {
  std::vector<ExportedKernel> kernels;
  for (const Mask mask : {Mask::kNone, Mask::kCausal}) {
    for (const char* layout : {"bhsd", "bshd", "bhsd,k=bshd", "bshd,out=bhsd"}) {
      for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
        Problem problem = submitted_problem(layout, mask);
        problem.dtype = dtype;
        kernels.push_back(submitted_kernel("a", problem));
        problem.seq_q = problem.seq_kv;
        kernels.push_back(submitted_kernel("b", problem));
      }
    }
  }
  Problem square{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
  square.mask = Mask::kCausal;
  const test::TemporaryFolder folder, other;
  CHECK(written_tasks(kernels, folder.path()).size() == 16 * 4);
  std::vector<Problem> read;
  for (const auto& task : fs::directory_iterator(folder.path())) {
    const auto suite = load_kernelbot(task.path() / "task.yml");
    INFO((suite ? "" : suite.error().message));
    REQUIRE(suite);
    CHECK(suite->problems.size() == 2);
    for (const NamedProblem& each : suite->problems) read.push_back(each.problem);
  }
  CHECK(read.size() == kernels.size());
  for (const ExportedKernel& kernel : kernels)
    CHECK(std::ranges::count(read, kernel.facts.problem) == 1);
  written_tasks({submitted_kernel("a", square)}, other.path());
  const auto suite = load_kernelbot(other / "attention_f16_causal/task.yml");
  REQUIRE(suite);
  CHECK(suite->problems.front().problem == square);
  run_python("kernelbot_reference_test.py", folder.path());
}

TEST_CASE("a submission launches the kernel of the shapes it is given") {
  const test::TemporaryFolder folder;
  const auto files = written_tasks(
      {submitted_kernel("plain", submitted_problem("bhsd")), staged_kernel()}, folder.path());
  REQUIRE(files.back() == folder / "attention_f16/submission.py");
  run_python("kernelbot_submission_test.py", files.back());
  const auto text = read_file(files.back());
  REQUIRE(text);
  CHECK_THAT(*text, ContainsSubstring("# Written by fatune 1.2.3 (fatune export --to kernelbot):"));
  CHECK(lower(*text).find("stream") == std::string::npos);
  CHECK(text->find("@fatune") == std::string::npos);
}

TEST_CASE("two kernels of a problem are one benchmark") {
  const test::TemporaryFolder folder;
  written_tasks(
      {submitted_kernel("a", submitted_problem()), submitted_kernel("b", submitted_problem())},
      folder.path());
  const auto task = read_file(folder / "attention_f16/task.yml");
  REQUIRE(task);
  CHECK_THAT(*task, ContainsSubstring("tests:\n"
                                      "  - {\"batch\": 2, \"heads\": 8, \"kvheads\": 2, "
                                      "\"queries\": 100, \"keys\": 300, \"dim\": 64, "
                                      "\"seed\": 1001}\n\n"
                                      "benchmarks:\n"
                                      "  - {\"batch\": 2, \"heads\": 8, \"kvheads\": 2, "
                                      "\"queries\": 100, \"keys\": 300, \"dim\": 64, "
                                      "\"seed\": 2001}\n\n"));
}

TEST_CASE("what KernelBot refuses of a submission is said") {
  const test::TemporaryFolder folder;
  ExportedKernel large = submitted_kernel("fa_stream_k", submitted_problem());
  for (std::uint32_t i = 0, x = 1; i < 1'000'000; ++i) {
    x = x * 1664525 + 1013904223;
    large.cubin += static_cast<char>(x >> 24U);
  }
  const std::string words = test::captured_stderr([&] { written_tasks({large}, folder.path()); });
  CHECK_THAT(words, ContainsSubstring("KernelBot takes 1000000; export fewer problems"));
  CHECK_THAT(words, ContainsSubstring("has the word 'stream'"));
}

TEST_CASE("problems that a task's reference cannot say are refused by name") {
  const test::TemporaryFolder folder;
  const auto fault = [&](const Problem& problem) {
    const auto files = write_kernelbot(std::vector{submitted_kernel("a", problem)}, folder.path());
    return files ? "none" : files.error().message;
  };
  Problem problem = submitted_problem();
  problem.lse = true;
  CHECK_THAT(fault(problem), ContainsSubstring("--to kernelbot: fa_a for "));
  CHECK_THAT(fault(problem), ContainsSubstring("log-sum-exp"));
  CHECK_THAT(fault(submitted_problem("packed")), ContainsSubstring("q is no contiguous tensor"));
  Problem fp8 = submitted_problem();
  fp8.dtype = Dtype::kE4m3;
  CHECK_THAT(fault(fp8), ContainsSubstring("fp8"));
  CHECK(fs::is_empty(folder.path()));
}
