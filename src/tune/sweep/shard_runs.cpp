// shard_runs.cpp: Reads the runs of shards, and compares the values that runs must share.
#include "tune/sweep/shard_runs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/journal.hpp"

namespace fatune {
namespace {

bool has_problem(const ShardRun& run, const Problem& problem) {
  return std::ranges::any_of(run.shard().problems, [&](std::uint64_t place) {
    return run.plan().problems[place].problem == problem;
  });
}

/// Checks that best.json belongs to the journal, as a folder may hold several journals.
Status check_own_best(const ShardRun& run) {
  for (std::size_t i = 0; i < run.best->problems.size(); ++i) {
    const BestProblem& problem = run.best->problems[i];
    if (!problem.problem) return file_error(run.best->place(i, "problem") + " is missing");
    if (has_problem(run, *problem.problem)) continue;
    return usage_error(fmt::format(
        "{} and {} are of two runs: the best.json has {}, and shard {} has not; merge the folder "
        "of each run",
        run.file, run.best->where, label({problem.name, *problem.problem}), describe(run.shard())));
  }
  return {};
}

Result<ShardRun> load_shard_run(const std::filesystem::path& path) {
  FATUNE_TRY(const std::filesystem::path file, find_results(path));
  ShardRun run{.file = file.string(), .journal = {}, .best = {}};
  FATUNE_TRY(run.journal, load_journal(file));
  if (!run.plan().shard)
    return usage_error(run.file + ": is of a whole run, not of a shard (sweep --shard I/N)");
  const std::filesystem::path best = first_file(file.parent_path(), {"best.json"});
  if (best.empty()) return run;
  FATUNE_TRY(Json json, load_json(best));
  FATUNE_TRY(run.best, best_file_from_json(std::move(json), best.string()));
  FATUNE_TRY_STATUS(check_own_best(run));
  return run;
}

Error apart(const ShardRun& a, const ShardRun& b, const std::string& difference) {
  return usage_error(fmt::format("{} and {} cannot be merged: {}", a.file, b.file, difference));
}

/// Describes the difference of plans with different hashes, also beyond difference().
std::string plan_difference(RunPlan a, RunPlan b) {
  a.shard.reset();
  b.shard.reset();
  const std::string found = difference(a, b, {"in the one", "in the other"});
  if (found.empty()) return "their searches start with other configs, or problems have other names";
  return "their plans differ: " + found;
}

Status check_alike(const ShardRun& a, const ShardRun& b) {
  if (a.shard().plan != b.shard().plan) return apart(a, b, plan_difference(a.plan(), b.plan()));
  if (a.shard().of != b.shard().of) {
    return apart(
        a, b,
        fmt::format("one is shard {}, the other {}", describe(a.shard()), describe(b.shard())));
  }
  const auto before = circumstances(a.journal.header.environment);
  const auto now = circumstances(b.journal.header.environment);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].second == now[i].second) continue;
    return apart(a, b,
                 fmt::format("{} is {} in the one and {} in the other", before[i].first,
                             before[i].second, now[i].second));
  }
  return {};
}

/// Checks that shards of one plan share no problem.
Status check_disjoint(const std::vector<ShardRun>& runs) {
  std::map<std::uint64_t, const ShardRun*> owners;
  for (const ShardRun& run : runs) {
    for (const std::uint64_t place : run.shard().problems) {
      const ShardRun& owner = *owners.try_emplace(place, &run).first->second;
      if (owner.shard().number == run.shard().number) continue;
      return apart(owner, run,
                   fmt::format("shards {} and {} both have {}", describe(owner.shard()),
                               describe(run.shard()), label(run.plan().problems[place])));
    }
  }
  return {};
}

/// Returns the problems of a complete run whose final phase no best.json has.
std::vector<std::string> without_best(const ShardRun& run, const std::set<Problem>& reported) {
  std::set<Problem> finals;
  for (const Record& record : run.journal.records) {
    if (const auto* final = std::get_if<FinalRecord>(&record)) finals.insert(final->problem);
  }
  std::vector<std::string> labels;
  for (const std::uint64_t place : run.shard().problems) {
    const NamedProblem& named = run.plan().problems[place];
    if (finals.contains(named.problem) && !reported.contains(named.problem))
      labels.push_back(label(named));
  }
  return labels;
}

