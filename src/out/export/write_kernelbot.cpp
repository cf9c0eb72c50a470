// write_kernelbot.cpp - kernels to tasks of KernelBot: task.yml, reference.py, task.py and
// submission.py for each element type, mask and layout.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/interchange/reference.hpp"
#include "out/export/formats.hpp"
#include "out/export/python_module.hpp"
#include "out/export/torch_reference.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view> kSubmissionParts = {"kernelbot_submission.py",
                                                        "torch_driver.py", "kernelbot_kernel.py"};
constexpr std::size_t kLargestSubmission = 1'000'000;             ///< bytes; KernelBot's limit
constexpr int kFirstTestSeed = 1001, kFirstBenchmarkSeed = 2001;  ///< chosen

/// Kernels of one reference, which has no branches.
struct TaskFolder {
  std::vector<ExportedKernel> kernels{};
  std::vector<Problem> problems{};  ///< each once
  const Problem& any() const { return problems.front(); }
};

std::string folder_name(const Problem& p) {
  return fmt::format("attention_{}{}{}{}", name(p.dtype), p.mask == Mask::kCausal ? "_causal" : "",
                     p.scale ? fmt::format("_scale{}", *p.scale) : "",
                     p.layouts.plain() ? "" : "_" + slug(p.layouts));
}

/// Names are letters alone: KernelBot's eval.py reads no others.
std::string arguments_text(const Problem& p, int seed) {
  return fmt::format(
      "{{\"batch\": {}, \"heads\": {}, \"kvheads\": {}, \"queries\": {}, \"keys\": {}, "
      "\"dim\": {}, \"seed\": {}}}",
      p.batch, p.heads, p.kv_heads, p.seq_q, p.seq_kv, p.head_dim, seed);
}

std::string shape_names(const Problem& p, std::string_view tensor) {
  const bool query_like = tensor == "q" || tensor == "out";
  const char* heads = query_like ? "heads" : "kvheads";
  const char* length = query_like ? "queries" : "keys";
  return is_bshd(p, tensor) ? fmt::format("batch, {}, {}, dim", length, heads)
                            : fmt::format("batch, {}, {}, dim", heads, length);
}

constexpr const char* kTask = R"(files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "eval.py", "source": "../eval.py"}

lang: "py"

description: |
  Attention of @type@ tensors: softmax(@scores@) v. Query head i reads key head
  i // (heads // kvheads).@mask@

  custom_kernel() is given (q, k, v) and returns out, all contiguous:
@shapes@
config:
  main: "eval.py"

tests:
@tests@
benchmarks:
@benchmarks@
test_timeout: 180
benchmark_timeout: 180
ranked_timeout: 420
ranking_by: "geom"
)";

std::string task_text(const TaskFolder& task) {
  std::string shapes, tests, benchmarks;
  for (const char* tensor : {"q", "k", "v", "out"})
    shapes += fmt::format("    {}: ({})\n", tensor, shape_names(task.any(), tensor));
  for (std::size_t i = 0; i < task.problems.size(); ++i) {
    const int number = static_cast<int>(i);
    const Problem& problem = task.problems[i];
    tests += fmt::format("  - {}\n", arguments_text(problem, kFirstTestSeed + number));
    benchmarks += fmt::format("  - {}\n", arguments_text(problem, kFirstBenchmarkSeed + number));
  }
  const std::pair<const char*, std::string> marks[] = {
      {"@type@", std::string(torch_name(task.any().dtype))},
      {"@scores@",
       task.any().scale ? fmt::format("{} q k^T", *task.any().scale) : "q k^T / sqrt(dim)"},
      {"@mask@",
       task.any().mask == Mask::kCausal ? " Query i sees key j when j <= i + keys - queries." : ""},
      {"@shapes@", shapes},
      {"@tests@", tests},
      {"@benchmarks@", benchmarks}};
  std::string text = kTask;
  for (const auto& [mark, value] : marks) text = replaced(std::move(text), mark, value);
  return text;
}

constexpr const char* kReference = R"(import torch
import torch.nn.functional as F
@import@
from task import input_t, output_t
from utils import make_match_reference


def generate_input(batch: int, heads: int, kvheads: int, queries: int, keys: int, dim: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
@inputs@    return q, k, v


def ref_kernel(data: input_t) -> output_t:
    q, k, v = data
@body@

check_implementation = make_match_reference(ref_kernel, rtol=@limit@, atol=@limit@)
)";

