// write_trace_set.cpp - kernels to a FlashInfer-Trace data set: Definition, Workload, Solution and
// Trace of each.
#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/interchange/reference.hpp"
#include "out/export/formats.hpp"
#include "out/export/torch_reference.hpp"
#include "out/export/trace_solution.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTraceOperation = "attention";  ///< op_type, and the folder of its files

/// Every size is constant: the kernel is of this problem alone.
std::string definition_name(const Problem& problem) {
  return export_name(kTraceOperation, problem);
}

std::string solution_name(const ExportedKernel& kernel) {
  return fmt::format("{}_{}_{}", kernel.facts.kernel, kernel.facts.arch,
                     kernel.facts.id.substr(0, 8));
}

Json tensor_json(const Problem& p, const char* tensor) {
  const bool query_like = std::string_view(tensor) == "q" || std::string_view(tensor) == "out";
  const char* heads = query_like ? "num_qo_heads" : "num_kv_heads";
  const char* length = query_like ? "seq_q" : "seq_kv";
  Json shape = is_bshd(p, tensor) ? Json{"batch", length, heads, "head_dim"}
                                  : Json{"batch", heads, length, "head_dim"};
  return {{"shape", std::move(shape)}, {"dtype", torch_name(p.dtype)}};
}

std::string reference_text(const Problem& p) {
  const bool causal = p.mask == Mask::kCausal;
  const bool lower_right = causal && p.seq_q != p.seq_kv;
  std::string text = "import torch\nimport torch.nn.functional as F\n";
  if (lower_right) text += "from torch.nn.attention.bias import causal_lower_right\n";
  std::string options;
  if (lower_right)
    options = fmt::format(", attn_mask=causal_lower_right({}, {})", p.seq_q, p.seq_kv);
  if (causal && !lower_right) options = ", is_causal=True";
  if (p.scale) options += fmt::format(", scale={}", *p.scale);
  if (p.heads != p.kv_heads) options += ", enable_gqa=True";
  return text + "\n\n@torch.no_grad()\ndef run(q, k, v):\n" + reference_body(p, options);
}

Json definition_json(const Problem& p) {
  Json axes = Json::object();
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"batch", p.batch}, {"num_qo_heads", p.heads}, {"num_kv_heads", p.kv_heads},
      {"seq_q", p.seq_q}, {"seq_kv", p.seq_kv},      {"head_dim", p.head_dim}};
  for (const auto& [name, value] : sizes) axes[name] = {{"type", "const"}, {"value", value}};
  Json inputs = Json::object();
  for (const char* tensor : {"q", "k", "v"}) inputs[tensor] = tensor_json(p, tensor);
  return {{"name", definition_name(p)},
          {"op_type", kTraceOperation},
          {"description", "Attention for " + describe(p)},
          {"tags", Json::array({"status:unverified"})},
          {"axes", std::move(axes)},
          {"inputs", std::move(inputs)},
          {"outputs", {{"out", tensor_json(p, "out")}}},
          {"reference", reference_text(p)}};
}

/// The same problem has the same one in every export.
std::string uuid_of(const Problem& problem) {
  const std::string hash = sha256_hex(key(problem));
  return fmt::format("{}-{}-{}-{}-{}", hash.substr(0, 8), hash.substr(8, 4), hash.substr(12, 4),
                     hash.substr(16, 4), hash.substr(20, 12));
}

Json workload_json(const Problem& problem) {
  Json inputs = Json::object();
  for (const char* tensor : {"q", "k", "v"}) inputs[tensor] = {{"type", "random"}};
  return {{"uuid", uuid_of(problem)}, {"axes", Json::object()}, {"inputs", std::move(inputs)}};
}

Json workload_line(const Problem& problem) {
  return {{"definition", definition_name(problem)},
          {"workload", workload_json(problem)},
          {"solution", nullptr},
          {"evaluation", nullptr}};
}

Json solution_json(const ExportedKernel& kernel) {
  const KernelFacts& facts = kernel.facts;
  Json sources = Json::array();
  for (const SourceFile& file : trace_sources(kernel))
    sources.push_back({{"path", file.path}, {"content", file.text}});
  return {
      {"name", solution_name(kernel)},
      {"definition", definition_name(facts.problem)},
      {"author", "fatune " + facts.fatune},
      {"description", join(provenance(facts), "\n")},
      {"spec",
       {{"language", "cuda"},
        {"target_hardware", Json::array({facts.device_name.empty() ? "cuda" : facts.device_name})},
        {"entry_point", "main.cu::run"},
        {"dependencies", Json::array()},
        {"destination_passing_style", true},
        {"binding", "tvm-ffi"}}},
      {"sources", std::move(sources)}};
}

/// FlashInfer-Bench flushes the L2 cache before each launch; the next best is a plain launch.
std::string trace_time(const FinalRecord& best, const std::optional<BestRow>& baseline) {
  for (const char* time : {"cold", "plain", "hot"}) {
    if (timing_of(best, time) && (!baseline || timing_of(*baseline, time))) return time;
  }
  return "";
}

