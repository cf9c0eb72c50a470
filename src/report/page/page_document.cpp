// page_document.cpp: Merges records of the journal with rows of best.json, and shortens them.
#include "report/page/page_document.hpp"

#include <algorithm>
#include <cmath>
#include <regex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/problem/problem.hpp"
#include "model/results/physics.hpp"
#include "model/results/sol_score.hpp"
#include "report/page/colours.hpp"
#include "search/strategies/importance.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune {
namespace {

constexpr int kDigits = 6;               // significant digits; a page shows four at most
constexpr int kLeastPlaces = 2;          // decimals of large numbers: moments of a long run
constexpr double kTeraPerSecond = 1e-6;  // converts a rate per microsecond

/// Members that a page omits. All others reach it, also those that a record gains later.
constexpr std::string_view kOmittedInCandidate[] = {
    // The group has them, or they repeat another member.
    "t", "key", "kernel", "problem", "recorded", "cubin", "duplicate_of",
    // No chart of the search draws them.
    "conditions", "gpu_wait_s", "warnings", "stack_bytes", "iqr_us", "ci95_us", "min_us",
    "sem_relative", "samples", "launches_per_sample", "killed_early", "passed", "skipped",
    "worst_rule", "max_abs_diff", "mean_abs_diff", "relative_l2", "method_l2", "allclose_1e3",
    "lse", "seeds", "gates", "not_run", "precision_note", "sanitizer", "gpu"};
constexpr std::string_view kOmittedInFinal[] = {"t", "problem", "gpu"};
constexpr std::string_view kOmittedInPlan[] = {"kernel_hashes", "warm_starts", "shard"};
constexpr std::string_view kOmittedInEnvironment[] = {"uuid", "host", "cpu_cores"};

/// Returns "rank 0, cuda:0" for "rank 0 on HOST, cuda:0".
std::string without_host(const std::string& worker) {
  static const std::regex host("^(rank [0-9]+) on [^,]*");
  return std::regex_replace(worker, host, "$1");
}

void round_numbers(Json& value) {
  if (value.is_number_float()) value = rounded(value.get<double>());
  if (!value.is_structured()) return;
  for (Json& member : value) round_numbers(member);
}

template <typename T>
Json shortened(T record, std::span<const std::string_view> omitted) {
  Json json = to_json(record);
  leave_out(json, omitted);
  return json;
}

Json column_of(const std::vector<Json>& values) {
  if (std::ranges::all_of(values, [&](const Json& each) { return each == values.front(); }))
    return {{"all", values.front()}};
  if (std::ranges::none_of(values, &Json::is_string)) return values;
  std::unordered_map<std::string, std::size_t> places;
  Json texts = Json::array(), at = Json::array();
  for (const Json& value : values) {
    if (value.is_null()) {
      at.push_back(-1);
      continue;
    }
    const auto [place, fresh] = places.try_emplace(dump(value), texts.size());
    if (fresh) texts.push_back(value);
    at.push_back(place->second);
  }
  if (2 * texts.size() > values.size()) return values;
  return {{"values", std::move(texts)}, {"at", std::move(at)}};
}

/// Returns each final as the journal and best.json have it.
Json finals_json(const ProblemResult& result) {
  Json finals = Json::array();
  for (std::size_t i = 0; i < result.finals.size(); ++i) {
    const FinalRecord& record = result.finals[i];
    const Standing& standing = result.standings[i];
    Json& final = finals.emplace_back(shortened(record, kOmittedInFinal));
    final.update(to_json(
        BestRow{record, "", standing.to_baseline, standing.ties_with_best, standing.score}));
  }
  return finals;
}

Json hardware_json(const Problem& problem, const Environment& environment) {
  const PeakRates peak = peak_rates(problem, environment);
  if (!peak.unknown.empty()) return {{"unknown", peak.unknown}};
  const PhysicsFloor floors = physics_floor(problem, environment);
  Json floor;
  for (const Time time : kAllTimes)
    floor[std::string(name(time))] = {{"time_us", floors.of(time).time.value},
                                      {"why", floors.of(time).why}};
  return {{"tensor_tflops", peak.flops * kTeraPerSecond},
          {"tensor_origin", peak.flops_origin},
          {"memory_tbs", peak.memory_bytes * kTeraPerSecond},
          {"memory_origin", peak.memory_origin},
          {"cache_tbs", peak.cache_bytes * kTeraPerSecond},
          {"cache_origin", peak.cache_origin},
          {"floor", std::move(floor)}};
}

/// Compares known parameters only, because a kernel may have gained parameters since.
bool holds(const Json& config, const Json& known) {
  for (const auto& [name, value] : known.items()) {
    if (!config.contains(name) || config.at(name) != value) return false;
  }
  return true;
}

/// Marks the nearest known configs that were tried, limited as in a search, with their sources.
void mark_warm_starts(const JournalGroup& group, const JournalHeader& header,
                      std::vector<Json>& records) {
  std::size_t warm = 0;
  for (const SavedConfig& known :
       nearest_known(header.plan.warm_starts, group.kernel, group.problem.problem,
                     header.environment.limits.arch)) {
    const auto tried = std::ranges::find_if(
        records, [&](const Json& record) { return holds(record["config"], known.config); });
    if (tried == records.end() || warm++ == kWarmStarts) continue;
    if (!tried->contains("warm_start")) (*tried)["warm_start"] = without_folders(known.source);
  }
}

Json importance_json(const JournalGroup& group, const JournalHeader& header) {
  const auto recording = recording_of(group, {header, {}, false}, "the journal");
  if (!recording) return {};
  const ParameterImportance importance = importance_of(*recording);
  return importance.measured < kFewestForImportance ? Json() : to_json(importance);
}

/// Returns the candidates of each kernel as columns. `number` is the place in the order tried.
Json groups_json(const PageProblem& problem, const JournalHeader& header, Depth depth) {
  std::vector<std::vector<Json>> records(problem.groups.size());
  std::size_t number = 0;
  for (const TriedConfig& each : tried(problem)) {
    Json& record =
        records[each.kernel].emplace_back(shortened(each.config->record, kOmittedInCandidate));
    record["number"] = ++number;
    round_numbers(record);
  }
  Json groups = Json::array();
  for (std::size_t i = 0; i < problem.groups.size(); ++i) {
    const JournalGroup& group = problem.groups[i];
    mark_warm_starts(group, header, records[i]);
    Json& json = groups.emplace_back(Json{{"kernel", group.kernel}});
    if (depth == Depth::kFull) json["importance"] = importance_json(group, header);
    json["candidates"] = columns_of(records[i]);
  }
  return groups;
}

/// A problem as best.json and the journal have it, with its facts that follow from C++ only.
Json problem_json(const PageProblem& problem, const PageRunHead& run, Depth depth) {
  const JournalHeader& header = run.header;
  const ProblemResult& result = problem.result;
  const Problem& what = result.problem.problem;
  Json json = {{"name", result.problem.name},
               {"problem", to_json(what)},
               {"label", label(result.problem)},
               {"time", std::string(name(final_time(result.finals, header.plan.objective)))},
               {"search_time", std::string(name(run.search_time))},
               {"flops", flops(what).value},
               {"least_bytes", least_bytes(what).value},
               {"has_best", result.best() != nullptr},
               {"hardware", hardware_json(what, header.environment)},
               {"finals", finals_json(result)},
               {"groups", groups_json(problem, header, depth)}};
  if (result.best() != nullptr) json["verdict"] = result.standings.front().verdict;
  if (result.gate) json["gate"] = to_json(*result.gate);
  if (const auto sol = sol_score(result, header.plan.objective, header.environment))
    json["sol"] = to_json(*sol);
  return json;
}

/// Writes distinct lines once; listings refer to lines by position.
Json code_json(const std::vector<PageCode>& code) {
  Json lines = Json::array(), listings = Json::array();
  std::unordered_map<std::string, std::size_t> positions;
  for (const PageCode& each : code) {
    std::int64_t instructions = 0;
    Json counts, places = Json::array();
    const auto classes = instruction_classes();
    for (std::size_t i = 0; i < classes.size(); ++i) {
      std::int64_t count = 0;
      for (const Census& entry : each.entries) count += entry.counts[i];
      counts[std::string(classes[i].what)] = count;
    }
    for (const Census& entry : each.entries) instructions += entry.instructions;
    for (const std::string& line : each.lines) {
      const auto [place, fresh] = positions.try_emplace(line, lines.size());
      if (fresh) lines.push_back(line);
      places.push_back(place->second);
    }
    listings.push_back({{"id", each.id},
                        {"remade", each.remade},
                        {"instructions", instructions},
                        {"counts", std::move(counts)},
                        {"lines", std::move(places)}});
  }
  return {{"lines", std::move(lines)}, {"listings", std::move(listings)}};
}

Json profiles_json(const std::vector<ProfiledConfig>& profiles) {
  Json json = Json::array();
  for (const ProfiledConfig& each : profiles) {
    const NcuOutcome& outcome = each.profile.outcome;
    const Counters* launch = longest(outcome.launches);
    if (launch == nullptr) continue;
    Json& profile = json.emplace_back(
        Json{{"id", each.id}, {"reading", to_json(read_counters(*launch, each.profile.facts))}});
    if (!outcome.report.empty())
      profile["report"] = kept_profile("", each.id, ".ncu-rep").generic_string();
  }
  return json;
}

/// Returns the colour of each kernel that the run names.
Json colours_of(const PageRun& run) {
  Json colours = Json::object();
  for (const PageProblem& problem : run.problems) {
    for (const JournalGroup& group : problem.groups)
      colours[group.kernel] = kernel_colour(group.kernel);
    for (const FinalRecord& final : problem.result.finals) {
      if (!final.is_baseline()) colours[final.kernel] = kernel_colour(final.kernel);
    }
  }
  return colours;
}

Json run_json(const PageRun& run, Depth depth) {
  Json json = {{"name", run.name},
               {"folder", run.folder},
               {"status", run.status},
               {"seconds", run.seconds},
               {"plan", shortened(run.header.plan, kOmittedInPlan)},
               {"environment", shortened(run.header.environment, kOmittedInEnvironment)},
               {"colours", colours_of(run)},
               {"profiles", profiles_json(run.profiles)}};
  json["plan"]["command"] = without_folders(run.header.plan.command);
  if (!run.code.empty()) json["code"] = code_json(run.code);
  if (run.fleet) {
    json["fleet"] = to_json(*run.fleet);
    for (Json& worker : json["fleet"]["workers"])
      worker["name"] = without_host(without_folders(worker["name"].get<std::string>()));
  }
  Json& problems = json["problems"] = Json::array();
  for (const PageProblem& problem : run.problems)
    problems.push_back(problem_json(problem, run, depth));
  return json;
}

}  // namespace

