// journal_dataset.cpp - a fatune journal to one recording for each kernel and problem.
#include <utility>

#include <nlohmann/json.hpp>

#include "search/datasets/assemble.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/journal_groups.hpp"

namespace fatune {
namespace {

Result<ListedConfig> read_config(const JournalledConfig& journalled,
                                 const std::vector<ListedAxis>& axes, const std::string& where) {
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

Result<Recording> recording_of(const JournalGroup& group, const Journal& journal,
                               const std::string& where) {
  Recording recording;
  recording.where = where;
  recording.format = "fatune";
  recording.name = group.kernel;
  recording.device = journal.header.environment.device_name;
  recording.problem = describe(group.problem);
  recording.own_problem = group.problem.problem;
  recording.objective = timed_objective(journal);
  recording.unit = "us";
  if (journal.cut) recording.remarks.emplace_back("cut last line: dropped");
  std::vector<ListedAxis> axes;
  for (const auto& item : group.configs.front().record.config.items())
    axes.push_back({item.key(), {}});
  std::vector<ListedConfig> configs;
  for (const JournalledConfig& journalled : group.configs) {
    FATUNE_TRY(ListedConfig config, read_config(journalled, axes, where));
    configs.push_back(std::move(config));
  }
  FATUNE_TRY_STATUS(assemble(std::move(axes), std::move(configs), recording));
  return recording;
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
