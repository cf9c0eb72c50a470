// import_configs.cpp - maps another tuner's configs to a kernel's parameters and values.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/kernel.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/spaces.hpp"

namespace fatune {
namespace {

/// 1 stands for true in files that know no booleans.
bool same(const Value& theirs, const Value& ours) {
  const bool word = theirs.kind == Value::Kind::kWord || ours.kind == Value::Kind::kWord;
  return word ? describe(theirs) == describe(ours) : theirs.number == ours.number;
}

const Value* find_value(const Parameter& parameter, const Value& theirs) {
  const auto found = std::find_if(parameter.values.begin(), parameter.values.end(),
                                  [&](const Value& ours) { return same(theirs, ours); });
  return found == parameter.values.end() ? nullptr : &*found;
}

/// Whether the kernel has or had the parameter, with one of the axis' values.
bool knows(const Manifest& manifest, const RecordedAxis& axis) {
  return std::any_of(axis.values.begin(), axis.values.end(), [&](const Value& value) {
    const Json current = with_current_names(manifest, Json{{axis.name, to_json(value)}});
    return current.empty() || manifest.find(current.begin().key()) != nullptr;
  });
}

std::vector<std::size_t> best_first(const Recording& recording) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < recording.entries.size(); ++i) {
    if (recording.entries[i].cost) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return *recording.entries[a].cost < *recording.entries[b].cost;
  });
  return order;
}

/// Empty, with the parameter and value in `foreign`, when a value is not one of the kernel's.
std::optional<Json> map_config(const Recording& recording, std::size_t index,
                               const Manifest& manifest, std::string& foreign) {
  const Point point = recording.lattice.point(index);
  Json theirs = Json::object();
  for (std::size_t i = 0; i < point.size(); ++i) {
    const RecordedAxis& axis = recording.axes[i];
    if (axis.values.size() > 1 || knows(manifest, axis))
      theirs[axis.name] = to_json(axis.values[point[i]]);
  }
  const Json current = with_current_names(manifest, theirs);
  Json config = to_json(default_config(manifest));
  for (const auto& [name, value] : current.items()) {
    const Parameter* parameter = manifest.find(name);
    const Value* ours =
        parameter == nullptr ? nullptr : find_value(*parameter, value_from_json(value));
    if (ours == nullptr) {
      foreign = name + "=" + describe(value_from_json(value));
      return std::nullopt;
    }
    config[name] = to_json(*ours);
  }
  return config;
}

}  // namespace

ImportedConfigs import_configs(const Recording& recording, const Manifest& manifest,
                               std::size_t most) {
  ImportedConfigs imported;
  std::vector<std::string> unknown;
  for (const RecordedAxis& axis : recording.axes) {
    if (axis.values.size() > 1 && !knows(manifest, axis)) unknown.push_back(axis.name);
  }
  if (!unknown.empty()) {
    imported.note = "none: it has no parameter " + join(unknown, ", ");
    return imported;
  }
  if (std::none_of(recording.axes.begin(), recording.axes.end(),
                   [&](const RecordedAxis& axis) { return knows(manifest, axis); })) {
    imported.note = "none: they share no parameter";
    return imported;
  }
  std::size_t skipped = 0;
  std::string example;
  for (const std::size_t index : best_first(recording)) {
    if (imported.configs.size() == most) break;
    std::string foreign;
    const auto config = map_config(recording, index, manifest, foreign);
    if (!config) {
      if (skipped++ == 0) example = foreign;
      continue;
    }
    const auto& known = imported.configs;
    if (std::find(known.begin(), known.end(), *config) == known.end())
      imported.configs.push_back(*config);
  }
  imported.note =
      fmt::format("{} of {} configs", imported.configs.size(), recording.entries.size());
  if (skipped > 0) {
    imported.note +=
        fmt::format("; {} better ones have values that it has not, as {}", skipped, example);
  }
  return imported;
}

}  // namespace fatune
