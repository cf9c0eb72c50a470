// reading.cpp - the thresholds, the sentences, and the choice of what binds.
#include "tune/profile/reading.hpp"

#include <algorithm>
#include <array>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

using C = Counters;
enum class Wanted { kAbove, kBelow };

/// A counter with a limit. Limits of tensor, DRAM and warps are the project's targets; the stalls'
/// are chosen: where removing the stall has been worth a parameter of a kernel.
struct Threshold {
  const char* key;
  const char* what;
  std::optional<double> C::*field;
  Wanted wanted;
  double limit;
  const char* good;
  const char* bad;
};

constexpr Threshold kTensor = {
    "tensor",
    "tensor active",
    &C::tensor_pct,
    Wanted::kAbove,
    50,
    "the tensor cores work most of the time",
    "the tensor cores idle most of the time: softmax, copies or waiting fill it"};

constexpr std::array kMemory = {
    Threshold{"dram", "DRAM", &C::dram_pct, Wanted::kBelow, 70, "DRAM has room",
              "DRAM is the limit: reread less, with more query rows a block"},
    Threshold{"l2", "L2", &C::l2_pct, Wanted::kBelow, 70, "L2 has room",
              "L2 is the limit: let a block reuse more of each tile it loads"},
};

constexpr std::array kStalls = {
    Threshold{"barrier", "stall: barrier", &C::stall_barrier, Wanted::kBelow, 15,
              "few warps wait for each other",
              "warps wait for each other: more stages, or fewer warps a block"},
    Threshold{"long_scoreboard", "stall: long scoreboard", &C::stall_long_scoreboard,
              Wanted::kBelow, 30, "global and local memory arrive in time",
              "warps wait for global or local memory: more stages, or copies issued earlier"},
    Threshold{
        "short_scoreboard", "stall: short scoreboard", &C::stall_short_scoreboard, Wanted::kBelow,
        15, "shared memory and special functions answer in time",
        "warps wait for shared memory or special functions: swizzle, wider loads, fewer exp2"},
    Threshold{"wait", "stall: wait", &C::stall_wait, Wanted::kBelow, 30,
              "fixed latencies are mostly hidden",
              "chains of dependent instructions show: more warps, or more independent work in one"},
    Threshold{"mio_throttle", "stall: MIO throttle", &C::stall_mio, Wanted::kBelow, 15,
              "the queue to shared memory has room",
              "too many shared-memory instructions in flight: wider loads, ldmatrix"},
    Threshold{"lg_throttle", "stall: LG throttle", &C::stall_lg, Wanted::kBelow, 10,
              "the queue to global memory has room",
              "too many global or local accesses in flight: wider loads, cp.async, no spills"},
    Threshold{"membar", "stall: memory fence", &C::stall_membar, Wanted::kBelow, 5,
              "fences cost little", "memory fences hold warps up"},
};

/// Waiting for the unit one wants to be busy: told, not judged.
constexpr std::array kWillingStalls = {
    Threshold{"math_throttle", "stall: math pipe", &C::stall_math, Wanted::kBelow, 0, "",
              "warps queue for the math pipes, as near their roof"},
    Threshold{"gmma", "stall: wgmma", &C::stall_gmma, Wanted::kBelow, 0, "",
              "warps wait for their wgmma to end, as when the tensor cores set the pace"},
    Threshold{"warpgroup_arrive", "stall: warpgroup", &C::stall_warpgroup_arrive, Wanted::kBelow, 0,
              "", "warps wait for the others of their warpgroup"},
};

constexpr double kNearRoofPercent = 70;  // of the tensor pipe; what fused attention reaches at best
constexpr double kWarpsPercent = 40;
constexpr double kConflictRatio = 0.05;  // chosen: extra passes of shared memory
constexpr double kWaveUse = 0.8;         // chosen: below, a fifth of the device's time is lost
constexpr double kEmptyDeviceUse = 0.5;  // chosen: below, nothing else matters as much

bool met(const Threshold& rule, double value) {
  return rule.wanted == Wanted::kAbove ? value > rule.limit : value < rule.limit;
}

