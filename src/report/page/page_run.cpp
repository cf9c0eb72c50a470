// page_run.cpp: Sorts a journal's records by problem and settles their finals.
#include "report/page/page_run.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.hpp"
#include "model/results/journal.hpp"
#include "model/results/last_finals.hpp"
#include "model/results/statistics.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {
namespace {

constexpr std::size_t kMostProblems = 20'000;  // problems of a page; chosen: 20 kB of memory each

/// Returns "mission" for runs/mission/journal.jsonl and "h200" for configs/h200.jsonl.gz.
std::string run_name(const std::filesystem::path& journal) {
  std::string name = journal.filename().string();
  name = name.substr(0, name.find(".jsonl"));
  if (name != "journal") return name;
  std::error_code error;
  const auto folder = std::filesystem::absolute(journal, error).lexically_normal().parent_path();
  return error || folder.filename().empty() ? name : folder.filename().string();
}

bool are_distinct(const std::vector<std::string>& names) {
  return std::set(names.begin(), names.end()).size() == names.size();
}

/// Returns the folders of a run and its name, from the last to the first.
std::vector<std::string> path_parts(const PageRun& run) {
  std::error_code error;
  const auto journal = std::filesystem::absolute(run.source, error).lexically_normal();
  std::vector<std::string> parts;
  for (const auto& folder : journal.parent_path().relative_path()) parts.push_back(folder.string());
  if (parts.empty() || parts.back() != run.name) parts.push_back(run.name);
  std::ranges::reverse(parts);
  return parts;
}

/// Returns `depth` parts of a path from the part `skipped`, joined in the path's order.
std::string part_of(const std::vector<std::string>& parts, std::size_t skipped, std::size_t depth) {
  std::string text;
  for (std::size_t i = skipped; i < std::min(skipped + depth, parts.size()); ++i)
    text = text.empty() ? parts[i] : parts[i] + "/" + text;
  return text;
}

/// The journal's records of one problem.
struct ProblemRecords {
  std::vector<JournalGroup> groups;
  std::vector<FinalRecord> finals;
};

std::map<Problem, ProblemRecords> records_by_problem(const Journal& journal,
                                                     std::vector<JournalGroup> groups) {
  std::map<Problem, ProblemRecords> records;
  for (JournalGroup& group : groups) {
    const Problem problem = group.problem.problem;
    records[problem].groups.push_back(std::move(group));
  }
  const LastFinals finals(journal.records);
  for (const Record& record : journal.records) {
    const auto* final = std::get_if<FinalRecord>(&record);
    if (final == nullptr) continue;
    std::vector<FinalRecord>& kept = records[final->problem].finals;
    if (kept.empty()) kept = finals.of(final->problem);
  }
  return records;
}

/// Lists the problems of the plan first.
std::vector<NamedProblem> problems_of(const Journal& journal,
                                      const std::vector<JournalGroup>& groups) {
  std::vector<NamedProblem> problems;
  std::set<Problem> known;
  const auto add = [&](const NamedProblem& problem) {
    if (known.insert(problem.problem).second) problems.push_back(problem);
  };
  for (const NamedProblem& problem : journal.header.plan.problems) add(problem);
  for (const JournalGroup& group : groups) add(group.problem);
  return problems;
}

void read_end(const Journal& journal, PageRun& run) {
  run.status = "unfinished";
  for (const Record& record : journal.records) {
    run.seconds = std::max(run.seconds, moment_of(record));
    if (const auto* end = std::get_if<EndRecord>(&record)) {
      run.status = end->status;
    } else if (std::holds_alternative<CandidateRecord>(record)) {
      run.status = "unfinished";
    }
  }
}

/// The best.json beside the journal; empty if the file is missing or, with a warning, unreadable.
struct Published {
  std::map<Problem, BestProblem> problems;
  std::optional<FleetTimeline> fleet;
};

Published published_beside(const std::filesystem::path& journal) {
  Published published;
  const std::filesystem::path file = first_file(journal.parent_path(), {"best.json"});
  if (file.empty()) return published;
  auto json = load_json(file);
  auto best = json ? best_file_from_json(*std::move(json), file.string()) : json.error();
  if (!best) {
    log::warn(best.error().message + "; order, ratios and intervals are computed anew");
    return published;
  }
  for (const BestProblem& each : best->problems) {
    if (each.problem) published.problems.emplace(*each.problem, each);
  }
  published.fleet = std::move(best->fleet);
  return published;
}

/// Takes order, standings and gate of the finals from best.json, so that the page shows the
/// published numbers. Returns false and changes nothing if other finals were published.
bool settle_as_published(const BestProblem& published, ProblemResult& result) {
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < result.finals.size(); ++i)
    places[{result.finals[i].impl, result.finals[i].id}] = i;
  std::vector<FinalRecord> finals;
  std::vector<Standing> standings;
  for (const auto* rows : {&published.finalists, &published.baselines}) {
    for (const BestRow& row : *rows) {
      const auto place = places.find({row.impl, row.id});
      if (place == places.end()) return false;
      finals.push_back(result.finals[place->second]);
      Standing& standing = standings.emplace_back();
      standing.to_baseline = row.to_baseline;
      if (row.to_baseline) standing.verdict = verdict_word(row.to_baseline->value);
      standing.ties_with_best = row.ties_with_best;
      standing.score = row.score;
      places.erase(place);
    }
  }
  if (!places.empty()) return false;
  result.finals = std::move(finals);
  result.standings = std::move(standings);
  result.gate = published.gate;
  return true;
}

