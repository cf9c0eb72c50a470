// page_json.cpp: Builds the page's document from runs, with rounded numbers.
#include "out/page/page_json.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <regex>
#include <unordered_map>

#include "core/fields.hpp"
#include "model/problem/problem.hpp"
#include "model/results/physics.hpp"
#include "out/page/colours.hpp"

namespace fatune {
namespace {

constexpr std::size_t kReasonsShown = 12;  // most frequent reasons shown per outcome; chosen
constexpr double kTeraPerSecond = 1e-6;    // converts a rate per microsecond

/// Returns "rank 0, cuda:0" for "rank 0 on HOST, cuda:0".
std::string without_host(const std::string& worker) {
  static const std::regex host("^(rank [0-9]+) on [^,]*");
  return std::regex_replace(worker, host, "$1");
}

void round_time(std::optional<Timing>& time) {
  if (!time) return;
  Timing& t = *time;
  for (double* value : {&t.median_us, &t.q1_us, &t.q3_us, &t.min_us, &t.sem_relative})
    *value = rounded(*value);
  for (auto* end : {&t.ci95_low_us, &t.ci95_high_us}) {
    if (*end) *end = rounded(**end);
  }
}

Ratio rounded_ratio(const Ratio& ratio) {
  return {rounded(ratio.value), rounded(ratio.low), rounded(ratio.high)};
}

PageFinal final_of(const FinalRecord& record, const Standing& standing) {
  PageFinal final{record, standing, {}, {}};
  if (!record.is_baseline()) final.colour = kernel_colour(record.kernel);
  for (const Time time : kAllTimes) {
    round_time(timing_of(final, time));
    for (double& value : rounds_of(final, time)) value = rounded(value);
  }
  if (standing.to_baseline) final.standing.to_baseline = rounded_ratio(*standing.to_baseline);
  return final;
}

/// Adds the ratio of the best's median to each baseline's median. The gate gives the interval.
std::vector<PageFinal> finals_of(const ProblemResult& result, Time time) {
  std::vector<PageFinal> finals;
  const FinalRecord* best = result.best();
  for (std::size_t i = 0; i < result.finals.size(); ++i) {
    const FinalRecord& record = result.finals[i];
    PageFinal& final = finals.emplace_back(final_of(record, result.standings[i]));
    const auto& timing = timing_of(record, time);
    if (!record.is_baseline() || record.outcome != Outcome::kMeasured || !timing) continue;
    if (best == nullptr || !timing_of(*best, time)) continue;
    final.best_over_this = rounded(timing_of(*best, time)->median_us / timing->median_us);
  }
  return finals;
}

/// Removes numbers, which differ between candidates with equal reasons.
std::string without_numbers(const std::string& reason) {
  std::string text;
  for (std::size_t i = 0; i < reason.size(); ++i) {
    const auto digit = [&](std::size_t at) { return reason[at] >= '0' && reason[at] <= '9'; };
    const bool inside_word =
        i > 0 &&
        (std::isalpha(static_cast<unsigned char>(reason[i - 1])) != 0 || reason[i - 1] == '_');
    if (!digit(i) || inside_word) {
      text += reason[i];
      continue;
    }
    while (i + 1 < reason.size() && (digit(i + 1) || reason[i + 1] == '.')) ++i;
    if (reason[i] == '.') --i;
    text += "#";
  }
  return text;
}

std::vector<PageOutcome> outcomes_of(const PageProblem& problem) {
  struct Counted {
    std::size_t count = 0;
    std::map<std::string, PageReason> by_kind;
  };
  std::map<Outcome, Counted> counted;
  for (const JournalGroup& group : problem.groups) {
    for (const ToldRecord& config : group.configs) {
      Counted& outcome = counted[config.record.outcome];
      ++outcome.count;
      if (config.record.reason.empty()) continue;
      PageReason& reason = outcome.by_kind[without_numbers(config.record.reason)];
      if (++reason.count == 1) reason.example = config.record.reason;
    }
  }
  std::vector<PageOutcome> outcomes;
  for (const auto& [outcome, all] : counted) {
    PageOutcome& row = outcomes.emplace_back(PageOutcome{outcome, all.count, {}});
    for (const auto& [kind, reason] : all.by_kind) row.reasons.push_back(reason);
    std::ranges::stable_sort(row.reasons, std::ranges::greater(), &PageReason::count);
    if (row.reasons.size() > kReasonsShown) row.reasons.resize(kReasonsShown);
  }
  return outcomes;
}

PageProblemData data_of(const PageProblem& problem, const PageRunHead& run, Depth depth) {
  const JournalHeader& header = run.header;
  const ProblemResult& result = problem.result;
  const Problem& what = result.problem.problem;
  PageProblemData data;
  data.problem = result.problem;
  data.time = final_time(result.finals, header.plan.objective);
  data.search_time = run.search_time;
  data.flops = flops(what).value;
  data.least_bytes = static_cast<double>(least_bytes(what).value);
  data.has_best = result.best() != nullptr;
  data.finals = finals_of(result, data.time);
  for (const FinalRecord& final : result.finals)
    data.ended_s = std::max(data.ended_s, rounded(final.at_s));
  data.gate = result.gate;
  if (data.gate) data.gate->ratio = rounded_ratio(data.gate->ratio);
  data.sol = sol_score(result, header.plan.objective, header.environment);
  if (data.sol) {
    data.sol->value = rounded(data.sol->value);
    data.sol->floor.time = Micros(rounded(data.sol->floor.time.value));
  }
  data.outcomes = outcomes_of(problem);
  data.hardware = {peak_rates(what, header.environment), physics_floor(what, header.environment)};
  add_candidates(problem, header, depth, data);
  return data;
}

PageListings listings_of(const std::vector<PageCode>& code) {
  PageListings all;
  std::unordered_map<std::string, std::size_t> positions;
  for (const PageCode& each : code) {
    PageListing& listing = all.listings.emplace_back();
    listing.id = each.id;
    listing.remade = each.remade;
    listing.counts.resize(instruction_classes().size());
    for (const Census& entry : each.entries) {
      listing.instructions += entry.instructions;
      std::ranges::transform(entry.counts, listing.counts, listing.counts.begin(), std::plus());
    }
    for (const std::string& line : each.lines) {
      const auto [place, fresh] = positions.try_emplace(line, all.lines.size());
      if (fresh) all.lines.push_back(line);
      listing.lines.push_back(place->second);
    }
  }
  return all;
}

PageRunData data_of(const PageRun& run, Depth depth) {
  PageRunData data{
      static_cast<const PageRunHead&>(run), run.header.environment.recorded, {}, {}, {}, {}};
  data.header.plan.command = without_folders(data.header.plan.command);
  data.header.environment.device_uuid.clear();
  if (!run.code.empty()) data.code = listings_of(run.code);
  data.fleet = run.fleet;
  if (data.fleet) {
    for (FleetWorker& each : data.fleet->workers)
      each.name = without_host(without_folders(each.name));
  }
  for (const ProfiledConfig& each : run.profiles) {
    const NcuOutcome& outcome = each.profile.outcome;
    const Counters* launch = longest(outcome.launches);
    if (launch == nullptr) continue;
    std::string report;
    if (!outcome.report.empty()) report = kept_profile("", each.id, ".ncu-rep").generic_string();
    data.profiles.push_back({each.id, report, read_counters(*launch, each.profile.facts)});
  }
  for (const PageProblem& problem : run.problems) {
    for (const FinalRecord& final : problem.result.finals)
      data.recorded = data.recorded || final.recorded;
    data.problems.push_back(data_of(problem, run, depth));
  }
  return data;
}

void floor_fields(const char* key, Floor& floor, bool unknown, FieldList& f) {
  f.group(key, [&](FieldList& members) {
     members.derived("time_us", rounded(floor.time.value)).finite();
     members("why", floor.why);
   }).absent_if(unknown);
}

}  // namespace

void fields(PageFinal& x, FieldList& f) {
  f.record("final", "A contestant of the final phase; the best comes first");
  document::final_fields(x, f);
  f("in_layer_rounds_us", x.in_layer_rounds_us).omitted();
  f("plain_rounds_us", x.plain_rounds_us).omitted();
  f("hot_rounds_us", x.hot_rounds_us).omitted();
  f("cold_rounds_us", x.cold_rounds_us).omitted();
  f("to_baseline", x.standing.to_baseline).about("Its time over the fastest baseline's");
  f("ties_with_best", x.standing.ties_with_best).omitted();
  f("verdict", x.standing.verdict).omitted();
  f("best_over_this", x.best_over_this).finite().about("Of a baseline: the best's time over its");
  f("colour", x.colour).about("Its kernel's");
}

void fields(PageReason& x, FieldList& f) {
  f("count", x.count);
  f("example", x.example);
}

void fields(PageOutcome& x, FieldList& f) {
  f("outcome", x.outcome);
  f("count", x.count);
  f("reasons", x.reasons);
}

void fields(PageHardware& x, FieldList& f) {
  PeakRates& peak = x.peak;
  const bool unknown = !peak.unknown.empty();
  f("unknown", peak.unknown).omitted();
  f.derived("tensor_tflops", rounded(peak.flops * kTeraPerSecond)).absent_if(unknown);
  f("tensor_origin", peak.flops_origin).absent_if(unknown);
  f.derived("memory_tbs", rounded(peak.memory_bytes * kTeraPerSecond)).absent_if(unknown);
  f("memory_origin", peak.memory_origin).absent_if(unknown);
  f.derived("cache_tbs", rounded(peak.cache_bytes * kTeraPerSecond)).absent_if(unknown);
  f("cache_origin", peak.cache_origin).absent_if(unknown);
  floor_fields("in_layer_floor", x.floor.in_layer, unknown, f);
  floor_fields("hot_floor", x.floor.hot, unknown, f);
  floor_fields("cold_floor", x.floor.cold, unknown, f);
}

void fields(PageParameter& x, FieldList& f) {
  f("name", x.name);
  f("values", x.values);
}

void fields(PageKernel& x, FieldList& f) {
  f("name", x.name);
  f("colour", x.colour).about("0 to 7, by the name alone");
  f("parameters", x.parameters);
  f("importance", x.importance).or_null();
  f("waves_unknown", x.waves_unknown).omitted().about("Why candidates have none");
}

void fields(PageCandidates& x, FieldList& f) {
  f.record("candidates", "Columns of equal length, in the order tried");
  f("kernel", x.kernel);
  f("config", x.config).about("Positions in the kernel's values, -1 where it has none");
  f("id", x.id);
  f("outcome", x.outcome);
  f("reason", x.reason).about("Position in the problem's reasons, -1: none");
  f("at_s", x.at_s);
  f("compile_s", x.compile_s);
  f("ready_s", x.ready_s).about("From the end of its compilation to its result");
  f("verify_s", x.verify_s);
  f("timing_s", x.timing_s);
  f("compiler", x.compiler).or_null().about("The compile process, from 0");
  f("device", x.device).or_null().about("That measured it, where it is not the run's");
  f("in_layer_median_us", x.in_layer_median_us).or_null();
  f("hot_median_us", x.hot_median_us).or_null();
  f("cold_median_us", x.cold_median_us).or_null();
  f("margin", x.margin).or_null();
  f("registers", x.registers).or_null();
  f("shared_bytes", x.shared_bytes).or_null();
  f("spill_bytes", x.spill_bytes).or_null();
  f("threads", x.threads).or_null().about("Of a block");
  f("blocks_per_sm", x.blocks_per_sm).or_null();
  f("waves", x.waves).or_null();
}

void fields(PageWarmStart& x, FieldList& f) {
  f.record("warm_start", "A candidate with which the search began, and what knew it");
  f("candidate", x.candidate).about("Its position");
  f("source", x.source);
}

void fields(PageProblemData& x, FieldList& f) {
  document::problem_fields(x.problem.name, x.problem.problem, f);
  f("time", x.time).about("Ranks and compares finals");
  f("search_time", x.search_time).about("Of candidates");
  f("flops", x.flops);
  f("least_bytes", x.least_bytes);
  f("has_best", x.has_best);
  f("finals", x.finals);
  f("gate", x.gate).or_null();
  f("sol", x.sol);
  f("outcomes", x.outcomes);
  f("hardware", x.hardware);
  f("kernels", x.kernels);
  f("candidates", x.candidates);
  f("reasons", x.reasons);
  f("warm_starts", x.warm_starts).omitted();
  f("begun_s", x.begun_s).about("Since the run began");
  f("ended_s", x.ended_s).omitted().about("Its final phase, since the run began");
}

void fields(PageProfile& x, FieldList& f) {
  f.record("profile", "What ncu counted of a candidate, in its launch that takes longest");
  f("id", x.id);
  f("report", x.report).omitted().about("ncu's own, from the run's folder on");
  f("reading", x.reading);
}

void fields(PageListing& x, FieldList& f) {
  f.record("listing", "Machine code of a finalist");
  f("id", x.id);
  f("remade", x.remade).omitted().about("By another compiler: not what was measured");
  f("instructions", x.instructions);
  f.group("counts", [&x](FieldList& counts) {
    const auto classes = instruction_classes();
    for (std::size_t i = 0; i < classes.size(); ++i)
      counts.derived(classes[i].what.data(), x.counts.empty() ? 0 : x.counts[i]);
  });
  f("lines", x.lines).about("Positions");
}

void fields(PageListings& x, FieldList& f) {
  f.record("code");
  f("lines", x.lines).about("Instructions, entries and labels, each once");
  f("listings", x.listings);
}

void fields(PageRunData& x, FieldList& f) {
  RunPlan& plan = x.header.plan;
  Environment& environment = x.header.environment;
  f("name", x.name);
  f("command", plan.command);
  f("recorded", x.recorded);
  f("correctness_skipped", plan.skip_correctness);
  f("status", x.status).one_of("complete, interrupted, unfinished");
  f.derived("seconds", rounded(x.seconds)).finite();
  f("strategy", plan.strategy);
  f("objective", plan.objective);
  f("seed", plan.seed);
  f.group("budget", [&plan](FieldList& budget) {
    budget("evaluations", plan.budget_evaluations);
    budget("seconds", plan.budget_seconds);
  });
  f("fatune", environment.fatune);
  f.as<&device_fields>("device", environment);
  f("folder", x.folder).omitted().about("The run's, from the page's on");
  f("profiles", x.profiles).omitted();
  f("code", x.code);
  f("fleet", x.fleet);
  f("problems", x.problems);
}

void fields(PageLive& x, FieldList& f) {
  SweepProgress& progress = x.progress;
  f("problem", progress.problem);
  f("problem_number", progress.problem_number);
  f("problems", progress.problems);
  f("phase", progress.phase);
  f("activity", progress.activity);
  f("done", progress.done);
  f("all", progress.all);
  f.derived("elapsed_s", rounded(progress.elapsed_s));
  f.derived("left_s", progress.left_s ? std::optional(rounded(*progress.left_s)) : std::nullopt)
      .or_null();
  f("finished", x.finished);
}

void fields(PageDocument& x, FieldList& f) {
  f.document("fatune.page");
  document::head_fields(x.head, f);
  f("live", x.live).about("Of a page that follows a running sweep");
  f("runs", x.runs);  // last: a live page replaces this text
}

PageDocument page_document(std::span<const PageRun> runs, Depth depth, DocumentHead head) {
  PageDocument document;
  document.head = std::move(head);
  document.head.command = without_folders(document.head.command);
  for (const PageRun& run : runs) {
    document.runs.push_back(data_of(run, depth));
    document.head.recorded = document.head.recorded || document.runs.back().recorded;
  }
  return document;
}

}  // namespace fatune
