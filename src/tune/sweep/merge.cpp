// merge.cpp: Gathers records by problem without repetition, and writes the files of a sweep.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/scratch_folder.hpp"
#include "core/text.hpp"
#include "model/results/last_finals.hpp"
#include "model/results/statistics.hpp"
#include "tune/sweep/comparison.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune {
namespace {

/// Identifies the result that a record holds; empty if there is none.
std::string subject(const Record& record) {
  if (const auto* candidate = std::get_if<CandidateRecord>(&record)) return candidate->key;
  const auto* final = std::get_if<FinalRecord>(&record);
  if (final == nullptr) return "";
  return fmt::format("{} {} {} of {}", name(final->role), final->impl, dump(final->config),
                     describe(final->problem));
}

/// Older final records without a GPU were measured where their run began.
void name_gpu(Record& record, const Environment& began_on) {
  auto* final = std::get_if<FinalRecord>(&record);
  if (final != nullptr && final->gpu.empty()) final->gpu = began_on.device_uuid;
}

/// Renders a record without its time and cost.
std::string result_text(Record record) {
  if (double* const at_s = time_of(record)) *at_s = 0;
  if (auto* candidate = std::get_if<CandidateRecord>(&record)) candidate->spent = {};
  return dump(to_json(record));
}

bool same_result(const Record& a, const Record& b) { return result_text(a) == result_text(b); }

/// A result and its run.
struct Source {
  const Record* record = nullptr;
  const ShardRun* run = nullptr;
};
using Sources = std::map<std::string, Source>;

/// Drops final records that a later final phase replaced.
std::vector<const Record*> records_that_count(const Journal& journal) {
  const LastFinals finals(journal.records);
  std::map<Problem, std::size_t> met;
  std::vector<const Record*> counting;
  for (const Record& record : journal.records) {
    const auto* final = std::get_if<FinalRecord>(&record);
    if (final == nullptr || met[final->problem]++ >= finals.replaced(final->problem))
      counting.push_back(&record);
  }
  return counting;
}

/// Collects results by subject; the last one counts.
Sources results_of(const std::vector<const Record*>& records, const ShardRun& run) {
  Sources results;
  for (const Record* record : records) {
    if (std::string of = subject(*record); !of.empty())
      results.insert_or_assign(std::move(of), Source{record, &run});
  }
  return results;
}

class Gathered {
 public:
  Status add(const ShardRun& run) {
    const std::vector<const Record*> records = records_that_count(run.journal);
    Sources own = results_of(records, run);
    for (const auto& [of, source] : own) {
      const auto before = known_.find(of);
      if (before == known_.end() || same_result(*before->second.record, *source.record)) continue;
      return usage_error(
          fmt::format("{} and {} are runs of shard {} with different results of {}; "
                      "leave one of them out",
                      before->second.run->file, run.file, describe(run.shard()), of));
    }
    take(records, run.journal);
    known_.merge(own);
    return {};
  }

  /// Moves the records of a problem to the output, shifted to the current clock.
  void append_records(const Problem& problem, std::vector<Record>& records) {
    double last_s = 0;
    for (Record& record : by_problem_[problem]) {
      if (double* const at_s = time_of(record)) {
        last_s = std::max(last_s, *at_s);
        *at_s += clock_s_;
      }
      records.push_back(std::move(record));
    }
    by_problem_.erase(problem);
    clock_s_ += last_s;
  }

 private:
  /// Takes records that no earlier run has, timed by the cost of their problem only. Records of
  /// other problems and replaced final phases may lie in between.
  void take(const std::vector<const Record*>& counting, const Journal& journal) {
    double clock_s = 0;
    std::map<Problem, double> spent;
    auto next = counting.begin();
    for (const Record& record : journal.records) {
      const double before_s = std::exchange(clock_s, std::max(clock_s, moment_of(record)));
      if (next == counting.end() || *next != &record) continue;
      ++next;
      const Problem* problem = problem_of(record);
      if (problem == nullptr || std::holds_alternative<BeginRecord>(record)) continue;
      const auto* started = std::get_if<StartedRecord>(&record);
      if (known_.contains(started != nullptr ? started->key : subject(record))) continue;
      Record& taken = by_problem_[*problem].emplace_back(record);
      name_gpu(taken, journal.header.environment);
      if (double* const at_s = time_of(taken)) *at_s = spent[*problem] += clock_s - before_s;
    }
  }

