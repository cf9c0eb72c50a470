// profile_text.cpp - tables and sentences of a profile.
#include "out/text/profile_text.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "out/text/table.hpp"

namespace fatune::cli {
namespace {

std::string bytes(std::int64_t count) { return describe(Bytes(static_cast<std::uint64_t>(count))); }

std::string findings_text(const Reading& reading, const Paint& paint) {
  Table table({{"counter"},
               {"value", Align::kRight},
               {"unit"},
               {"good", Align::kRight},
               {""},
               {"meaning"}});
  for (const Finding& each : reading.findings) {
    table.add({each.what, each.value ? fixed(*each.value, 1) : "", each.unit, each.limit,
               std::string(name(each.mark)), each.sentence});
  }
  return table.text(paint.columns());
}

std::string shares_text(const std::vector<LaunchShare>& shares, const Paint& paint) {
  Table table(
      {{"kernel"}, {"launches", Align::kRight}, {"us", Align::kRight}, {"share", Align::kRight}});
  for (const LaunchShare& each : shares) {
    table.add(
        {each.kernel, fmt::to_string(each.launches), fixed(each.time_us, 2), percent(each.share)});
  }
  return table.text(paint.columns());
}

}  // namespace

std::string facts_text(const LaunchFacts& facts) {
  const Resources& r = facts.resources;
  if (r.threads == 0) return "nothing is known of its registers and shared memory here\n";
  std::string text = fmt::format("{} blocks of {} threads", facts.blocks, r.threads);
  if (facts.stages > 1) text += fmt::format(" ({}, of {} launches)", facts.entry, facts.stages);
  if (const auto waves = facts.waves()) {
    text += fmt::format(", {} a multiprocessor: {:.2f} waves fill {} of the device's time",
                        r.blocks_per_sm, *waves, percent(*facts.wave_use(), 0));
  }
  text += fmt::format("\n{} registers a thread, {} of shared memory a block", r.registers,
                      bytes(r.static_shared_bytes + r.dynamic_shared_bytes));
  if (const auto occupancy = facts.occupancy())
    text += ", room for " + percent(*occupancy, 0) + " of the threads";
  const std::int64_t spills = r.spill_store_bytes + r.spill_load_bytes;
  text += spills == 0 ? ", no spills\n" : ", " + bytes(spills) + " of spills a thread\n";
  for (const std::string& warning : r.warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string outcome_text(const LaunchFacts& facts, const NcuOutcome& outcome, const Paint& paint) {
  if (outcome.status != ProfileStatus::kProfiled) {
    std::string text =
        "no counters (" + std::string(name(outcome.status)) + "): " + outcome.reason + "\n";
    for (const std::string& remedy : outcome.remedies) text += "  - " + remedy + "\n";
    return paint.fitted(text);
  }
  std::string text;
  if (const Counters* launch = longest(outcome.launches)) {
    const Reading reading = read_counters(*launch, facts);
    text += paint.fitted(launch->kernel + " is bound by " + reading.bound_by + ": " +
                         reading.sentence) +
            "\n" + findings_text(reading, paint);
  }
  const auto shares = breakdown(outcome.launches);
  if (outcome.launches.size() > 1 && !shares.empty()) text += "\n" + shares_text(shares, paint);
  text += "counted in replays of one launch with cold caches: no time here is a result\n";
  if (!outcome.dropped.empty())
    text += paint.fitted("not counted by this ncu on this device: " + join(outcome.dropped, ", "));
  return text;
}

}  // namespace fatune::cli
