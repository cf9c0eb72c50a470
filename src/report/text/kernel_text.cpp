// kernel_text.cpp: Lays out the results of `fatune inspect` and `fatune profile`.
#include "report/text/kernel_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {
namespace {

/// Returns which parameters have a choice. A parameter with a 'when' has a choice if some valid
/// config has another value than its fixed one.
std::vector<bool> choices_of(const Space& space) {
  std::vector<bool> choices;
  for (const Parameter& axis : space.axes()) choices.push_back(axis.when.empty());
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const Point point = space.point(index);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (point[i] != space.axes()[i].otherwise_position) choices[i] = true;
    }
  }
  return choices;
}

std::string triple(const std::array<std::int64_t, 3>& v) {
  return fmt::format("{},{},{}", v[0], v[1], v[2]);
}

std::string bytes(std::int64_t count) { return describe(Bytes(static_cast<std::uint64_t>(count))); }

std::string findings_text(const Reading& reading, const Paint& paint) {
  Table table({"counter", ">value", "unit", ">good", "", "meaning"});
  for (const Finding& each : reading.findings) {
    table.add({each.what, each.value ? fixed(*each.value, 1) : "", each.unit, each.limit,
               std::string(name(each.mark)), each.sentence});
  }
  return table.text(paint.columns());
}

std::string shares_text(const std::vector<LaunchShare>& shares, const Paint& paint) {
  Table table({"kernel", ">launches", ">us", ">share"});
  for (const LaunchShare& each : shares) {
    table.add(
        {each.kernel, fmt::to_string(each.launches), fixed(each.time_us, 2), percent(each.share)});
  }
  return table.text(paint.columns());
}

constexpr double kShown = 0.01;  // share of the variance; less is noise of the fit

using Share = ParameterImportance::Single;

std::vector<Share> shares_of(const ParameterImportance& importance) {
  std::vector<Share> shares = importance.singles;
  for (const auto& pair : importance.pairs)
    shares.push_back({pair.first + " with " + pair.second, pair.share});
  std::erase_if(shares, [](const Share& each) { return each.share < kShown; });
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.share > b.share; });
  return shares;
}

std::string headline(const Recording& recording) {
  std::string text = recording.name;
  if (!recording.problem.empty()) text += ", " + recording.problem;
  if (!recording.device.empty()) text += " on " + recording.device;
  return text;
}

}  // namespace

std::string space_text(const Space& space, const Paint& paint) {
  std::string text = fmt::format("{} of {} configs are valid\n\n", space.size(), space.raw_size());
  Table axes({"parameter", "values", "default", "meaning"});
  const std::vector<bool> choices = choices_of(space);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i]) continue;
    const Parameter& axis = space.axes()[i];
    std::vector<std::string> values;
    for (const Value& value : axis.values) values.push_back(describe(value));
    axes.add(
        {axis.name, join(values, " "), describe(axis.values[axis.default_position]), axis.meaning});
  }
  text += axes.text(paint.columns());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Parameter& axis = space.axes()[i];
    if (!choices[i])
      text += "no choice here: " + axis.name + "=" +
              describe(axis.values[axis.otherwise_position]) + "\n";
  }
  Table terms({"term", "value", "meaning"});
  for (const Term& term : space.kernel().manifest.terms)
    terms.add({term.name, term.value, term.meaning});
  if (!terms.empty()) text += "\n" + terms.text(paint.columns());
  Table rules({">ruled out", "must hold", "why"});
  for (const RuledOut& rule : space.ruled_out()) {
    if (rule.points > 0) rules.add({fmt::to_string(rule.points), rule.rule, rule.why});
  }
  return rules.empty() ? text : text + "\n" + rules.text(paint.columns());
}

std::string effects_text(const std::vector<ParameterEffect>& effects, const Paint& paint) {
  Table table({"parameter", ">tried", ">changed the program", "without effect"});
  for (const ParameterEffect& effect : effects) {
    table.add({effect.parameter + (effect.inert() ? " (inert)" : ""),
               fmt::to_string(effect.neighbours), fmt::to_string(effect.changed),
               join(effect.same, "; ")});
  }
  return table.text(paint.columns());
}

std::string resources_text(const Compiled& compiled, const Paint& paint) {
  Table table({"entry", ">registers", ">static shared", ">spill stores", ">spill loads", ">stack"});
  for (const auto& [entry, r] : compiled.entries) {
    table.add({entry, fmt::to_string(r.registers), fmt::to_string(r.static_shared_bytes),
               fmt::to_string(r.spill_store_bytes), fmt::to_string(r.spill_load_bytes),
               fmt::to_string(r.stack_bytes)});
  }
  std::string text = table.text(paint.columns());
  for (const auto& [entry, r] : compiled.entries) {
    for (const std::string& warning : r.warnings)
      text += paint.fitted("warning: " + entry + ": " + warning);
  }
  return text;
}

std::string launch_text(const LaunchPlan& plan, const Paint& paint) {
  Table table({"entry", "grid", "block", "cluster", ">dynamic shared"});
  for (const StagePlan& stage : plan.stages) {
    if (stage.gemm) {
      table.add({describe(*stage.gemm), "-", "-", "-", "-"});
      continue;
    }
    table.add({stage.entry, triple(stage.grid), triple(stage.block), triple(stage.cluster),
               fmt::to_string(stage.shared_bytes)});
  }
  return table.text(paint.columns());
}

std::string forecast_text(const Forecast& forecast, const Paint& paint) {
  Table table({"entry", ">blocks", ">resident a SM", "bound by", ">occupancy", ">waves"});
  for (const StageForecast& stage : forecast.stages) {
    table.add({stage.entry, fmt::to_string(stage.blocks), fmt::to_string(stage.resident_blocks),
               std::string(stage.bound), percent(stage.occupancy, 0), fixed(stage.waves, 2)});
  }
  return table.text(paint.columns()) + fixed(forecast.flops_per_byte, 0) +
         " operations for each byte that the problem must move\n";
}

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

std::string importance_text(const ParameterImportance& importance, ImportanceFormat format,
                            const Paint& paint) {
  if (importance.measured < kFewestForImportance) {
    return fmt::format("What the parameters explain: {} timed configs are too few to say.\n",
                       importance.measured);
  }
  const std::vector<Share> shares = shares_of(importance);
  if (shares.empty()) {
    return fmt::format("What the parameters explain: nothing, {} timed configs differ by chance.\n",
                       importance.measured);
  }
  Table table({">share", "of the variance is explained by"});
  double shown = 0;
  for (const Share& each : shares) {
    table.add({percent(each.share, 0), each.name});
    shown += each.share;
  }
  if (1 - shown >= kShown)
    table.add({percent(1 - shown, 0), "all else: smaller effects, and three parameters at once"});
  const std::string what = fmt::format(
      "What the parameters explain of {} timed configs{}, by functional ANOVA:\n",
      importance.measured,
      importance.failed > 0 ? fmt::format(" ({} failed and are left out)", importance.failed) : "");
  return format == ImportanceFormat::kText ? paint.fitted(what) + table.text(paint.columns())
                                           : what + "\n" + table.markdown();
}

Result<std::string> inspect_importance(const std::filesystem::path& path, const Paint& paint) {
  FATUNE_TRY(const std::vector<Recording> recordings, read_recordings(path));
  std::string text;
  for (const Recording& recording : recordings) {
    text += (text.empty() ? "" : "\n") + headline(recording) + "\n" +
            importance_text(importance_of(recording), ImportanceFormat::kText, paint);
  }
  return text;
}

}  // namespace fatune