  Sources known_;
  std::map<Problem, std::vector<Record>> by_problem_;
  double clock_s_ = 0;
};

double seconds_of(const ShardRun& run) {
  double last_s = 0;
  for (const Record& record : run.journal.records) last_s = std::max(last_s, moment_of(record));
  return last_s;
}

/// Sums the longest run of each shard.
double seconds_of(const std::vector<ShardRun>& runs) {
  std::map<std::uint64_t, double> longest;
  for (const ShardRun& run : runs) {
    double& took = longest[run.shard().number];
    took = std::max(took, seconds_of(run));
  }
  double sum = 0;
  for (const auto& [number, took] : longest) sum += took;
  return sum;
}

/// Marks the plan as shard 1 of 1, as in a single run of the whole plan.
RunPlan whole_plan(RunPlan plan) {
  Shard whole{.number = 1, .of = 1, .plan = plan.shard->plan};
  for (std::uint64_t place = 0; place < plan.problems.size(); ++place)
    whole.problems.push_back(place);
  const std::string option = " --shard ";
  const std::string typed = option + describe(*plan.shard);
  if (const std::size_t at = plan.command.find(typed); at != std::string::npos)
    plan.command.replace(at, typed.size(), option + describe(whole));
  plan.shard = std::move(whole);
  return plan;
}

/// Returns the header with the facts that all runs share; places of measurement are recorded
/// separately.
JournalHeader merged_header(const std::vector<ShardRun>& runs) {
  const JournalHeader& first = runs.front().journal.header;
  JournalHeader header{whole_plan(first.plan), first.environment, {}};
  for (const ShardRun& run : runs) {
    const Environment& environment = run.journal.header.environment;
    header.merged.push_back({run.shard().number, environment.device_uuid, environment.host});
    if (environment.device_uuid != first.environment.device_uuid)
      header.environment.device_uuid.clear();
    if (environment.host != first.environment.host) header.environment.host.clear();
    add_helpers(run.journal.header.helpers, header.helpers);
  }
  return header;
}

/// Whether a resumed run had a final phase on another GPU than its first attempt.
bool measured_elsewhere(const Journal& merged) {
  return std::ranges::any_of(merged.records, [&](const Record& record) {
    const auto* final = std::get_if<FinalRecord>(&record);
    return final != nullptr && final->gpu != merged.header.environment.device_uuid;
  });
}

/// Finals by problem, implementation and id; the last one counts.
using Finals = std::map<std::tuple<Problem, std::string, std::string>, const FinalRecord*>;

Finals finals_of(const Journal& journal) {
  Finals finals;
  for (const Record& record : journal.records) {
    if (const auto* final = std::get_if<FinalRecord>(&record))
      finals[{final->problem, final->impl, final->id}] = final;
  }
  return finals;
}

/// Restores the fields that best.json omits and the journal has: problem, gates, rounds.
Status complete_row(const Problem& problem, const Finals& finals, BestRow& row) {
  const auto found = finals.find({problem, row.impl, row.id});
  if (found == finals.end()) {
    return file_error(
        fmt::format("no journal holds the final phase of {} on {} that its best.json reports",
                    row.impl, describe(problem)));
  }
  static_cast<FinalRecord&>(row) = *found->second;
  return {};
}

Status complete_rows(const Finals& finals, BestProblem& problem) {
  for (auto* rows : {&problem.finalists, &problem.baselines}) {
    for (BestRow& row : *rows) FATUNE_TRY_STATUS(complete_row(*problem.problem, finals, row));
  }
  if (!problem.best) return {};
  auto verification = problem.best->verification;  // only best.json has compute-sanitizer's verdict
  FATUNE_TRY_STATUS(complete_row(*problem.problem, finals, *problem.best));
  problem.best->verification = std::move(verification);
  return {};
}

}  // namespace

Result<Journal> merge_journals(const std::vector<ShardRun>& runs) {
  Gathered gathered;
  for (const ShardRun& run : runs) FATUNE_TRY_STATUS(gathered.add(run));
  Journal merged;
  merged.header = merged_header(runs);
  for (const NamedProblem& named : merged.header.plan.problems)
    gathered.append_records(named.problem, merged.records);
  if (measured_elsewhere(merged)) merged.header.environment.device_uuid.clear();
  merged.records.emplace_back(
      EndRecord{lacking(runs).empty() ? "complete" : "interrupted", seconds_of(runs)});
  return merged;
}

Result<BestFile> merge_best(const std::vector<ShardRun>& runs, const Journal& merged) {
  const Environment& environment = merged.header.environment;
  const RunPlan& plan = merged.header.plan;
  BestFile file;
  file.head = {environment.fatune, plan.command, environment.recorded};
  if (plan.skip_correctness) file.correctness = "skipped";
  file.device = environment;
  file.helpers = merged.header.helpers;
  file.seconds = seconds_of(runs);
  std::map<Problem, const BestProblem*> results;
  for (const ShardRun& run : runs) {
    for (std::size_t i = 0; run.best && i < run.best->problems.size(); ++i)
      results.emplace(*run.best->problems[i].problem, &run.best->problems[i]);
  }
  const Finals finals = finals_of(merged);
  std::vector<double> ratios;
  for (const NamedProblem& named : plan.problems) {
    const auto found = results.find(named.problem);
    if (found == results.end()) continue;
    BestProblem& problem = file.problems.emplace_back(*found->second);
    FATUNE_TRY_STATUS(complete_rows(finals, problem));
    problem.gpu = gpu_of(problem.finalists, environment);
    if (found->second->gate) ratios.push_back(found->second->gate->ratio.value);
  }
  file.geomean_ratio = geomean(ratios);
  return file;
}

Result<std::string> journal_text(const Journal& journal) {
  FATUNE_TRY(const ScratchFolder scratch, ScratchFolder::make());
  FATUNE_TRY(JournalWriter writer, JournalWriter::create(scratch.path(), journal.header));
  for (const Record& record : journal.records) FATUNE_TRY_STATUS(writer.append(record));
  return read_file(writer.path(), kJournalFile);
}

Status save_merged(const Journal& journal, const BestFile& best, const std::filesystem::path& out,
                   const std::string& date) {
  SweepResult result;
  result.plan = journal.header.plan;
  result.environment = journal.header.environment;
  result.folder = out;
  for (const BestProblem& problem : best.problems) {
    ProblemResult& each = result.problems.emplace_back();
    each.problem = {problem.name, *problem.problem};
    for (const auto* rows : {&problem.finalists, &problem.baselines})
      each.finals.insert(each.finals.end(), rows->begin(), rows->end());
  }
  FATUNE_TRY_STATUS(check_no_journal(out));
  FATUNE_TRY(const std::string text, journal_text(journal));
  if (!best.problems.empty()) {
    FATUNE_TRY_STATUS(write_below(out, "best.json", dump_pretty(to_json(best))));
    FATUNE_TRY_STATUS(save_suite(result, date));
  }
  return write_below(out, "journal.jsonl", text);
}

}  // namespace fatune
