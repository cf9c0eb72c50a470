// kernelbot.cpp - the fields of a task, then its two functions with the sizes of each benchmark.
#include "model/interchange/kernelbot.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/log.hpp"
#include "core/yaml.hpp"
#include "model/interchange/reference.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;
using StatementKind = PyStatement::Kind;

constexpr std::size_t kMostBenchmarks = 500;  ///< each is read by itself; chosen
constexpr const char* kReferenceFile = "reference.py";

Result<std::string> reference_path(const Fields& task) {
  FATUNE_TRY(const auto files, task.objects_or_empty("files"));
  for (const Fields& file : files) {
    FATUNE_TRY(const std::string name, file.text("name"));
    if (name == kReferenceFile) return file.text("source");
  }
  return task.error("files", fmt::format("names no {}", kReferenceFile));
}

/// The module without what says how outputs are compared: fatune's own limits stand for it.
Result<std::vector<PyStatement>> reference_module(std::string_view text, const std::string& where) {
  FATUNE_TRY(std::vector<PyStatement> module, parse_python(text, where));
  std::erase_if(module, [](const PyStatement& each) {
    return each.kind == StatementKind::kAssign &&
           each.names == std::vector<std::string>{"check_implementation"};
  });
  return module;
}

Result<const PyStatement*> required_function(const std::vector<PyStatement>& module,
                                             const char* name, const std::string& where) {
  const PyStatement* found = find_block(module, StatementKind::kFunction, name);
  if (found != nullptr) return found;
  return file_error(fmt::format("{}: has no {}(): it is no reference of KernelBot", where, name));
}

Result<Dtype> dtype_of(const std::vector<ReferenceArgument>& inputs, const std::string& where) {
  const auto first = std::ranges::find_if(inputs, &ReferenceArgument::tensor);
  if (first == inputs.end()) return file_error(where + ": generate_input() makes no tensors");
  for (const ReferenceArgument& each : inputs) {
    if (!each.tensor || each.dtype == first->dtype) continue;
    return file_error(fmt::format("{}: {} is {}, {} is {}: kernels have one element type", where,
                                  each.name, each.dtype, first->name, first->dtype));
  }
  const Result<Dtype> dtype = dtype_of_torch(first->dtype);
  if (dtype && size_of(*dtype) == 2) return dtype;
  return file_error(
      fmt::format("{}: its tensors are {}, not float16 or bfloat16", where, first->dtype));
}

Result<Problem> problem_of(const std::map<std::string, std::int64_t>& sizes,
                           const std::vector<PyStatement>& module, const std::string& where) {
  FATUNE_TRY(const PyStatement* generate, required_function(module, "generate_input", where));
  FATUNE_TRY(const PyStatement* reference, required_function(module, "ref_kernel", where));
  for (const auto& [name, value] : sizes) {
    if (std::ranges::count(generate->names, name) == 0)
      return file_error(fmt::format("{}: generate_input() has no parameter '{}'", where, name));
  }
  FATUNE_TRY(const auto inputs, made_by(*generate, sizes, module, where));
  FATUNE_TRY(const Dtype dtype, dtype_of(inputs, where));
  FATUNE_TRY(Problem problem,
             attention_of(*reference, {{.name = "data", .parts = inputs}}, module, where));
  problem.dtype = dtype;
  if (const Status valid = validate(problem); !valid)
    return file_error(where + ": " + valid.error().message);
  return problem;
}

}  // namespace

Result<KernelBotTask> parse_kernelbot(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_yaml(text, where));
  const Fields fields(document, where);
  FATUNE_TRY(const std::string language, fields.text("lang"));
  if (language != "py") return fields.error("lang", "is '" + language + "': only py is read");
  KernelBotTask task;
  FATUNE_TRY(task.reference, reference_path(fields));
  FATUNE_TRY(const auto benchmarks, fields.objects_or_empty("benchmarks"));
  if (benchmarks.empty()) return fields.error("benchmarks", "must hold at least one");
  if (benchmarks.size() > kMostBenchmarks)
    return fields.error("benchmarks", fmt::format("holds more than {}", kMostBenchmarks));
  for (const Fields& benchmark : benchmarks) {
    std::map<std::string, std::int64_t>& sizes = task.benchmarks.emplace_back();
    for (const auto& item : benchmark.json().items()) {
      FATUNE_TRY(sizes[item.key()], benchmark.integer(item.key()));
    }
  }
  return task;
}

Result<Suite> suite_of(const KernelBotTask& task, std::string_view reference,
                       const std::string& where) {
  FATUNE_TRY(const auto module,
             reference_module(reference, fmt::format("{}: {}", where, kReferenceFile)));
  Suite suite;
  for (std::size_t i = 0; i < task.benchmarks.size(); ++i) {
    const std::string place = field_place(where, fmt::format("benchmarks[{}]", i));
    FATUNE_TRY(const Problem problem, problem_of(task.benchmarks[i], module,
                                                 fmt::format("{}: {}", place, kReferenceFile)));
    const auto same = std::ranges::find(suite.problems, problem, &NamedProblem::problem);
    if (same == suite.problems.end()) {
      suite.problems.push_back({fmt::format("benchmark-{}", i + 1), problem});
    } else {
      log::info(fmt::format("{} is the same problem as {}", place, same->name));
    }
  }
  return suite;
}

Result<Suite> load_kernelbot(const fs::path& task) {
  FATUNE_TRY(const std::string text, read_file(task, kLargestYaml));
  FATUNE_TRY(const KernelBotTask parsed, parse_kernelbot(text, task.string()));
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(task, error).parent_path(), error);
  const fs::path reference = fs::weakly_canonical(folder / parsed.reference, error);
  const fs::path inside = reference.lexically_relative(folder);
  if (error || inside.empty() || *inside.begin() == "..") {
    return file_error(fmt::format("{}: field 'files': {} is '{}', which is not in this folder",
                                  task.string(), kReferenceFile, parsed.reference));
  }
  FATUNE_TRY(const std::string python, read_file(reference));
  FATUNE_TRY(Suite suite, suite_of(parsed, python, task.string()));
  suite.name = folder.filename().string();
  return suite;
}

}  // namespace fatune