/// A journal with another name was moved from its folder.
std::string how_to_have_best(const std::filesystem::path& journal) {
  if (journal.filename() != "journal.jsonl") return "merge the folder of its run";
  return "fatune resume " + shell_word(journal.parent_path().string()) + " writes it";
}

/// Returns a sentence for each run whose best.json is missing or outdated.
std::vector<std::string> lacking_best(const std::vector<ShardRun>& runs) {
  std::set<Problem> reported;
  for (const ShardRun& run : runs) {
    for (std::size_t i = 0; run.best && i < run.best->problems.size(); ++i)
      reported.insert(*run.best->problems[i].problem);
  }
  std::vector<std::string> sentences;
  for (const ShardRun& run : runs) {
    if (!run.complete()) continue;
    const std::vector<std::string> labels = without_best(run, reported);
    if (labels.empty()) continue;
    sentences.push_back(fmt::format(
        "{} of shard {} has results of {}, which no best.json beside it has: {}", run.file,
        describe(run.shard()), join(labels, "; "), how_to_have_best(run.file)));
  }
  return sentences;
}

}  // namespace

std::vector<std::pair<const char*, std::string>> circumstances(const Environment& environment) {
  return {{"fatune", environment.fatune},
          {"device", environment.device_name},
          {"architecture", name(environment.limits.arch)},
          {"driver", environment.driver},
          {"NVRTC", environment.nvrtc},
          {"device", environment.recorded ? "a recording" : "a GPU"}};
}

bool ShardRun::complete() const {
  if (journal.records.empty()) return false;
  const auto* end = std::get_if<EndRecord>(&journal.records.back());
  return end != nullptr && end->status == "complete";
}

Result<std::vector<ShardRun>> load_shard_runs(const std::vector<std::filesystem::path>& paths) {
  std::vector<ShardRun> runs;
  for (const std::filesystem::path& path : paths) {
    FATUNE_TRY(ShardRun run, load_shard_run(path));
    if (!runs.empty()) FATUNE_TRY_STATUS(check_alike(runs.front(), run));
    runs.push_back(std::move(run));
  }
  FATUNE_TRY_STATUS(check_disjoint(runs));
  std::ranges::stable_sort(runs, {}, [](const ShardRun& run) { return run.shard().number; });
  return runs;
}

std::vector<std::string> lacking(const std::vector<ShardRun>& runs) {
  std::map<std::uint64_t, bool> complete;
  std::set<std::uint64_t> held;
  for (const ShardRun& run : runs) {
    bool& any = complete[run.shard().number];
    any = any || run.complete();
    held.insert(run.shard().problems.begin(), run.shard().problems.end());
  }
  std::vector<std::string> sentences, missing, without;
  const RunPlan& plan = runs.front().plan();
  for (std::uint64_t number = 1; number <= runs.front().shard().of; ++number) {
    if (!complete.contains(number)) missing.push_back(std::to_string(number));
  }
  for (std::uint64_t place = 0; place < plan.problems.size(); ++place) {
    if (!held.contains(place)) without.push_back(label(plan.problems[place]));
  }
  if (!missing.empty()) {
    const bool several = missing.size() > 1;
    sentences.push_back(fmt::format("{} {} of {} {} missing, with {}", several ? "shards" : "shard",
                                    join(missing, ", "), runs.front().shard().of,
                                    several ? "are" : "is", join(without, "; ")));
  }
  for (const ShardRun& run : runs) {
    if (complete[run.shard().number]) continue;
    const std::filesystem::path folder = std::filesystem::path(run.file).parent_path();
    sentences.push_back(fmt::format("shard {} did not come to its end: fatune resume {}",
                                    describe(run.shard()), shell_word(folder.string())));
  }
  for (std::string& sentence : lacking_best(runs)) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace fatune
