// profile.cpp: Applies thresholds to counters, picks the bottleneck, and computes time shares.
#include "tune/profile/profile.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/kernel/config.hpp"

namespace fatune {
namespace {

using C = Counters;

constexpr const char* kProfiles = "profiles";  // folder in a run's folder

/// A counter with a limit. Limits of tensor, DRAM and warps are the project's targets. Limits of
/// stalls are chosen: above them a kernel parameter against the stall has paid off.
struct Threshold {
  const char* key;
  const char* what;
  std::optional<double> C::*field;
  double limit;
  const char* good;
  const char* bad;
};

constexpr Threshold kMemory[] = {
    {"dram", "DRAM", &C::dram_pct, 70, "DRAM has room",
     "DRAM is the limit: reread less, with more query rows a block"},
    {"l2", "L2", &C::l2_pct, 70, "L2 has room",
     "L2 is the limit: let a block reuse more of each tile it loads"},
};

constexpr Threshold kStalls[] = {
    {"barrier", "stall: barrier", &C::stall_barrier, 15, "few warps wait for each other",
     "warps wait for each other: more stages, or fewer warps a block"},
    {"long_scoreboard", "stall: long scoreboard", &C::stall_long_scoreboard, 30,
     "global and local memory arrive in time",
     "warps wait for global or local memory: more stages, or copies issued earlier"},
    {"short_scoreboard", "stall: short scoreboard", &C::stall_short_scoreboard, 15,
     "shared memory and special functions answer in time",
     "warps wait for shared memory or special functions: swizzle, wider loads, fewer exp2"},
    {"wait", "stall: wait", &C::stall_wait, 30, "fixed latencies are mostly hidden",
     "chains of dependent instructions show: more warps, or more independent work in one"},
    {"mio_throttle", "stall: MIO throttle", &C::stall_mio, 15,
     "the queue to shared memory has room",
     "too many shared-memory instructions in flight: wider loads, ldmatrix"},
    {"lg_throttle", "stall: LG throttle", &C::stall_lg, 10, "the queue to global memory has room",
     "too many global or local accesses in flight: wider loads, cp.async, no spills"},
    {"membar", "stall: memory fence", &C::stall_membar, 5, "fences cost little",
     "memory fences hold warps up"},
};

/// A stall that waits for the unit that should be busy is reported and not judged.
constexpr Threshold kWillingStalls[] = {
    {"math_throttle", "stall: math pipe", &C::stall_math, 0, "",
     "warps queue for the math pipes, as near their roof"},
    {"gmma", "stall: wgmma", &C::stall_gmma, 0, "",
     "warps wait for their wgmma to end, as when the tensor cores set the pace"},
    {"warpgroup_arrive", "stall: warpgroup", &C::stall_warpgroup_arrive, 0, "",
     "warps wait for the others of their warpgroup"},
};

constexpr double kTensorPercent = 50;
// Use of the tensor pipe that the best fused attention reaches.
constexpr double kNearRoofPercent = 70;
constexpr double kWarpsPercent = 40;
constexpr double kConflictRatio = 0.05;  // chosen: extra passes of shared memory
constexpr double kWaveUse = 0.8;         // chosen: below, a fifth of the device's time is lost
constexpr double kEmptyDeviceUse = 0.5;  // chosen: below, nothing else matters as much

std::string below(double limit) { return fmt::format("< {:.0f}", limit); }
std::string above(double limit) { return fmt::format("> {:.0f}", limit); }

Finding judged(Finding finding, bool good, const std::string& if_good, const std::string& if_bad) {
  finding.mark = good ? Mark::kGood : Mark::kBad;
  finding.sentence = good ? if_good : if_bad;
  return finding;
}

Finding judge(const Threshold& rule, const Counters& counters) {
  const auto& value = counters.*rule.field;
  const Finding finding{rule.what, value, "%", below(rule.limit)};
  return value ? judged(finding, *value < rule.limit, rule.good, rule.bad) : finding;
}

Finding tensor_finding(const Counters& counters) {
  const auto& value = counters.tensor_pct;
  const Finding finding{"tensor active", value, "%", above(kTensorPercent)};
  if (!value) return finding;
  return judged(finding, *value > kTensorPercent, "the tensor cores work most of the time",
                *value == 0
                    ? "no tensor-core instruction ran: the kernel multiplies on ordinary cores"
                    : "the tensor cores idle most of the time: softmax, copies or waiting fill it");
}

/// A warp-specialised kernel has few warps with many registers by design.
bool few_warps_by_design(const Counters& counters) {
  return counters.wgmma_instructions.value_or(0) > 0 ||
         counters.tensor_pct.value_or(0) > kTensorPercent;
}

std::string occupancy_limiter(const Counters& c) {
  const std::pair<std::optional<double>, const char*> limiters[] = {
      {c.limit_registers, "registers"},
      {c.limit_shared, "shared memory"},
      {c.limit_warps, "warps"},
      {c.limit_blocks, "the number of blocks"}};
  const auto least = std::ranges::min_element(
      limiters, {}, [](const auto& each) { return each.first.value_or(HUGE_VAL); });
  if (!least->first) return "";
  return fmt::format("; {} allow {:.0f} blocks a multiprocessor", least->second, *least->first);
}

Finding warps_finding(const Counters& counters) {
  const auto& value = counters.warps_pct;
  Finding finding{"warps active", value, "%", above(kWarpsPercent)};
  if (!value) return finding;
  const bool by_design = few_warps_by_design(counters);
  finding = judged(finding, *value > kWarpsPercent, "enough warps to hide latency",
                   (by_design ? "low by design, not judged: few warps with many registers feed "
                                "the tensor cores (warp specialisation, wgmma)"
                              : "few warps to hide latency") +
                       occupancy_limiter(counters));
  if (finding.mark == Mark::kBad && by_design) finding.mark = Mark::kNote;
  return finding;
}

Finding conflicts_finding(const Counters& counters) {
  Finding finding{"bank conflicts", {}, "% of passes", below(100 * kConflictRatio)};
  const auto ratio = bank_conflict_ratio(counters);
  if (!ratio) return finding;
  finding.value = 100 * *ratio;
  return judged(finding, *ratio < kConflictRatio,
                "shared memory is read and written in few extra passes",
                "banks collide: swizzle or pad the tiles");
}

Finding spills_finding(const Counters& counters, const LaunchFacts& facts) {
  const Resources& r = facts.resources;
  const std::int64_t compiled = r.spill_store_bytes + r.spill_load_bytes;
  Finding finding{"spills", {}, "sectors", "0"};
  if (!counters.spill_loads && !counters.spill_stores) {
    finding.sentence = fmt::format("not counted; the compiler spills {} bytes a thread", compiled);
    return finding;
  }
  finding.value = counters.spill_loads.value_or(0) + counters.spill_stores.value_or(0);
  return judged(finding, *finding.value <= 0, "nothing goes to local memory",
                fmt::format("registers go to local memory ({} bytes a thread): smaller tiles, or "
                            "fewer blocks a multiprocessor",
                            compiled));
}

Finding waves_finding(const LaunchFacts& facts) {
  Finding finding{"device filled", {}, "%", above(100 * kWaveUse)};
  const auto use = facts.wave_use();
  if (!use) return finding;
  finding.value = 100 * *use;
  const std::string shape = fmt::format("{} blocks are {:.2f} waves on {} multiprocessors",
                                        facts.blocks, *facts.waves(), facts.sm_count);
  return judged(finding, *use >= kWaveUse, shape,
                shape + ": the last wave, or the grid, leaves many idle");
}

/// Returns the stall furthest above its limit, or null.
const Threshold* worst_stall(const Counters& counters) {
  const Threshold* worst = nullptr;
  double excess = 1;
  for (const Threshold& rule : kStalls) {
    const double value = (counters.*rule.field).value_or(0);
    if (value / rule.limit < excess) continue;
    excess = value / rule.limit;
    worst = &rule;
  }
  return worst;
}

std::optional<Reading> memory_bound(const Counters& counters) {
  for (const Threshold& rule : kMemory) {
    const auto& value = counters.*rule.field;
    if (!value || *value < rule.limit) continue;
    return Reading{
        rule.key, fmt::format("{} works at {:.1f} % of its peak: {}", rule.what, *value, rule.bad)};
  }
  return std::nullopt;
}

std::optional<Reading> stall_bound(const Counters& counters) {
  const Threshold* stall = worst_stall(counters);
  if (stall == nullptr) return std::nullopt;
  std::string key = stall->key, why = stall->bad;
  if (key == "short_scoreboard" && bank_conflict_ratio(counters).value_or(0) >= kConflictRatio) {
    key = "bank_conflicts";
    why = "shared memory answers in extra passes: swizzle or pad the tiles";
  }
  if (key == "long_scoreboard" && counters.spill_loads.value_or(0) > 0) {
    key = "spills";
    why = "some of it are registers spilled to local memory: smaller tiles";
  }
  return Reading{key, fmt::format("{:.1f} % of the warps' time is {}: {}",
                                  *(counters.*stall->field), stall->what, why)};
}

/// Checks roofs first, then an empty device, then the worst stall.
Reading bound_of(const Counters& counters, const LaunchFacts& facts) {
  const double tensor = counters.tensor_pct.value_or(0);
  if (tensor >= kNearRoofPercent) {
    return {
        "tensor",
        fmt::format("the tensor cores are {:.1f} % active: near the roof of what a fused kernel "
                    "reaches",
                    tensor)};
  }
  if (auto memory = memory_bound(counters)) return *memory;
  const double use = facts.wave_use().value_or(1);
  const Reading waves{
      "waves", fmt::format("{:.0f} % of the device's time is filled: fewer rows a block, or the "
                           "keys split over blocks, spread the work",
                           100 * use)};
  if (use < kEmptyDeviceUse) return waves;
  if (auto stall = stall_bound(counters)) return *stall;
  if (use < kWaveUse) return waves;
  if (tensor > kTensorPercent) {
    return {"tensor",
            fmt::format("the tensor cores set the pace at {:.1f} %; no stall stands out", tensor)};
  }
  if (!counters.tensor_pct) return {"unknown", "the counters that would tell were not read"};
  return {"latency", "nothing is near its limit: the latency of one step after the other binds"};
}

}  // namespace

std::string_view name(Mark mark) {
  constexpr std::string_view kNames[] = {"good", "bad", "note", "absent"};
  return kNames[static_cast<std::size_t>(mark)];
}

Reading read_counters(const Counters& counters, const LaunchFacts& facts) {
  Reading reading = bound_of(counters, facts);
  reading.findings.push_back(tensor_finding(counters));
  for (const Threshold& rule : kMemory) reading.findings.push_back(judge(rule, counters));
  reading.findings.push_back(warps_finding(counters));
  reading.findings.push_back(conflicts_finding(counters));
  for (const Threshold& rule : kStalls) reading.findings.push_back(judge(rule, counters));
  for (const Threshold& rule : kWillingStalls) {
    const auto& value = counters.*rule.field;
    if (value) reading.findings.push_back({rule.what, value, "%", "", Mark::kNote, rule.bad});
  }
  reading.findings.push_back(spills_finding(counters, facts));
  reading.findings.push_back(waves_finding(facts));
  return reading;
}

std::vector<LaunchShare> breakdown(const std::vector<Counters>& launches) {
  std::vector<LaunchShare> shares;
  double total = 0;
  for (const Counters& launch : launches) {
    if (!launch.time_us) return {};
    total += *launch.time_us;
    auto known = std::ranges::find(shares, launch.kernel, &LaunchShare::kernel);
    if (known == shares.end()) known = shares.insert(shares.end(), {launch.kernel});
    ++known->launches;
    known->time_us += *launch.time_us;
  }
  for (LaunchShare& share : shares) share.share = total > 0 ? share.time_us / total : 0;
  std::ranges::stable_sort(shares, std::ranges::greater(), &LaunchShare::time_us);
  return shares;
}

const Counters* longest(const std::vector<Counters>& launches) {
  const auto found = std::ranges::max_element(
      launches, {}, [](const Counters& launch) { return launch.time_us.value_or(0); });
  return found == launches.end() ? nullptr : &*found;
}

void fields(Finding& x, FieldList& f) {
  f("what", x.what);
  f("value", x.value).finite();
  f("unit", x.unit);
  f("limit", x.limit).omitted();
  f.derived("mark", std::string(name(x.mark))).one_of("good, bad, note, absent");
  f("sentence", x.sentence);
}

void fields(Reading& x, FieldList& f) {
  f.record("reading", "What binds the launch that takes longest");
  f("bound_by", x.bound_by);
  f("sentence", x.sentence);
  f("findings", x.findings);
}

void fields(LaunchShare& x, FieldList& f) {
  f("kernel", x.kernel);
  f("launches", x.launches);
  f("time_us", x.time_us).finite().about("Under replay, with cold caches: never a result");
  f("share", x.share).finite();
}

void fields(Profile& x, FieldList& f) {
  NcuOutcome& outcome = x.outcome;
  const bool counted = outcome.status == ProfileStatus::kProfiled;
  const Counters* launch = longest(outcome.launches);
  f.derived("status", std::string(name(outcome.status)))
      .one_of("profiled, denied, failed, not_run");
  f("reason", outcome.reason).omitted();
  f("remedies", outcome.remedies).omitted();
  f("facts", x.facts);
  f("report", outcome.report).omitted().about("ncu's own, in the folder of this document");
  f("dropped_metrics", outcome.dropped).absent_if(!counted);
  f.derived("breakdown", breakdown(outcome.launches)).absent_if(!counted);
  f("launches", outcome.launches).absent_if(!counted);
  f.derived("reading", counted && launch != nullptr ? std::optional(read_counters(*launch, x.facts))
                                                    : std::nullopt);
}

void fields(ProfiledConfig& x, FieldList& f) {
  document::problem_fields(x.problem.name, x.problem.problem, f);
  f("kernel", x.kernel);
  f("config", x.config).object().schema(kConfigSchema);
  f("id", x.id).about("The candidate's, as in a journal");
  f("hot", x.hot);
  fields(x.profile, f);
}

void fields(ProfileDocument& x, FieldList& f) {
  f.document("fatune.profile");
  document::head_fields(x.head, f);
  f.as<&device_fields>("device", x.environment);
  host_fields(x.environment, f);
  f("profiles", x.profiles);
}

std::filesystem::path kept_profile(const std::filesystem::path& run, const std::string& id,
                                   const char* extension) {
  return run / kProfiles / (file_name(id) + extension);
}

std::vector<ProfiledConfig> kept_profiles(const std::filesystem::path& run) {
  std::error_code none;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(run / kProfiles, none)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<ProfiledConfig> kept;
  for (const std::filesystem::path& file : files) {
    const auto json = load_json(file);
    auto document = json ? read_value<ProfileDocument>(*json, file.string())
                         : Result<ProfileDocument>(json.error());
    if (!document) {
      log::warn("a profile is left out: " + document.error().message);
      continue;
    }
    std::ranges::move(document->profiles, std::back_inserter(kept));
  }
  return kept;
}

}  // namespace fatune
