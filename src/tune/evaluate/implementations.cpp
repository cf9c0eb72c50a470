// implementations.cpp: Finds the kernel or the external implementation that a name means.
#include "tune/evaluate/implementations.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/run_program.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::string_view kPrefix = "fatune:";

Error unknown_name(const std::string& impl, const std::vector<KernelRef>& kernels) {
  std::vector<std::string> known = library_names();
  for (const KernelRef& kernel : kernels) {
    if (kernel->manifest.role != Role::kFault) known.push_back(kernel->manifest.name);
  }
  auto nearest = nearest_name(impl, known);
  const auto variant = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
    return name.starts_with(impl + ":");
  });
  if (!nearest && variant != known.end()) nearest = *variant;  // "torch" suggests "torch:flash"
  return usage_error(
      "there is no implementation '" + impl + "'" +
      (nearest ? "; did you mean " + *nearest + "?" : "; there are " + join(known, ", ")));
}

/// A kernel or an external implementation.
struct Meaning {
  std::optional<OutsideName> outside;
  KernelRef kernel;
};

Result<Meaning> find_meaning(const std::string& impl, const std::vector<KernelRef>& kernels,
                             std::string_view operation) {
  FATUNE_TRY(const auto outside, parse_outside_name(impl));
  const KernelRef kernel = outside ? nullptr : kernel_named(kernels, impl);
  if (!outside && !kernel) return unknown_name(impl, kernels);
  const bool attention = operation == "attention";
  const bool fits =
      kernel ? kernel->manifest.operation->name == operation
             : outside->computes == Computes::kBoth ||
                   outside->computes == (attention ? Computes::kAttention : Computes::kDeclared);
  if (fits) return Meaning{outside, kernel};
  const std::string_view computes = kernel      ? std::string_view(kernel->manifest.operation->name)
                                    : attention ? "a declared operation"
                                                : "attention";
  return usage_error(fmt::format(
      "{} computes {}, not {}; compare with kernels of {}{}", impl, computes, operation, operation,
      attention ? "" : ", its reference, torch:EXPR or python:FILE:FUNCTION"));
}

/// Rejects two functions whose names in records are equal, as they would share a row.
Status check_names_differ(const std::vector<std::string>& impls) {
  std::map<std::string, std::string> typed;
  for (const std::string& impl : impls) {
    FATUNE_TRY(const auto outside, parse_outside_name(impl));
    if (!outside) continue;
    const auto [other, is_new] = typed.emplace(outside->impl, impl);
    if (!is_new && other->second != impl) {
      return usage_error(fmt::format("{} and {} are both {} in records; rename a file or function",
                                     other->second, impl, outside->impl));
    }
  }
  return {};
}

/// Makes the path of "python:mine.py:attend" absolute, as the worker may run in another folder.
std::string backend_of(const OutsideName& name) {
  if (!name.variant.starts_with(kPythonPrefix)) return name.variant;
  const std::size_t begin = kPythonPrefix.size(), end = name.variant.rfind(':');
  std::error_code ignored;
  const auto file = std::filesystem::absolute(name.variant.substr(begin, end - begin), ignored);
  return fmt::format("{}{}{}", kPythonPrefix, file.string(), name.variant.substr(end));
}

/// Collects the settings that the implementation's origin needs in the worker.
OutsideProgram outside_program(const OutsideName& name, const OutsideOptions& options) {
  OutsideProgram program{name.impl};
  if (name.origin == Origin::kTorch) {
    const auto python = find_program(options.python, options.program_folders);
    program.settings["python"] = python ? python->string() : options.python;
    program.settings["backend"] = backend_of(name);
    return program;
  }
  Json folders = Json::array();
  for (const auto& folder : options.library_folders) folders.push_back(folder.string());
  program.settings["library_folders"] = std::move(folders);
  return program;
}

}  // namespace

Implementation implementation_of(Candidate candidate, RowRole role) {
  std::string impl = std::string(kPrefix) + candidate.kernel->manifest.name;
  return {std::move(impl), role, std::move(candidate)};
}

std::vector<OutsideProgram> outside_programs(std::span<const Implementation> implementations) {
  std::vector<OutsideProgram> programs;
  for (const Implementation& each : implementations) {
    if (each.outside) programs.push_back(*each.outside);
  }
  return programs;
}

CandidateRecord new_record(const Candidate& candidate, std::string id) {
  CandidateRecord record;
  record.id = std::move(id);
  record.key = candidate_key(candidate);
  record.kernel = candidate.kernel->manifest.name;
  record.config = to_json(candidate.config);
  record.problem = candidate.problem;
  return record;
}

FinalRecord new_record(const Implementation& contestant, std::string id) {
  FinalRecord record;
  record.impl = contestant.impl;
  record.role = contestant.role;
  record.id = std::move(id);
  record.problem = contestant.candidate.problem;
  if (!contestant.candidate.kernel) return record;
  record.kernel = contestant.candidate.kernel->manifest.name;
  record.config = to_json(contestant.candidate.config);
  return record;
}

void drop_times(FinalRecord& record) {
  for (const Time time : kAllTimes) {
    timing_of(record, time).reset();
    rounds_of(record, time).clear();
  }
}

KernelRef kernel_named(std::span<const KernelRef> kernels, std::string_view name) {
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelRef& kernel) {
    return kernel->manifest.name == name;
  });
  return found == kernels.end() ? nullptr : *found;
}

Status check_implementations(const std::vector<std::string>& impls,
                             const std::vector<KernelRef>& kernels, std::string_view operation) {
  for (const std::string& impl : impls) {
    if (auto meaning = find_meaning(impl, kernels, operation); !meaning)
      return std::move(meaning).error();
  }
  return check_names_differ(impls);
}

Result<std::vector<Implementation>> baseline_implementations(const std::vector<std::string>& impls,
                                                             const Problem& problem,
                                                             const std::vector<KernelRef>& kernels,
                                                             const OutsideOptions& options) {
  FATUNE_TRY_STATUS(check_implementations(impls, kernels, operation_name(problem)));
  std::vector<Implementation> rows;
  for (const std::string& impl : impls) {
    FATUNE_TRY(const Meaning meaning, find_meaning(impl, kernels, operation_name(problem)));
    Implementation row{impl, RowRole::kBaseline, {nullptr, {}, problem}, {}};
    if (meaning.outside) {
      row.outside = outside_program(*meaning.outside, options);
      row.impl = row.outside->impl;
    } else {
      row.candidate = {meaning.kernel, default_config(meaning.kernel->manifest), problem};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fatune
