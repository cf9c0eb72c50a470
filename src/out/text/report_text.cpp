// report_text.cpp - counts outcomes and ranks the candidates of a journal.
#include "out/text/report_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/results/sweep_result.hpp"
#include "out/text/candidates.hpp"
#include "out/text/importance_text.hpp"
#include "out/text/ranking.hpp"
#include "search/replay/landscape.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kShown = 10;  // of the best, in the short form; chosen

std::vector<CandidateRecord> records_of(const JournalGroup& group) {
  std::vector<CandidateRecord> records;
  for (const ToldRecord& config : group.configs) records.push_back(config.record);
  return records;
}

std::map<Outcome, std::size_t> count_outcomes(const JournalGroup& group) {
  std::map<Outcome, std::size_t> counts;
  for (const ToldRecord& config : group.configs) ++counts[config.record.outcome];
  return counts;
}

std::string outcome_text(const JournalGroup& group) {
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : count_outcomes(group))
    parts.push_back(fmt::format("{} {}", count, name(outcome)));
  return join(parts, ", ");
}

std::string headline(const JournalGroup& group) {
  return fmt::format("{}, {}: {} configs ({})", group.kernel, describe(group.problem),
                     group.configs.size(), outcome_text(group));
}

Table best_table(const std::vector<CandidateRecord>& records, const std::string& objective) {
  Table table({{"place", Align::kRight}, {objective + " us", Align::kRight}, {"config"}});
  for (const Ranked& ranked : rank_candidates(records, objective)) {
    if (ranked.place > kShown) break;
    const auto& timing = objective_timing(*ranked.record, objective);
    table.add({fmt::to_string(ranked.place), fixed(timing->median_us, 3),
               describe_config(ranked.record->config)});
  }
  return table;
}

std::string short_text(const JournalGroup& group, const std::string& objective,
                       const Paint& paint) {
  const Table table = best_table(records_of(group), objective);
  return paint.fitted(headline(group)) +
         (table.empty() ? "nothing was measured\n" : table.text(paint.columns()));
}

std::string explained(const JournalGroup& group, const Journal& journal, ImportanceFormat format,
                      const Paint& paint) {
  const auto recording = recording_of(group, journal, "the journal");
  if (!recording) return "What the parameters explain: " + recording.error().message + "\n";
  return importance_text(importance_of(*recording), format, paint);
}

const ToldRecord* best_of(const JournalGroup& group) {
  const ToldRecord* best = nullptr;
  for (const ToldRecord& config : group.configs) {
    if (config.us && (best == nullptr || *config.us < *best->us)) best = &config;
  }
  return best;
}

std::string run_text(const Journal& journal) {
  const Environment& environment = journal.header.environment;
  return environment.device_name + " (" + name(environment.limits.arch) +
         (environment.recorded ? ", recorded" : "") + "), strategy " +
         journal.header.plan.strategy + ", objective " + journal.header.plan.objective +
         (journal.header.plan.skip_correctness ? ", correctness not checked" : "") + "\n";
}

}  // namespace

std::string report_text(const std::vector<JournalGroup>& groups, const Journal& journal,
                        const std::string& format, const Paint& paint) {
  const std::string objective = timed_objective(journal);
  if (format == "csv") {
    std::vector<CandidateRecord> all;
    for (const JournalGroup& group : groups) {
      const auto records = records_of(group);
      all.insert(all.end(), records.begin(), records.end());
    }
    return candidates_table(all, objective).csv();
  }
  std::string text = format == "md" ? "# Run\n\n" + run_text(journal) : run_text(journal);
  for (const JournalGroup& group : groups) {
    text += format == "md" ? "\n## " + headline(group) + "\n\n" +
                                 candidates_table(records_of(group), objective).markdown() + "\n" +
                                 explained(group, journal, ImportanceFormat::kMarkdown, paint)
                           : "\n" + short_text(group, objective, paint) + "\n" +
                                 explained(group, journal, ImportanceFormat::kText, paint);
  }
  return text;
}

Json report_json(const std::vector<JournalGroup>& groups, const Journal& journal) {
  Json entries = Json::array();
  for (const JournalGroup& group : groups) {
    Json outcomes = Json::object();
    for (const auto& [outcome, count] : count_outcomes(group))
      outcomes[std::string(name(outcome))] = count;
    Json entry = {{"kernel", group.kernel},
                  {"name", group.problem.name},
                  {"problem", to_json(group.problem.problem)},
                  {"configs", group.configs.size()},
                  {"outcomes", outcomes},
                  {"best", nullptr},
                  {"importance", nullptr}};
    if (const auto recording = recording_of(group, journal, "the journal"))
      entry["importance"] = to_json(importance_of(*recording));
    if (const ToldRecord* best = best_of(group))
      entry["best"] = {{"config", best->record.config}, {"id", best->record.id}, {"us", *best->us}};
    entries.push_back(std::move(entry));
  }
  return {{"schema", "fatune.report/1"},
          {"device", journal.header.environment.device_name},
          {"objective", timed_objective(journal)},
          {"groups", entries}};
}

}  // namespace fatune::cli