std::string limit_text(Wanted wanted, double limit) {
  return (wanted == Wanted::kAbove ? "> " : "< ") + fixed(limit, 0);
}

Finding absent(const std::string& what, const std::string& unit, const std::string& limit) {
  return {what, std::nullopt, unit, limit, Mark::kAbsent, "not counted"};
}

Finding judge(const Threshold& rule, const Counters& counters) {
  const std::string limit = limit_text(rule.wanted, rule.limit);
  const auto& value = counters.*rule.field;
  if (!value) return absent(rule.what, "%", limit);
  const bool good = met(rule, *value);
  return {
      rule.what, value, "%", limit, good ? Mark::kGood : Mark::kBad, good ? rule.good : rule.bad};
}

Finding tensor_finding(const Counters& counters) {
  Finding finding = judge(kTensor, counters);
  if (finding.value && *finding.value == 0)
    finding.sentence = "no tensor-core instruction ran: the kernel multiplies on ordinary cores";
  return finding;
}

/// A warp-specialised kernel holds few warps with many registers, on purpose.
bool few_warps_by_design(const Counters& counters) {
  return counters.wgmma_instructions.value_or(0) > 0 ||
         counters.tensor_pct.value_or(0) > kTensor.limit;
}

std::string occupancy_limiter(const Counters& c) {
  const std::pair<std::optional<double>, const char*> limiters[] = {
      {c.limit_registers, "registers"},
      {c.limit_shared, "shared memory"},
      {c.limit_warps, "warps"},
      {c.limit_blocks, "the number of blocks"}};
  const char* tightest = nullptr;
  double least = 0;
  for (const auto& [limit, word] : limiters) {
    if (!limit || (tightest != nullptr && *limit >= least)) continue;
    least = *limit;
    tightest = word;
  }
  if (tightest == nullptr) return "";
  return "; " + std::string(tightest) + " allow " + fixed(least, 0) + " blocks a multiprocessor";
}

Finding warps_finding(const Counters& counters) {
  const std::string limit = limit_text(Wanted::kAbove, kWarpsPercent);
  if (!counters.warps_pct) return absent("warps active", "%", limit);
  Finding finding{"warps active", counters.warps_pct, "%",
                  limit,          Mark::kGood,        "enough warps to hide latency"};
  if (*counters.warps_pct > kWarpsPercent) return finding;
  const bool by_design = few_warps_by_design(counters);
  finding.mark = by_design ? Mark::kNote : Mark::kBad;
  finding.sentence = by_design ? "low by design, not judged: few warps with many registers feed "
                                 "the tensor cores (warp specialisation, wgmma)"
                               : "few warps to hide latency";
  finding.sentence += occupancy_limiter(counters);
  return finding;
}

Finding conflicts_finding(const Counters& counters) {
  const std::string limit = limit_text(Wanted::kBelow, 100 * kConflictRatio);
  const auto ratio = bank_conflict_ratio(counters);
  if (!ratio) return absent("bank conflicts", "% of passes", limit);
  const bool good = *ratio < kConflictRatio;
  return {"bank conflicts",
          100 * *ratio,
          "% of passes",
          limit,
          good ? Mark::kGood : Mark::kBad,
          good ? "shared memory is read and written in few extra passes"
               : "banks collide: swizzle or pad the tiles"};
}

Finding spills_finding(const Counters& counters, const LaunchFacts& facts) {
  const Resources& r = facts.resources;
  const std::string compiled = std::to_string(r.spill_store_bytes + r.spill_load_bytes);
  if (!counters.spill_loads && !counters.spill_stores)
    return {"spills",      std::nullopt,
            "sectors",     "0",
            Mark::kAbsent, "not counted; the compiler spills " + compiled + " bytes a thread"};
  const double sectors = counters.spill_loads.value_or(0) + counters.spill_stores.value_or(0);
  return {"spills",
          sectors,
          "sectors",
          "0",
          sectors > 0 ? Mark::kBad : Mark::kGood,
          sectors > 0 ? "registers go to local memory (" + compiled +
                            " bytes a thread): smaller tiles, or fewer blocks a multiprocessor"
                      : "nothing goes to local memory"};
}

