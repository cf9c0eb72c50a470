// report_text.cpp - counts outcomes and ranks the candidates of a journal.
#include "out/text/report_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "out/text/candidates.hpp"
#include "out/text/importance_text.hpp"
#include "search/strategies/importance.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kBestShown = 10;  // of the best, in the short form; chosen

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
    if (ranked.place > kBestShown) break;
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

std::string run_text(const Journal& journal) {
  const Environment& environment = journal.header.environment;
  return environment.device_name + " (" + name(environment.limits.arch) +
         (environment.recorded ? ", recorded" : "") + "), strategy " +
         journal.header.plan.strategy + ", objective " + journal.header.plan.objective +
         (journal.header.plan.skip_correctness ? ", correctness not checked" : "") + "\n";
}

ReportedProblem reported(const PageProblem& problem, const JournalHeader& header) {
  const ProblemResult& result = problem.result;
  ReportedProblem reported{.problem = result.problem, .gate = result.gate};
  for (const JournalGroup& group : problem.groups) {
    ReportedKernel kernel{group.kernel, group.configs.size(), count_outcomes(group), "", {}};
    const std::vector<CandidateRecord> records = records_of(group);
    const auto ranked = rank_candidates(records, header.plan.objective == "cold" ? "cold" : "hot");
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
    auto& rows = record.role == "baseline" ? reported.baselines : reported.finalists;
    rows.push_back({record, "", standing.to_baseline, standing.ties_with_best, standing.score});
  }
  return reported;
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
    return candidates_csv(all, objective);
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
}

void fields(ReportDocument& x, FieldList& f) {
  f.document("fatune.report", 2);
  document::head_fields(x.head, f);
  f("sweep", x.sweep).omitted().about("The command that made the run");
  f.as<&document::device_fields>("device", x.environment);
  f("status", x.status).one_of("complete, interrupted, unfinished");
  f("strategy", x.strategy);
  f("objective", x.objective).one_of("hot, cold, score");
  f("seed", x.seed);
  f("problems", x.problems);
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
                          .problems = {}};
  document.head.recorded = run.header.environment.recorded;
  for (const PageProblem& problem : run.problems)
    document.problems.push_back(reported(problem, run.header));
  return document;
}

}  // namespace fatune::cli
