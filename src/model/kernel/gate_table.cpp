// gate_table.cpp: Makes the rows of the gate table, and finds them by name.
#include "model/kernel/gate_table.hpp"

#include <algorithm>
#include <array>

#include "core/fields.hpp"

namespace fatune {
namespace {

#define FATUNE_TEXTS(id, name, ...) GateText{GateId::id, #name, __VA_ARGS__},
#define FATUNE_DEVICE_TEXTS(id, name, moment, ...) FATUNE_TEXTS(id, name, __VA_ARGS__)
constexpr std::array kRows = {FATUNE_GATES_BEFORE_LAUNCH(FATUNE_TEXTS) FATUNE_DEVICE_GATES(
    FATUNE_DEVICE_TEXTS) FATUNE_GATES_OF_FINALS(FATUNE_TEXTS)};
#undef FATUNE_DEVICE_TEXTS
#undef FATUNE_TEXTS

}  // namespace

std::span<const GateText> gate_table() { return kRows; }

std::string_view name(GateId gate) { return kRows.at(static_cast<std::size_t>(gate)).name; }

const std::string& gate_names() {
  static const std::string all = [] {
    std::string names;
    for (const GateText& gate : kRows) {
      if (!names.empty()) names += ", ";
      names += gate.name;
    }
    return names;
  }();
  return all;
}

const GateText* find_gate(std::string_view name) {
  const auto* const found = std::ranges::find(kRows, name, &GateText::name);
  return found == kRows.end() ? nullptr : found;
}

FieldWord<GateId> word_of(const GateId*) {
  return {.parse = [](std::string_view text) -> Result<GateId> {
    const GateText* const gate = find_gate(text);
    if (gate == nullptr) return usage_error("there is no gate '" + std::string(text) + "'");
    return gate->id;
  }};
}

}  // namespace fatune
