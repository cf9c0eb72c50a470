// sweep_report.cpp: Writes what was tried, the finalists, the winner and the next commands.
#include "report/text/sweep_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/results/sol_score.hpp"
#include "report/text/cells.hpp"
#include "report/text/report_text.hpp"
#include "report/text/suite_summary.hpp"

namespace fatune {
namespace {

constexpr std::size_t kFilesShown = 3;  // shown files of warm starts; chosen

std::string skip_mark(const SweepResult& run) {
  return run.plan.skip_correctness ? " - CORRECTNESS NOT CHECKED (--skip-correctness)" : "";
}

std::string shared_cell(const FinalRecord& record) {
  if (!record.resources) return "-";
  const std::int64_t bytes =
      record.resources->static_shared_bytes + record.resources->dynamic_shared_bytes;
  return describe(Bytes(static_cast<std::uint64_t>(bytes)));
}

/// Returns "1", "2=" for a tie with the best, or "-" for a baseline or a failure.
std::string place_cell(const FinalRecord& record, const Standing& standing, std::size_t& place) {
  if (record.is_baseline() || record.outcome != Outcome::kMeasured) return "-";
  return fmt::format("{}{}", ++place, standing.ties_with_best ? "=" : "");
}

std::vector<std::string> finalist_row(const FinalRecord& record, const Standing& standing,
                                      const std::string& place, const std::string& gate_baseline,
                                      const std::vector<TimeColumn>& times) {
  const bool measured = record.outcome == Outcome::kMeasured;
  const auto ratio = record.impl == gate_baseline ? std::nullopt : standing.to_baseline;
  std::vector<std::string> row = {place, record.impl};
  for (std::string& cell : time_cells(record, times)) row.push_back(std::move(cell));
  row.push_back(rate_cell(record));
  row.push_back(ratio_cell(ratio));
  row.push_back(ratio_interval_cell(ratio));
  row.push_back(!measured              ? std::string(name(record.outcome))
                : record.is_baseline() ? "baseline"
                                       : standing.verdict);
  return row;
}

/// Returns the parameters that differ from the winner's; the whole config for another kernel.
std::string differing_config(const FinalRecord& record, const FinalRecord* best) {
  if (best == nullptr || best == &record || best->impl != record.impl)
    return describe_config(record.config);
  Json differing = Json::object();
  for (const auto& [parameter, value] : record.config.items()) {
    if (!best->config.contains(parameter) || best->config[parameter] != value)
      differing[parameter] = value;
  }
  return describe_config(differing);
}

/// Returns the parameters that differ from those of the kernel's first row.
std::string differing_from_first(const std::vector<FinalRecord>& finals,
                                 const FinalRecord& record) {
  const auto first = std::find_if(finals.begin(), finals.end(), [&](const FinalRecord& other) {
    return other.impl == record.impl;
  });
  return &*first == &record ? "" : differing_config(record, &*first);
}

/// Returns "BLOCK_M=64 (default)" for a candidate that ran. For other implementations returns name
/// and detail, or the reason for not running.
std::string what_ran(const FinalRecord& record, const FinalRecord* best) {
  const bool measured = record.outcome == Outcome::kMeasured;
  std::string text = differing_config(record, best);
  if (record.is_baseline() || !measured) text = record.impl + (text.empty() ? "" : " ") + text;
  if (record.role == RowRole::kDefault) text += " (default)";
  if (!record.detail.empty()) text += ": " + record.detail;
  if (measured) return text;
  const std::string reason = first_line(record.reason);
  return text + ": " + std::string(name(record.outcome)) + (reason.empty() ? "" : ", " + reason);
}

std::vector<std::string> config_row(const FinalRecord& record, const FinalRecord* best,
                                    const std::string& place) {
  return {place, record.resources ? fmt::to_string(record.resources->registers) : "-",
          shared_cell(record), record.verification ? fixed(record.verification->margin, 2) : "-",
          what_ran(record, best)};
}

/// Returns the reference of the ratios: the gate's baseline, else the fastest baseline.
std::string compared_with(const ProblemResult& problem) {
  if (problem.gate) return problem.gate->baseline;
  const auto first = std::ranges::find_if(problem.finals, &FinalRecord::is_baseline);
  return first == problem.finals.end() ? "baseline" : first->impl;
}

/// Emphasises the winner and dims baselines.
std::vector<std::string> painted(std::vector<std::string> cells, const std::string& place,
                                 const Paint& paint) {
  const bool first = place == "1" || place == "1=";
  if (!first && place != "-") return cells;
  for (std::string& cell : cells) cell = paint(first ? Tone::kGood : Tone::kFaint, cell);
  return cells;
}

std::string finalists(const ProblemResult& problem, const SweepResult& run, const Paint& paint) {
  const std::string baseline = compared_with(problem);
  const std::vector<TimeColumn> times = time_columns(problem.finals, run.plan.objective);
  std::vector<Column> heads = {">#", "implementation"};
  for (Column& head : time_heads(times)) heads.push_back(std::move(head));
  for (Column& head : std::vector<Column>{{">" + rate_name(problem.problem.problem), 1},
                                          ">x " + baseline,
                                          {">95 %", 3},
                                          "verdict"}) {
    heads.push_back(std::move(head));
  }
  Table table(std::move(heads));
  Table configs({">#", ">regs", ">shared", ">margin", "config"});
  std::size_t place = 0;
  for (std::size_t i = 0; i < problem.finals.size(); ++i) {
    const FinalRecord& record = problem.finals[i];
    const std::string cell = place_cell(record, problem.standings[i], place);
    const auto row = finalist_row(record, problem.standings[i], cell, baseline, times);
    table.add(painted(row, cell, paint));
    table.add_below(differing_from_first(problem.finals, record));
    configs.add(painted(config_row(record, problem.best(), cell), cell, paint));
  }
  std::string text = "Finalists (final phase, interleaved rounds" + skip_mark(run) + ")\n";
  text += table.text(paint.columns());
  const auto tied = [](const Standing& standing) { return standing.ties_with_best; };
  if (std::any_of(problem.standings.begin(), problem.standings.end(), tied)) {
    text += paint.fitted(
        "= cannot be told from the best; the one that takes least registers and shared memory "
        "leads");
  }
  const auto searched = [](const FinalRecord& r) { return r.hot && !r.hot->ci95_low_us; };
  if (std::any_of(problem.finals.begin(), problem.finals.end(), searched))
    text += "- no interval: timed in the search only, not in the final rounds\n";
  return text + "\nConfigs (1 in full, others where they differ; margin: error over tolerance)\n" +
         configs.text(paint.columns());
}

/// Returns the reason of the first candidate with this outcome.
std::string example(const ProblemResult& problem, Outcome outcome) {
  const auto found =
      std::find_if(problem.candidates.begin(), problem.candidates.end(),
                   [&](const CandidateRecord& record) { return record.outcome == outcome; });
  if (found == problem.candidates.end()) return "";
  if (outcome == Outcome::kDuplicate && found->reason.empty())
    return "same machine code as " + found->duplicate_of;
  return first_line(found->reason);
}

/// Returns a text such as "4, from configs/known/sm_90a.json, first/best.json and 2 other files".
std::string warm_starts(const ProblemResult& problem) {
  std::vector<std::string> files;
  for (const SavedConfig& each : problem.warm_starts) {
    std::string file = each.source.substr(0, each.source.find(" ("));
    if (std::ranges::count(files, file) == 0) files.push_back(std::move(file));
  }
  std::string text = fmt::format("Warm starts: {}", problem.warm_starts.size());
  if (files.empty()) return text;
  const std::size_t others = files.size() - std::min(files.size(), kFilesShown);
  files.resize(files.size() - others);
  text += ", from " + join(files, ", ");
  return others == 0 ? text : text + fmt::format(" and {} more", others);
}

/// Says whether the search or a known config gave the winner.
std::string known_line(const ProblemResult& problem) {
  if (problem.warm_starts.empty() || problem.best() == nullptr) return "";
  const SavedConfig* known = problem.known_best();
  if (known == nullptr) return "The winner is none of the warm starts";
  return fmt::format("The winner was known: {}, for {}", known->source, describe(*known->problem));
}

std::string outcomes(const ProblemResult& problem, const SweepResult& run, const Paint& paint) {
  Table table({">candidates", "outcome", "for example"});
  for (const Outcome outcome : kAllOutcomes) {
    const auto count = problem.outcomes.find(outcome);
    if (count == problem.outcomes.end()) continue;
    const std::string reason = outcome == Outcome::kMeasured ? "" : example(problem, outcome);
    table.add({fmt::to_string(count->second), std::string(name(outcome)), reason});
  }
  // An interrupted search may not have built all spaces.
  const bool whole = !run.interrupted || !problem.finals.empty();
  const std::string of =
      whole && problem.valid_points > 0 ? fmt::format(" of {} valid", problem.valid_points) : "";
  std::string text = fmt::format("Tried: {}{} configs in {}{}\n", problem.candidates.size(), of,
                                 describe(Seconds(problem.seconds)), skip_mark(run));
  text += table.text(paint.columns());
  text += paint.fitted(warm_starts(problem));
  for (const std::string& reason : problem.left_out) text += paint.fitted("left out: " + reason);
  return text;
}

std::string headline(const ProblemResult& problem, const SweepResult& run) {
  return label(problem.problem) + " on " + device_text(run.environment) + skip_mark(run);
}

/// Names the fastest candidate of an interrupted search.
std::string best_so_far(const ProblemResult& problem, const RunPlan& plan) {
  const Time time = search_time(plan.objective);
  const std::vector<Ranked> ranked = rank_candidates(problem.candidates, time);
  const std::string ended = "interrupted before the final phase";
  if (ranked.empty()) return ended;
  const CandidateRecord& best = *ranked.front().record;
  return fmt::format("{}; best so far: {}, {} (an estimate of the search)", ended, best.kernel,
                     describe(Micros(searched_timing(best, time)->median_us)));
}

/// Writes the winner's times and its ratio to the fastest baseline.
std::string winner(const ProblemResult& problem, const SweepResult& run) {
  const FinalRecord* best = problem.best();
  if (best == nullptr) {
    if (!problem.finals.empty()) return "no candidate passed the final phase";
    return run.interrupted ? best_so_far(problem, run.plan) : "no correct candidate";
  }
  const Time time = final_time(problem.finals, run.plan.objective);
  const auto& timing = timing_of(*best, time);
  std::string text = "Winner: " + best->impl;
  if (timing) {
    text += fmt::format(" at {} {}, {} {}", describe(Micros(timing->median_us)), describe(time),
                        rate_text(best->problem, *timing), rate_name(best->problem));
  }
  const Standing& standing = problem.standings.front();
  if (standing.score) text += ", score " + fixed(*standing.score, 1);
  if (standing.to_baseline && problem.gate) {
    text += fmt::format(", {}x {}: {}", ratio_cell(standing.to_baseline), problem.gate->baseline,
                        standing.verdict);
  }
  return text + skip_mark(run);
}

/// Lists the commands for the next steps.
std::string next_commands(const SweepResult& run) {
  const std::string folder = shell_word(run.folder.string());
  std::string text = "Next:\n";
  const bool recorded = run.environment.recorded;
  if (!recorded) text += fmt::format("  fatune bench --config {}\n", folder);
  return text + fmt::format(
                    "  fatune export {0} --to cubin {1}\n"
                    "  fatune report {0} -o report.html\n",
                    folder, recorded ? "--unverified" : "-o out");
}

/// Returns how many processes of others computed on the GPU while the best was measured.
int others_on_gpu(const ProblemResult& problem) {
  const FinalRecord* best = problem.best();
  return best != nullptr && best->conditions ? best->conditions->other_processes : 0;
}

std::string gate_line(const Gate& gate, const Paint& paint) {
  return fmt::format("Gate: {} {} of {}, limit {}: {}\n", ratio_cell(gate.ratio),
                     ratio_interval_cell(gate.ratio), gate.baseline, fixed(gate.threshold, 2),
                     decision_text(gate.passed, paint));
}

std::string sol_line(const SolScore& sol, const std::string& baseline) {
  return fmt::format("SOL score: {}; 0.5 is {}, 1 is {} {} ({})\n",
                     fixed(sol.value, kRatioDecimals), baseline, describe(sol.floor.time),
                     describe(sol.time), sol.floor.why);
}

std::string devices_text(const FleetTimeline& timeline, const Paint& paint) {
  Table table({"device", ">problems", ">busy s", ">of the time"});
  for (const FleetWorker& each : timeline.workers) {
    const double share = timeline.seconds > 0 ? each.busy_s() / timeline.seconds : 0;
    const auto ended = std::ranges::count(each.work, false, &WorkStretch::failed);
    table.add({each.name, std::to_string(ended), fmt::format("{:.1f}", each.busy_s()),
               fmt::format("{:.0f} %", 100 * share)});
  }
  return table.text(paint.columns());
}

}  // namespace

std::string problem_report(const ProblemResult& problem, const SweepResult& run,
                           const Paint& paint) {
  std::string text = headline(problem, run) + "\n\n";
  if (const std::string why = problem.why_not_tried(); !why.empty())
    return text + paint.fitted("left out: " + why);
  text += outcomes(problem, run, paint);
  if (!problem.finals.empty()) text += "\n" + finalists(problem, run, paint);
  if (!problem.score_note.empty()) text += problem.score_note + "\n";
  if (problem.best() != nullptr && problem.best()->timed_again)
    text +=
        paint.fitted("Times of the best and the baselines are of rounds after the best was chosen");
  if (const int others = others_on_gpu(problem); others > 0)
    text += paint.fitted(disturbance(others) + ": measure again without them");
  text += "\n";
  if (problem.gate) text += paint.fitted(gate_line(*problem.gate, paint));
  if (const auto sol = sol_score(problem, run.plan.objective, run.environment))
    text += paint.fitted(sol_line(*sol, problem.gate->baseline));
  const std::string known = known_line(problem);
  if (!known.empty()) text += paint.fitted(known);
  return text + paint.fitted(paint(Tone::kStrong, winner(problem, run)));
}

SweepResult sweep_result_of(PageRun run) {
  SweepResult result;
  for (PageProblem& problem : run.problems) {
    for (const TriedConfig& each : tried(problem))
      problem.result.candidates.push_back(each.config->record);
    result.problems.push_back(std::move(problem.result));
  }
  result.plan = std::move(run.header.plan);
  result.environment = std::move(run.header.environment);
  result.helpers = std::move(run.header.helpers);
  result.fleet = std::move(run.fleet);
  result.folder = std::filesystem::path(run.source).parent_path();
  result.interrupted = run.status != "complete";
  result.seconds = run.seconds;
  return result;
}

std::string sweep_report(const SweepResult& result, const Paint& paint) {
  std::string text;
  bool has_best = false;
  for (const ProblemResult& problem : result.problems) {
    text += (text.empty() ? "" : "\n") + problem_report(problem, result, paint);
    has_best = has_best || !problem.finals.empty();
  }
  if (result.problems.size() > 1) text += suite_summary(SuiteFinals(result), "text", paint);
  if (result.fleet) text += "\n" + devices_text(*result.fleet, paint);
  text += "\n";
  if (has_best) text += "Best:    " + (result.folder / "best.json").string() + "\n";
  text += "Journal: " + (result.folder / "journal.jsonl").string() + "\n";
  return has_best && !result.interrupted ? text + next_commands(result) : text;
}

}  // namespace fatune
