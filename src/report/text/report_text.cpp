// report_text.cpp: Sorts candidates, gives ties a shared place, counts outcomes, and builds rows.
#include "report/text/report_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "report/text/cells.hpp"
#include "report/text/kernel_text.hpp"
#include "report/text/suite_summary.hpp"

namespace fatune {
namespace {

std::string median_value(const std::optional<Timing>& timing) {
  return timing ? fixed(timing->median_us, 3) : "";
}

/// Gives members of members columns of their own, such as the sizes of an operation.
void flatten(const Json& object, Json& flat) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      flatten(value, flat);
    } else {
      flat[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
}

/// One object per row, and all member names in the order of first appearance.
struct NamedCells {
  std::vector<Json> rows;
  Json names = Json::object();

  void add(const Json& object) {
    Json& row = rows.emplace_back(Json::object());
    flatten(object, row);
    names.update(row);
  }
  void append(std::size_t row, std::vector<std::string>& line) const {
    for (const auto& name : names.items()) line.push_back(rows[row].value(name.key(), ""));
  }
};

/// Returns measured candidates by place, then the others at place 0 in the order tried.
std::vector<Ranked> in_order(std::span<const CandidateRecord> candidates, Time time) {
  std::vector<Ranked> rows = rank_candidates(candidates, time);
  for (const CandidateRecord& record : candidates) {
    const bool placed = record.outcome == Outcome::kMeasured && searched_timing(record, time);
    if (!placed) rows.push_back({&record, 0});
  }
  return rows;
}

std::string place_text(const Ranked& row) { return row.place > 0 ? fmt::to_string(row.place) : ""; }

std::vector<std::string> with_measured(std::vector<std::string> line,
                                       const CandidateRecord& record) {
  const Resources used = record.resources.value_or(Resources{});
  const bool checked = record.verification && !record.verification->skipped;
  const auto known = [&](std::int64_t count) {
    return record.resources ? fmt::to_string(count) : "";
  };
  line.insert(
      line.end(),
      {std::string(name(record.outcome)), median_value(record.in_layer), median_value(record.hot),
       median_value(record.cold), checked ? fixed(record.verification->margin, 3) : "",
       known(used.registers), known(used.static_shared_bytes + used.dynamic_shared_bytes),
       known(used.spill_store_bytes + used.spill_load_bytes), record.id, record.reason});
  return line;
}

Table with_measured(std::vector<Column> columns) {
  columns.insert(columns.end(),
                 {"outcome", ">in_layer_median_us", ">hot_median_us", ">cold_median_us", ">margin",
                  ">registers", ">shared_bytes", ">spill_bytes", "id", "reason"});
  return Table(std::move(columns));
}

/// Returns "passed", "failed", "skipped" (--skip-correctness), or empty without a run.
std::string gates_text(const CandidateRecord& record) {
  if (!record.verification) return "";
  if (record.verification->skipped) return "skipped";
  return record.verification->passed ? "passed" : "failed";
}

constexpr std::size_t kBestShown = 10;  // number of best candidates in the short form; chosen

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

std::string headline(const JournalGroup& group) {
  std::vector<std::string> outcomes;
  for (const auto& [outcome, count] : count_outcomes(group))
    outcomes.push_back(fmt::format("{} {}", count, name(outcome)));
  return fmt::format("{}, {}: {} configs ({})", group.kernel, describe(group.problem),
                     group.configs.size(), join(outcomes, ", "));
}

std::string short_text(const JournalGroup& group, Time time, const Paint& paint) {
  const std::vector<CandidateRecord> records = records_of(group);
  Table table({">place", fmt::format(">{} us, search", describe(time)), "config"});
  std::vector<Ranked> best = rank_candidates(records, time);
  best.resize(std::min(best.size(), kBestShown));
  for (const Ranked& ranked : best) {
    const auto& timing = searched_timing(*ranked.record, time);
    table.add({fmt::to_string(ranked.place), fixed(timing->median_us, 3),
               describe_config(ranked.record->config)});
  }
  return paint.fitted(headline(group)) +
         (table.empty() ? "nothing was measured\n" : table.text(paint.columns()));
}

std::string explained(const JournalGroup& group, const Journal& journal, ImportanceFormat format,
                      const Paint& paint) {
  const auto recording = recording_of(group, journal, "the journal");
  if (!recording) {
    const std::string& why = recording.error().message;
    return "What the parameters explain: " +
           (format == ImportanceFormat::kMarkdown ? markdown_text(why) : why) + "\n";
  }
  return importance_text(importance_of(*recording), format, paint);
}

std::string run_text(const Journal& journal) {
  const RunPlan& plan = journal.header.plan;
  return fmt::format("{}, strategy {}, objective {}{}\n", device_text(journal.header.environment),
                     plan.strategy, name(plan.objective),
                     plan.skip_correctness ? ", correctness not checked" : "");
}

ReportedProblem reported(const PageProblem& problem, const JournalHeader& header) {
  const ProblemResult& result = problem.result;
  ReportedProblem reported{.problem = result.problem, .gate = result.gate};
  reported.sol = sol_score(result, header.plan.objective, header.environment);
  for (const JournalGroup& group : problem.groups) {
    ReportedKernel kernel{group.kernel, group.configs.size(), count_outcomes(group), "", {}};
    const std::vector<CandidateRecord> records = records_of(group);
    const auto ranked = rank_candidates(records, search_time(header.plan.objective));
    if (!ranked.empty()) kernel.best = ranked.front().record->id;
    if (const auto recording = recording_of(group, {header, {}, false}, "the journal"))
      kernel.importance = importance_of(*recording);
    reported.kernels.push_back(std::move(kernel));
    reported.candidates.insert(reported.candidates.end(), records.begin(), records.end());
  }
  std::stable_sort(reported.candidates.begin(), reported.candidates.end(),
                   [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
  for (std::size_t i = 0; i < result.finals.size(); ++i) {
    const FinalRecord& record = result.finals[i];
    const Standing& standing = result.standings[i];
    auto& rows = record.is_baseline() ? reported.baselines : reported.finalists;
    rows.push_back({record, "", standing.to_baseline, standing.ties_with_best, standing.score});
  }
  return reported;
}

}  // namespace

std::vector<Ranked> rank_candidates(std::span<const CandidateRecord> candidates, Time time) {
  std::vector<Ranked> ranked;
  for (const CandidateRecord& record : candidates) {
    const bool timed = searched_timing(record, time).has_value();
    if (record.outcome == Outcome::kMeasured && timed) ranked.push_back({&record, 0});
  }
  const auto timing = [&](const Ranked& entry) -> const Timing& {
    return *searched_timing(*entry.record, time);
  };
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    return timing(a).median_us < timing(b).median_us;
  });
  std::size_t first = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (told_apart(timing(ranked[i]), timing(ranked[first]))) first = i;
    ranked[i].place = first + 1;
  }
  return ranked;
}