Finding waves_finding(const LaunchFacts& facts) {
  const auto use = facts.wave_use();
  const std::string limit = limit_text(Wanted::kAbove, 100 * kWaveUse);
  if (!use) return absent("device filled", "%", limit);
  const bool good = *use >= kWaveUse;
  const std::string shape = std::to_string(facts.blocks) + " blocks are " +
                            fixed(*facts.waves(), 2) + " waves on " +
                            std::to_string(facts.sm_count) + " multiprocessors";
  return {"device filled",
          100 * *use,
          "%",
          limit,
          good ? Mark::kGood : Mark::kBad,
          good ? shape : shape + ": the last wave, or the grid, leaves many idle"};
}

/// The stall furthest above its limit, or among all the longest one.
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

std::string percent_of(const std::optional<double>& value) { return fixed(*value, 1) + " %"; }

void name_memory(const Counters& counters, Reading& reading) {
  for (const Threshold& rule : kMemory) {
    const auto& value = counters.*rule.field;
    if (!value || met(rule, *value)) continue;
    reading.bound_by = rule.key;
    reading.sentence =
        std::string(rule.what) + " works at " + percent_of(value) + " of its peak: " + rule.bad;
    return;
  }
}

void name_stall(const Counters& counters, Reading& reading) {
  const Threshold* stall = worst_stall(counters);
  if (stall == nullptr) return;
  reading.bound_by = stall->key;
  std::string why = stall->bad;
  const std::string key = stall->key;
  if (key == "short_scoreboard" && bank_conflict_ratio(counters).value_or(0) >= kConflictRatio) {
    reading.bound_by = "bank_conflicts";
    why = "shared memory answers in extra passes: swizzle or pad the tiles";
  }
  if (key == "long_scoreboard" && counters.spill_loads.value_or(0) > 0) {
    reading.bound_by = "spills";
    why = "some of it are registers spilled to local memory: smaller tiles";
  }
  reading.sentence =
      percent_of(counters.*stall->field) + " of the warps' time is " + stall->what + ": " + why;
}

/// Roofs first, then an empty device, then the worst stall, then what is left.
void name_bound(const Counters& counters, const LaunchFacts& facts, Reading& reading) {
  const double tensor = counters.tensor_pct.value_or(0);
  if (tensor >= kNearRoofPercent) {
    reading.bound_by = "tensor";
    reading.sentence = "the tensor cores are " + percent_of(counters.tensor_pct) +
                       " active: near the roof of what a fused kernel reaches";
    return;
  }
  name_memory(counters, reading);
  if (!reading.bound_by.empty()) return;
  const double use = facts.wave_use().value_or(1);
  const std::string waves = fixed(100 * use, 0) + " % of the device's time is filled: " +
                            "fewer rows a block, or the keys split over blocks, spread the work";
  if (use < kEmptyDeviceUse) {
    reading.bound_by = "waves";
    reading.sentence = waves;
    return;
  }
  name_stall(counters, reading);
  if (!reading.bound_by.empty()) return;
  if (use < kWaveUse) {
    reading.bound_by = "waves";
    reading.sentence = waves;
  } else if (tensor > kTensor.limit) {
    reading.bound_by = "tensor";
    reading.sentence = "the tensor cores set the pace at " + percent_of(counters.tensor_pct) +
                       "; no stall stands out";
  } else if (counters.tensor_pct) {
    reading.bound_by = "latency";
    reading.sentence = "nothing is near its limit: the latency of one step after the other binds";
  } else {
    reading.bound_by = "unknown";
    reading.sentence = "the counters that would tell were not read";
  }
}

}  // namespace

std::string_view name(Mark mark) {
  switch (mark) {
    case Mark::kGood:
      return "good";
    case Mark::kBad:
      return "bad";
    case Mark::kNote:
      return "note";
    case Mark::kAbsent:
      break;
  }
  return "absent";
}

Reading read_counters(const Counters& counters, const LaunchFacts& facts) {
  Reading reading;
  name_bound(counters, facts, reading);
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

}  // namespace fatune
