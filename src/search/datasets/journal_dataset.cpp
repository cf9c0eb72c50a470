// journal_dataset.cpp: Groups a journal's candidates and converts them to recordings.
#include "search/datasets/journal_dataset.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/results/sweep_result.hpp"
#include "search/datasets/formats.hpp"

namespace fatune {
namespace {

/// Returns the outcome as RecordedEntry::failure spells it.
std::string failure_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kInfeasible:
    case Outcome::kPruned:  // given up before a timed run
      return "constraints";
    case Outcome::kCompileError:
      return "compile";
    case Outcome::kLaunchError:
    case Outcome::kCrashed:
      return "runtime";
    case Outcome::kWrongResult:
      return "correctness";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kDuplicate:
    case Outcome::kMeasured:
    case Outcome::kUnavailable:
      break;
  }
  return "unusable";
}

void settle(ToldRecord& config, Time time) {
  const Outcome outcome = config.record.outcome;
  const auto& timing = searched_timing(config.record, time);
  const bool timed = outcome == Outcome::kMeasured || outcome == Outcome::kPruned;
  if (timed && timing) {
    config.us = timing->median_us;
  } else {
    config.failure = failure_of(outcome);
  }
  const auto& verification = config.record.verification;
  config.checked = verification && verification->passed && !verification->skipped;
}

/// Copies the original's result to each duplicate.
void settle_all(JournalGroup& group) {
  std::unordered_map<std::string, std::size_t> originals;
  for (std::size_t i = 0; i < group.configs.size(); ++i) {
    ToldRecord& config = group.configs[i];
    settle(config, group.time);
    if (config.record.outcome != Outcome::kDuplicate) originals.emplace(config.record.id, i);
  }
  for (ToldRecord& config : group.configs) {
    if (config.record.outcome != Outcome::kDuplicate) continue;
    const auto original = originals.find(config.record.duplicate_of);
    if (original == originals.end()) continue;
    const ToldRecord& repeated = group.configs[original->second];
    config.us = repeated.us;
    config.failure = repeated.failure;
    config.checked = repeated.checked;
  }
}

std::map<Problem, NamedProblem> problems_of(const RunPlan& plan) {
  std::map<Problem, NamedProblem> problems;
  for (const NamedProblem& each : plan.problems) problems.emplace(each.problem, each);
  return problems;
}

Result<ListedConfig> read_config(const ToldRecord& journalled, const std::vector<ListedAxis>& axes,
                                 const std::string& where) {
  ListedConfig config;
  config.place = "candidate " + journalled.record.id;
  const Fields fields(journalled.record.config, where + ": " + config.place);
  if (fields.json().size() != axes.size()) {
    return file_error(fields.where() + ": has other parameters than the first of " +
                      journalled.record.kernel);
  }
  for (const ListedAxis& axis : axes) {
    FATUNE_TRY(const Json* value, fields.value(axis.name));
    config.values.push_back(value_from_json(*value));
  }
  config.entry.cost = journalled.us;
  config.entry.failure = journalled.failure;
  config.entry.seconds = seconds_spent(journalled.record);
  return config;
}

}  // namespace

std::vector<JournalGroup> group_candidates(const Journal& journal) {
  std::map<Problem, NamedProblem> problems = problems_of(journal.header.plan);
  const Time time = searched_time(journal);
  std::vector<JournalGroup> groups;
  std::map<std::pair<std::string, Problem>, std::size_t> known;
  std::unordered_map<std::string, std::size_t> places;  // place of a key in its group
  for (const Record& record : journal.records) {
    const auto* candidate = std::get_if<CandidateRecord>(&record);
    if (candidate == nullptr) continue;
    const auto [group, fresh] =
        known.try_emplace({candidate->kernel, candidate->problem}, groups.size());
    if (fresh) {
      const NamedProblem nameless{"", candidate->problem};
      const NamedProblem& problem = problems.emplace(nameless.problem, nameless).first->second;
      groups.push_back({candidate->kernel, problem, {}, time});
    }
    auto& configs = groups[group->second].configs;
    const std::string key = fmt::to_string(group->second) + dump(candidate->config);
    const auto [place, first] = places.try_emplace(key, configs.size());
    if (first) {
      configs.push_back({*candidate, {}, {}});
    } else {
      configs[place->second].record = *candidate;
    }
  }
  for (JournalGroup& group : groups) settle_all(group);
  return groups;
}

std::string describe(const NamedProblem& problem) {
  return (problem.name.empty() ? "" : problem.name + " ") + describe(problem.problem);
}

Time searched_time(const Journal& journal) {
  const auto has_layer = [](const Record& record) {
    const auto* candidate = std::get_if<CandidateRecord>(&record);
    return candidate != nullptr && candidate->in_layer.has_value();
  };
  const Time time = search_time(journal.header.plan.objective);
  const bool falls_back =
      time == Time::kInLayer && std::ranges::none_of(journal.records, has_layer);
  return falls_back ? Time::kHot : time;
}

double seconds_spent(const CandidateRecord& record) {
  return record.spent.compile_s + record.spent.verify_s + record.spent.timing_s;
}

std::vector<std::string> cautions(const JournalHeader& header) {
  std::vector<std::string> said;
  if (header.environment.recorded) said.emplace_back("recorded: measured earlier, not in this run");
  if (header.plan.skip_correctness)
    said.emplace_back("unchecked: no result was compared with a reference");
  return said;
}

Result<Recording> recording_of(const JournalGroup& group, const Journal& journal,
                               const std::string& where) {
  Recording recording;
  recording.where = where;
  recording.format = "fatune";
  recording.name = group.kernel;
  recording.device = journal.header.environment.device_name;
  recording.problem = describe(group.problem);
  recording.own_problem = group.problem.problem;
  recording.objective = name(group.time);
  recording.unit = "us";
  recording.remarks = cautions(journal.header);
  if (journal.cut) recording.remarks.emplace_back("cut last line: dropped");
  std::vector<ListedAxis> axes;
  for (const auto& item : group.configs.front().record.config.items()) axes.push_back({item.key()});
  std::vector<ListedConfig> configs;
  for (const ToldRecord& journalled : group.configs) {
    FATUNE_TRY(ListedConfig config, read_config(journalled, axes, where));
    configs.push_back(std::move(config));
  }
  return assemble(std::move(recording), std::move(axes), std::move(configs));
}

Result<std::vector<Recording>> read_journal(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Journal journal, parse_journal(text, where));
  const std::vector<JournalGroup> groups = group_candidates(journal);
  if (groups.empty()) return file_error(where + ": holds no config");
  std::vector<Recording> recordings;
  for (const JournalGroup& group : groups) {
    const std::string which =
        groups.size() > 1 ? where + ": " + group.kernel + " " + describe(group.problem) : where;
    FATUNE_TRY(Recording recording, recording_of(group, journal, which));
    recordings.push_back(std::move(recording));
  }
  return recordings;
}

}  // namespace fatune