Table candidates_table(std::span<const CandidateRecord> candidates, Time time) {
  Table table = with_measured({">place", "kernel", "config"});
  for (const Ranked& row : in_order(candidates, time)) {
    table.add(with_measured(
        {place_text(row), row.record->kernel, describe_config(row.record->config)}, *row.record));
  }
  return table;
}

std::string candidates_csv(std::span<const CandidateRecord> candidates, Time time) {
  NamedCells problems, parameters;
  // Uses the order tried, so that columns do not depend on the times.
  for (const CandidateRecord& record : candidates) {
    problems.add(to_json(record.problem));
    parameters.add(record.config);
  }
  std::vector<Column> columns = {"place", "kernel"};
  for (const NamedCells* part : {&problems, &parameters}) {
    for (const auto& name : part->names.items()) columns.emplace_back(name.key());
  }
  columns.insert(columns.end(), {"recorded", "gates"});
  Table table = with_measured(std::move(columns));
  for (const Ranked& row : in_order(candidates, time)) {
    const auto at = static_cast<std::size_t>(row.record - candidates.data());
    std::vector<std::string> line = {place_text(row), row.record->kernel};
    problems.append(at, line);
    parameters.append(at, line);
    line.insert(line.end(), {row.record->recorded ? "true" : "false", gates_text(*row.record)});
    table.add(with_measured(std::move(line), *row.record));
  }
  return table.csv();
}

std::string report_text(const std::vector<JournalGroup>& groups, const Journal& journal,
                        const std::string& format, const Paint& paint) {
  const Time time = searched_time(journal);
  if (format == "csv") {
    std::vector<CandidateRecord> all;
    for (const JournalGroup& group : groups) {
      const auto records = records_of(group);
      all.insert(all.end(), records.begin(), records.end());
    }
    return candidates_csv(all, time);
  }
  std::string text = format == "md" ? "# Run\n\n" + markdown_text(trim(run_text(journal))) + "\n"
                                    : run_text(journal);
  for (const JournalGroup& group : groups) {
    text += format == "md" ? "\n## " + markdown_text(headline(group)) + "\n\n" +
                                 candidates_table(records_of(group), time).markdown() + "\n" +
                                 explained(group, journal, ImportanceFormat::kMarkdown, paint)
                           : "\n" + short_text(group, time, paint) + "\n" +
                                 explained(group, journal, ImportanceFormat::kText, paint);
  }
  return text;
}

void fields(ReportedKernel& x, FieldList& f) {
  f("kernel", x.kernel);
  f("configs", x.configs);
  f("outcomes", x.outcomes);
  f("best", x.best).omitted().looks_like(kIdPattern).about("Id of its fastest candidate");
  f("importance", x.importance);
}

void fields(ReportedProblem& x, FieldList& f) {
  document::problem_fields(x.problem.name, x.problem.problem, f);
  f("kernels", x.kernels);
  f.as<&document::candidate_fields>("candidates", x.candidates).about("In the order tried");
  f("finalists", x.finalists);
  f("baselines", x.baselines);
  f("gate", x.gate);
  f("sol", x.sol);
}

void fields(ReportDocument& x, FieldList& f) {
  f.document("fatune.report");
  document::head_fields(x.head, f);
  f("sweep", x.sweep).omitted().about("The command that made the run");
  f.as<&device_fields>("device", x.environment);
  f("status", x.status).one_of("complete, interrupted, unfinished");
  f("strategy", x.strategy);
  f("objective", x.objective);
  f("seed", x.seed);
  f("correctness", x.correctness).omitted().one_of("skipped");
  f("problems", x.problems);
  f("fast_p", x.fast_p);
}

ReportDocument report_document(const PageRun& run, DocumentHead head) {
  const RunPlan& plan = run.header.plan;
  ReportDocument document{.head = std::move(head),
                          .sweep = plan.command,
                          .environment = run.header.environment,
                          .status = run.status,
                          .strategy = plan.strategy,
                          .objective = plan.objective,
                          .seed = plan.seed,
                          .correctness = plan.skip_correctness ? "skipped" : "",
                          .problems = {}};
  document.head.recorded = run.header.environment.recorded;
  for (const PageProblem& problem : run.problems)
    document.problems.push_back(reported(problem, run.header));
  document.fast_p = fast_p_of(SuiteFinals(run));
  return document;
}

}  // namespace fatune