/// As tests/gpu/flashinfer_trace_test.py limits the difference of such kernels from such a
/// reference.
const char* limit_text(Dtype dtype) { return dtype == Dtype::kF16 ? "2e-3" : "1.6e-2"; }

std::string task_reference(const TaskFolder& task) {
  const Problem& p = task.any();
  const bool square = std::ranges::all_of(
      task.problems, [](const Problem& each) { return each.seq_q == each.seq_kv; });
  const bool grouped = std::ranges::any_of(
      task.problems, [](const Problem& each) { return each.heads != each.kv_heads; });
  const bool lower_right = p.mask == Mask::kCausal && !square;
  std::string options;
  if (lower_right) options = ", attn_mask=causal_lower_right(q.shape[2], k.shape[2])";
  if (p.mask == Mask::kCausal && square) options = ", is_causal=True";
  if (p.scale) options += fmt::format(", scale={}", *p.scale);
  if (grouped) options += ", enable_gqa=True";
  std::string inputs;
  for (const char* tensor : {"q", "k", "v"}) {
    inputs +=
        fmt::format("    {} = torch.randn({}, dtype=torch.{}, device=\"cuda\", generator=gen)\n",
                    tensor, shape_names(p, tensor), torch_name(p.dtype));
  }
  const std::pair<const char*, std::string> marks[] = {
      {"@import@\n", lower_right ? "from torch.nn.attention.bias import causal_lower_right\n" : ""},
      {"@inputs@", inputs},
      {"@body@", reference_body(p, options)},
      {"@limit@", limit_text(p.dtype)}};
  std::string text = kReference;
  for (const auto& [mark, value] : marks) text = replaced(std::move(text), mark, value);
  return text;
}

Json submission_facts(const KernelFacts& facts) {
  Json json = to_json(facts);
  for (const char* tensor : {"q", "k", "v", "out"})
    json["shapes"][tensor] = stored_shape(facts.problem, tensor);
  return json;
}

void warn_of_refusal(const fs::path& file, const std::string& text) {
  if (text.size() > kLargestSubmission) {
    log::warn(fmt::format("{}: has {} bytes, and KernelBot takes {}; export fewer problems",
                          file.string(), text.size(), kLargestSubmission));
  }
  if (lower(text).find("stream") != std::string::npos) {
    log::warn(
        fmt::format("{}: has the word 'stream', if only in a kernel's name, and KernelBot refuses "
                    "files with it; "
                    "--shape exports problems without it",
                    file.string()));
  }
}

Result<std::vector<fs::path>> write_task(const TaskFolder& task, const fs::path& folder) {
  const std::string submission =
      python_module(kSubmissionParts, "kernelbot", task.kernels, submission_facts);
  const std::pair<const char*, std::string> texts[] = {
      {"task.yml", task_text(task)},
      {"reference.py", task_reference(task)},
      {"task.py", std::string(python_part("kernelbot_task.py"))},
      {"submission.py", submission}};
  FATUNE_TRY_STATUS(make_directories(folder));
  std::vector<fs::path> files;
  for (const auto& [name, text] : texts) {
    files.push_back(folder / name);
    FATUNE_TRY_STATUS(replace_file(files.back(), text));
  }
  warn_of_refusal(files.back(), submission);
  return files;
}

}  // namespace

Result<std::vector<fs::path>> write_kernelbot(std::span<const ExportedKernel> kernels,
                                              const fs::path& folder) {
  std::map<std::string, TaskFolder> tasks;
  for (const ExportedKernel& kernel : kernels) {
    const Problem& problem = kernel.facts.problem;
    const std::string why = why_no_reference(problem);
    if (!why.empty()) {
      return usage_error(fmt::format("--to kernelbot: {} for {}: {}", kernel.facts.kernel,
                                     describe(problem), why));
    }
    TaskFolder& task = tasks[folder_name(problem)];
    task.kernels.push_back(kernel);
    if (std::ranges::count(task.problems, problem) == 0) task.problems.push_back(problem);
  }
  std::vector<fs::path> files;
  for (const auto& [name, task] : tasks) {
    FATUNE_TRY(const std::vector<fs::path> written, write_task(task, folder / name));
    files.insert(files.end(), written.begin(), written.end());
  }
  return files;
}

}  // namespace fatune