Json performance_json(const ExportedResult& result, const std::string& time) {
  const double us = timing_of(result.best, time)->median_us;
  const double rival = result.baseline ? timing_of(*result.baseline, time)->median_us : 0;
  return {{"latency_ms", us / kUsPerMs},
          {"reference_latency_ms", rival / kUsPerMs},
          {"speedup_factor", rival / us}};
}

/// The largest relative error of an element is not measured.
Json correctness_json(const Verification& verification) {
  return {{"max_relative_error", "NaN"},
          {"max_absolute_error", verification.max_abs_diff},
          {"extra",
           {{"relative_l2", verification.relative_l2},
            {"mean_absolute_error", verification.mean_abs_diff},
            {"margin", verification.margin},
            {"gates", verification.gates}}}};
}

std::string launched_as(const std::string& time) {
  if (time == "cold") return "the L2 cache flushed before each";
  return time == "plain" ? "back to back, launched plainly" : "back to back, chained";
}

std::string log_text(const ExportedKernel& kernel, const std::string& time) {
  const ExportedResult& result = *kernel.result;
  std::string text = fmt::format("latency_ms: median of launches, {}\n", launched_as(time));
  text += result.baseline
              ? fmt::format("reference_latency_ms: {} in the same rounds, not the reference's\n",
                            result.baseline->impl)
              : "reference_latency_ms: 0, as no baseline was compared with; so is speedup_factor\n";
  for (const char* each : {"in_layer", "plain", "hot", "cold"}) {
    if (const auto& timing = timing_of(result.best, each))
      text += fmt::format("{}: {:.4g} us\n", each, timing->median_us);
  }
  text += "timestamp: of the export\n";
  text += "max_relative_error: not measured; correctness.extra has the relative L2 error\n";
  return text + join(provenance(kernel.facts), "\n") + "\n";
}

std::string now_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

Json evaluation_json(const ExportedKernel& kernel, const std::string& time) {
  const KernelFacts& facts = kernel.facts;
  Json libs = {{"nvrtc", facts.nvrtc}, {"fatune", facts.fatune}};
  if (!facts.driver.empty()) libs["driver"] = facts.driver;
  return {{"status", "PASSED"},
          {"environment", {{"hardware", facts.device_name}, {"libs", std::move(libs)}}},
          {"timestamp", now_utc()},
          {"log", log_text(kernel, time)},
          {"correctness", correctness_json(*kernel.result->best.verification)},
          {"performance", performance_json(*kernel.result, time)}};
}

/// A trace says that this machine code is right, and how fast: what is not known to be so has none.
std::string why_no_trace(const ExportedKernel& kernel) {
  if (!kernel.facts.verified) return "its results are not verified";
  if (kernel.facts.recorded) return "a recording stood in for the device";
  if (!kernel.result || !kernel.result->best.verification) return "it was not measured";
  return trace_time(kernel.result->best, kernel.result->baseline).empty() ? "it has no time" : "";
}

class TraceSetWriter {
 public:
  explicit TraceSetWriter(fs::path folder) : folder_(std::move(folder)) {}

  Status write(const ExportedKernel& kernel) {
    const Problem& problem = kernel.facts.problem;
    const std::string definition = definition_name(problem);
    FATUNE_TRY_STATUS(add(fs::path("definitions") / kTraceOperation / (definition + ".json"),
                          dump_pretty(definition_json(problem))));
    FATUNE_TRY_STATUS(add(fs::path("workloads") / kTraceOperation / (definition + ".jsonl"),
                          dump(workload_line(problem)) + "\n"));
    const std::string solution = solution_name(kernel);
    const fs::path place = fs::path(kTraceOperation) / definition / solution;
    FATUNE_TRY_STATUS(add("solutions" / place.parent_path() / (solution + ".json"),
                          dump_pretty(solution_json(kernel))));
    const std::string why = why_no_trace(kernel);
    if (!why.empty()) {
      log::warn(fmt::format("--to flashinfer-trace: {} has no trace: {}", kernel.name, why));
      return {};
    }
    Json trace = workload_line(problem);
    trace["solution"] = solution;
    trace["evaluation"] =
        evaluation_json(kernel, trace_time(kernel.result->best, kernel.result->baseline));
    return add("traces" / place.parent_path() / (solution + ".jsonl"), dump(trace) + "\n");
  }

  std::vector<fs::path> files{};

 private:
  Status add(const fs::path& file, const std::string& text) {
    const fs::path path = folder_ / file;
    FATUNE_TRY_STATUS(make_directories(path.parent_path()));
    FATUNE_TRY_STATUS(replace_file(path, text));
    files.push_back(path);
    return {};
  }

  fs::path folder_;
};

}  // namespace

Result<std::vector<fs::path>> write_trace_set(std::span<const ExportedKernel> kernels,
                                              const fs::path& folder) {
  for (const ExportedKernel& kernel : kernels) {
    const std::string why = why_no_reference(kernel.facts.problem);
    if (why.empty()) continue;
    return usage_error(fmt::format("--to flashinfer-trace: {} for {}: {}", kernel.facts.kernel,
                                   describe(kernel.facts.problem), why));
  }
  TraceSetWriter writer(folder);
  for (const ExportedKernel& kernel : kernels) FATUNE_TRY_STATUS(writer.write(kernel));
  return std::move(writer.files);
}

}  // namespace fatune
