// load_trace_set.cpp - the files of a folder to definitions with their workloads, and these to a
// suite.
#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/interchange/trace_set.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20'000;     ///< of a folder; chosen
constexpr std::size_t kMostWorkloads = 2'000;  ///< of a definition, each read by itself; chosen
constexpr std::size_t kLargestDefinition = std::size_t{1} << 20U;  ///< bytes; chosen
constexpr std::size_t kShortUuid = 8;  ///< characters that tell workloads apart in names

/// Files below the folder that are wanted, in the order of their names; links are not followed.
template <typename Wanted>
Result<std::vector<fs::path>> files_below(const fs::path& folder, const Wanted& wanted) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  std::size_t seen = 0;
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (++seen > kMostFiles)
      return file_error(fmt::format("{}: holds more than {} files", folder.string(), kMostFiles));
    if (at->is_regular_file(error) && wanted(at->path())) files.push_back(at->path());
  }
  if (error) return file_error(fmt::format("{}: {}", folder.string(), error.message()));
  std::ranges::sort(files);
  return files;
}

struct DefinitionFile {
  TraceDefinition definition;
  std::string where;
  std::vector<TraceWorkload> workloads{};
};

Result<DefinitionFile> load_definition(const fs::path& path) {
  FATUNE_TRY(const std::string text, read_file(path, kLargestDefinition));
  FATUNE_TRY(TraceDefinition definition, parse_definition(text, path.string()));
  return DefinitionFile{std::move(definition), path.string()};
}

/// definitions/ and workloads/, which are bound by the definition's name.
Result<std::vector<DefinitionFile>> load_by_name(const fs::path& folder) {
  const auto ends = [](const char* extension) {
    return [extension](const fs::path& path) { return path.extension() == extension; };
  };
  std::vector<DefinitionFile> loaded;
  std::map<std::string, std::size_t> places;  ///< by name
  FATUNE_TRY(const auto definitions, files_below(folder / "definitions", ends(".json")));
  for (const fs::path& path : definitions) {
    FATUNE_TRY(DefinitionFile file, load_definition(path));
    places.emplace(file.definition.name, loaded.size());
    loaded.push_back(std::move(file));
  }
  std::error_code ignored;
  if (!fs::exists(folder / "workloads", ignored)) return loaded;
  FATUNE_TRY(const auto workloads, files_below(folder / "workloads", ends(".jsonl")));
  for (const fs::path& path : workloads) {
    FATUNE_TRY(const std::string text, read_file(path));
    FATUNE_TRY(std::vector<TraceWorkload> lines, parse_workloads(text, path.string()));
    for (TraceWorkload& each : lines) {
      const auto of = places.find(each.definition);
      if (of != places.end()) loaded[of->second].workloads.push_back(std::move(each));
    }
  }
  return loaded;
}

/// definition.json, each with the workload.jsonl beside it.
Result<std::vector<DefinitionFile>> load_side_by_side(const fs::path& folder) {
  FATUNE_TRY(const auto definitions, files_below(folder, [](const fs::path& path) {
               return path.filename() == "definition.json";
             }));
  std::vector<DefinitionFile> loaded;
  for (const fs::path& path : definitions) {
    FATUNE_TRY(DefinitionFile file, load_definition(path));
    const fs::path beside = path.parent_path() / "workload.jsonl";
    std::error_code ignored;
    if (fs::exists(beside, ignored)) {
      FATUNE_TRY(const std::string text, read_file(beside));
      FATUNE_TRY(file.workloads, parse_workloads(text, beside.string()));
    }
    loaded.push_back(std::move(file));
  }
  return loaded;
}

bool needs_workload(const TraceDefinition& definition) {
  return std::ranges::any_of(definition.axes, [](const TraceAxis& axis) {
    return !axis.constant && axis.expression.empty();
  });
}

/// The definition's name, with as much of the uuid as makes it the only one.
std::string problem_name(const DefinitionFile& file, const TraceWorkload& workload,
                         const Suite& suite) {
  const std::string& base = file.definition.name;
  std::string name = file.workloads.size() > 1
                         ? fmt::format("{}-{}", base, workload.uuid.substr(0, kShortUuid))
                         : base;
  const auto taken = [&] {
    return std::ranges::any_of(suite.problems,
                               [&](const NamedProblem& each) { return each.name == name; });
  };
  if (taken()) name = fmt::format("{}-{}", base, workload.uuid);
  if (taken()) name += fmt::format("-{}", suite.problems.size() + 1);
  return name;
}

/// Empty when the problem is another workload's, too, or is added.
Status add_workload(const DefinitionFile& file, const TraceWorkload& workload, Suite& suite) {
  FATUNE_TRY(const Problem problem, problem_of(file.definition, workload, file.where));
  const auto same = std::ranges::find_if(
      suite.problems, [&](const NamedProblem& each) { return each.problem == problem; });
  if (same == suite.problems.end()) {
    suite.problems.push_back({problem_name(file, workload, suite), problem});
  } else {
    log::info(fmt::format("{}: workload {} is the same problem as {}", file.where, workload.uuid,
                          same->name));
  }
  return {};
}

Status add_definition(DefinitionFile& file, Suite& suite) {
  FATUNE_TRY_STATUS(check_tensors(file.definition, file.where));
  if (file.workloads.empty()) {
    if (needs_workload(file.definition)) {
      return file_error(fmt::format(
          "{}: has variable axes, but no workloads: name the folder that holds both", file.where));
    }
    file.workloads.emplace_back();
  }
  if (file.workloads.size() > kMostWorkloads) {
    return file_error(fmt::format("{}: has {} workloads, but at most {} are read", file.where,
                                  file.workloads.size(), kMostWorkloads));
  }
  for (const TraceWorkload& workload : file.workloads)
    FATUNE_TRY_STATUS(add_workload(file, workload, suite));
  return {};
}

Result<Suite> suite_of(std::vector<DefinitionFile> files, std::string name) {
  Suite suite{std::move(name), "", {}};
  std::string first_reason;
  for (DefinitionFile& file : files) {
    const Status added = add_definition(file, suite);
    if (added) continue;
    if (first_reason.empty()) first_reason = added.error().message;
    if (files.size() > 1) log::info("left out: " + added.error().message);
  }
  if (!suite.problems.empty()) return suite;
  if (files.size() == 1) return file_error(first_reason);
  return file_error(fmt::format("none of {} is attention; the first: {}",
                                counted(files.size(), "definition"), first_reason));
}

}  // namespace

Result<Suite> load_trace_set(const fs::path& folder) {
  std::error_code ignored;
  const bool by_name = fs::exists(folder / "definitions", ignored);
  FATUNE_TRY(auto files, by_name ? load_by_name(folder) : load_side_by_side(folder));
  if (files.empty()) {
    return file_error(folder.string() +
                      ": holds no definitions/*.json (FlashInfer-Trace) and no definition.json "
                      "(SOL-ExecBench)");
  }
  return suite_of(std::move(files), fs::path(folder / "").parent_path().filename().string());
}

Result<Suite> suite_of(const TraceDefinition& definition, const std::string& where) {
  std::vector<DefinitionFile> files;
  files.push_back({definition, where});
  return suite_of(std::move(files), definition.name);
}

}  // namespace fatune