PageProblem page_problem(const NamedProblem& named, const RunPlan& plan, ProblemRecords records,
                         const std::map<Problem, BestProblem>& published) {
  PageProblem problem;
  problem.result.problem = named;
  problem.groups = std::move(records.groups);
  for (const JournalGroup& group : problem.groups) {
    for (const ToldRecord& config : group.configs) ++problem.result.outcomes[config.record.outcome];
  }
  problem.result.finals = std::move(records.finals);
  const auto entry = published.find(named.problem);
  if (entry != published.end() && entry->second.search) {
    const BestSearch& search = *entry->second.search;
    problem.result.seconds = search.seconds;
    problem.result.valid_points = search.valid_points;
    problem.result.warm_starts = search.warm_starts;
  }
  if (entry != published.end() && settle_as_published(entry->second, problem.result))
    return problem;
  Scoring scoring;
  if (entry != published.end()) scoring.winner = entry->second.best ? entry->second.best->id : "";
  settle_finals(problem.result, plan.objective, plan.seed, scoring);
  return problem;
}

/// Counters of another kernel text or compiler are of another candidate and do not count.
std::vector<ProfiledConfig> profiles_of(const PageRun& run, const std::filesystem::path& folder) {
  std::set<std::string> ids;
  for (const PageProblem& problem : run.problems) {
    for (const FinalRecord& final : problem.result.finals) ids.insert(final.id);
    for (const TriedConfig& each : tried(problem)) ids.insert(each.config->record.id);
  }
  std::vector<ProfiledConfig> profiles = kept_profiles(folder);
  std::erase_if(profiles, [&](const ProfiledConfig& each) {
    const bool foreign = !ids.contains(each.id);
    if (foreign) {
      log::warn(fmt::format(
          "the profile {} is left out: the run has no such candidate, as its kernel or compiler "
          "was another",
          kept_profile(folder, each.id, ".json").string()));
    }
    return foreign;
  });
  return profiles;
}

}  // namespace

std::vector<TriedConfig> tried(const PageProblem& problem) {
  std::vector<TriedConfig> all;
  for (std::size_t kernel = 0; kernel < problem.groups.size(); ++kernel) {
    for (const ToldRecord& config : problem.groups[kernel].configs)
      all.push_back({kernel, &config});
  }
  std::ranges::stable_sort(all, {},
                           [](const TriedConfig& each) { return each.config->record.at_s; });
  return all;
}

KernelRef same_kernel(const std::string& name, const RunPlan& plan,
                      const std::vector<KernelRef>& kernels) {
  for (const KernelRef& kernel : kernels) {
    if (kernel->manifest.name != name) continue;
    for (std::size_t i = 0; i < std::min(plan.kernels.size(), plan.kernel_hashes.size()); ++i) {
      if (plan.kernels[i] == name && plan.kernel_hashes[i] == kernel->text_hash) return kernel;
    }
  }
  return nullptr;
}

Result<PageRun> load_page_run(const std::filesystem::path& path, Damage damage) {
  FATUNE_TRY(const std::filesystem::path file, find_results(path));
  FATUNE_TRY(Journal journal, load_journal(file, damage));
  return page_run_of(std::move(journal), file);
}

Result<PageRun> page_run_of(Journal journal, const std::filesystem::path& file) {
  PageRun run;
  run.name = run_name(file);
  run.source = file.string();
  run.search_time = searched_time(journal);
  read_end(journal, run);
  std::vector<JournalGroup> groups = group_candidates(journal);
  Published published = published_beside(file);
  run.fleet = std::move(published.fleet);
  const std::vector<NamedProblem> problems = problems_of(journal, groups);
  if (problems.size() > kMostProblems) {
    return file_error(fmt::format("{}: holds {} problems; a page shows at most {}", file.string(),
                                  problems.size(), kMostProblems));
  }
  std::map<Problem, ProblemRecords> records = records_by_problem(journal, std::move(groups));
  for (const NamedProblem& named : problems) {
    const auto found = records.find(named.problem);
    if (found == records.end()) continue;
    run.problems.push_back(
        page_problem(named, journal.header.plan, std::move(found->second), published.problems));
  }
  run.header = std::move(journal.header);
  run.profiles = profiles_of(run, file.parent_path());
  return run;
}

std::vector<std::string> run_labels(std::span<const PageRun> runs) {
  std::vector<std::string> devices, names;
  std::vector<std::vector<std::string>> paths;
  std::size_t longest = 0;
  for (const PageRun& run : runs) {
    devices.push_back(run.header.environment.device_name);
    names.push_back(run.name);
    paths.push_back(path_parts(run));
    longest = std::max(longest, paths.back().size());
  }
  if (runs.size() > 1 && are_distinct(devices)) return devices;
  if (are_distinct(names)) return names;
  const auto labels = [&](std::size_t skipped, std::size_t depth) {
    std::vector<std::string> texts;
    for (const auto& parts : paths) texts.push_back(part_of(parts, skipped, depth));
    return texts;
  };
  const auto are_alike = [](const std::vector<std::string>& texts) {
    return std::ranges::all_of(texts, [&](const auto& text) { return text == texts.front(); });
  };
  std::size_t skipped = 0;
  while (skipped < longest && are_alike(labels(skipped, 1))) ++skipped;
  for (std::size_t depth = 1; skipped + depth <= longest; ++depth) {
    if (const auto texts = labels(skipped, depth); are_distinct(texts)) return texts;
  }
  for (std::size_t i = 0; i < names.size(); ++i) names[i] += fmt::format(", {}", i + 1);
  return names;
}

}  // namespace fatune
