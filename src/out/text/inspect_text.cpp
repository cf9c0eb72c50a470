// inspect_text.cpp - lays out what `fatune inspect` found.
#include "out/text/inspect_text.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "out/text/table.hpp"

namespace fatune {
namespace {

/// Which parameters are a choice here: for those with a 'when', some valid config must have another
/// value than the one of elsewhere.
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

}  // namespace

std::string space_text(const Space& space, const Paint& paint) {
  std::string text = fmt::format("{} of {} configs are valid\n\n", space.size(), space.raw_size());
  Table axes({{"parameter"}, {"values"}, {"default"}, {"meaning"}});
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
  Table terms({{"term"}, {"value"}, {"meaning"}});
  for (const Term& term : space.kernel().manifest.terms) {
    terms.add({term.name, term.value, term.meaning});
  }
  if (!terms.empty()) text += "\n" + terms.text(paint.columns());
  Table rules({{"ruled out", Align::kRight}, {"must hold"}, {"why"}});
  for (const RuledOut& rule : space.ruled_out()) {
    if (rule.points > 0) rules.add({fmt::to_string(rule.points), rule.rule, rule.why});
  }
  return rules.empty() ? text : text + "\n" + rules.text(paint.columns());
}

std::string effects_text(const std::vector<ParameterEffect>& effects, const Paint& paint) {
  Table table({{"parameter"},
               {"tried", Align::kRight},
               {"changed the program", Align::kRight},
               {"without effect"}});
  for (const ParameterEffect& effect : effects) {
    table.add({effect.parameter + (effect.inert() ? " (inert)" : ""),
               fmt::to_string(effect.neighbours), fmt::to_string(effect.changed),
               join(effect.same, "; ")});
  }
  return table.text(paint.columns());
}

std::string resources_text(const Compiled& compiled, const Paint& paint) {
  Table table({{"entry"},
               {"registers", Align::kRight},
               {"static shared", Align::kRight},
               {"spill stores", Align::kRight},
               {"spill loads", Align::kRight},
               {"stack", Align::kRight}});
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
  Table table({{"entry"}, {"grid"}, {"block"}, {"cluster"}, {"dynamic shared", Align::kRight}});
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
  Table table({{"entry"},
               {"blocks", Align::kRight},
               {"resident a SM", Align::kRight},
               {"bound by"},
               {"occupancy", Align::kRight},
               {"waves", Align::kRight}});
  for (const StageForecast& stage : forecast.stages) {
    table.add({stage.entry, fmt::to_string(stage.blocks), fmt::to_string(stage.resident_blocks),
               std::string(stage.bound), percent(stage.occupancy, 0), fixed(stage.waves, 2)});
  }
  return table.text(paint.columns()) + fixed(forecast.flops_per_byte, 0) +
         " operations for each byte that the problem must move\n";
}

}  // namespace fatune
