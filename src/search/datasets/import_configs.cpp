// import_configs.cpp - maps another tuner's configs to a kernel's parameters and values.
#include "search/datasets/import_configs.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace fatune {
namespace {

/// For each of the recording's axes the kernel's parameter, or none.
using Matches = std::vector<const Parameter*>;

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

/// The names of axes with a choice that the kernel does not have; none when all match.
std::vector<std::string> match_axes(const Recording& recording, const Manifest& manifest,
                                    Matches& matches) {
  std::vector<std::string> unknown;
  for (const RecordedAxis& axis : recording.axes) {
    matches.push_back(manifest.find(axis.name));
    if (matches.back() == nullptr && axis.values.size() > 1) unknown.push_back(axis.name);
  }
  return unknown;
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
                               const Manifest& manifest, const Matches& matches,
                               std::string& foreign) {
  Json config = to_json(default_config(manifest));
  const Point point = recording.lattice.point(index);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i] == nullptr) continue;
    const Value& theirs = recording.axes[i].values[point[i]];
    const Value* ours = find_value(*matches[i], theirs);
    if (ours == nullptr) {
      foreign = matches[i]->name + "=" + describe(theirs);
      return std::nullopt;
    }
    config[matches[i]->name] = to_json(*ours);
  }
  return config;
}

}  // namespace

ImportedConfigs import_configs(const Recording& recording, const Manifest& manifest,
                               std::size_t most) {
  ImportedConfigs imported;
  Matches matches;
  const std::vector<std::string> unknown = match_axes(recording, manifest, matches);
  if (!unknown.empty()) {
    imported.note = "none: it has no parameter " + join(unknown, ", ");
    return imported;
  }
  if (std::all_of(matches.begin(), matches.end(),
                  [](const Parameter* parameter) { return parameter == nullptr; })) {
    imported.note = "none: they share no parameter";
    return imported;
  }
  std::size_t skipped = 0;
  std::string example;
  for (const std::size_t index : best_first(recording)) {
    if (imported.configs.size() == most) break;
    std::string foreign;
    const auto config = map_config(recording, index, manifest, matches, foreign);
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