double rounded(double value) {
  if (!std::isfinite(value) || value == 0) return 0;
  const int wanted = kDigits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  // Powers of ten up to 22 are exact, so the division gives the double nearest to the decimal.
  const double scale = std::pow(10.0, std::max(wanted, kLeastPlaces));
  return std::round(value * scale) / scale;
}

std::string without_folders(const std::string& text) {
  static constexpr std::string_view kEnds = " \t\n'\",:=";
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kEnds, at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool absolute = word.starts_with('/') || word.starts_with('~');
    kept += absolute ? word.substr(word.find_last_of('/') + 1) : word;
    if (end < text.size()) kept += text[end];
    at = end + 1;
  }
  return kept;
}

void leave_out(Json& object, std::span<const std::string_view> names) {
  for (auto member = object.begin(); member != object.end();) {
    if (std::ranges::find(names, member.key()) != names.end()) {
      member = object.erase(member);
      continue;
    }
    if (member->is_object() && member.key() != "config") leave_out(*member, names);
    ++member;
  }
}

Json columns_of(const std::vector<Json>& records) {
  std::vector<std::string> paths;
  std::unordered_map<std::string, std::vector<Json>> columns;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Json flat = records[i].flatten();
    for (const auto& [path, value] : flat.items()) {
      const auto [column, fresh] = columns.try_emplace(path);
      if (fresh) paths.push_back(path);
      column->second.resize(records.size());
      column->second[i] = value;
    }
  }
  Json json = Json::object();
  for (const std::string& path : paths) json[path] = column_of(columns[path]);
  return {{"count", records.size()}, {"columns", std::move(json)}};
}

Json runs_json(std::span<const PageRun> runs, Depth depth) {
  Json json = Json::array();
  const std::vector<std::string> labels = run_labels(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    json.push_back(run_json(runs[i], depth));
    json.back()["label"] = labels[i];
  }
  round_numbers(json);
  return json;
}

Json live_json(const SweepProgress& progress, bool finished) {
  return {{"problem_number", progress.problem_number},
          {"problems", progress.problems},
          {"phase", progress.phase},
          {"done", progress.done},
          {"all", progress.all},
          {"left_s", progress.left_s ? Json(rounded(*progress.left_s)) : Json()},
          {"finished", finished}};
}

}  // namespace fatune
