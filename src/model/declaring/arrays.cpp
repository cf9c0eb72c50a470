// arrays.cpp: Reads the arrays that statements declare, and writes them as tensors.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/declaring/declaration.hpp"

namespace fatune {
namespace {

constexpr const char* kUses =
    "out, scratch, file PATH, zeros, constant(X), normal, normal(MEAN, DEVIATION), uniform, "
    "uniform(FROM, TO)";

bool is_fill(std::string_view word, const std::vector<std::string>& numbers) {
  const auto known = [](const std::string& each) { return parse_number(each).has_value(); };
  if (!std::ranges::all_of(numbers, known)) return false;
  if (word == "zeros") return numbers.empty();
  if (word == "constant") return numbers.size() == 1;
  return (word == "normal" || word == "uniform") && (numbers.empty() || numbers.size() == 2);
}

bool is_whole(const ElementType& type) {
  return type.name == "bool" || in_class(type.name.front(), "iu");
}

/// Sets the numbers of a fill under the names that manifests have for the type.
void set_numbers(const DeclaredArray& array, const ElementType& type, Json& tensor) {
  std::vector<double> x;
  for (const std::string& each : array.details) x.push_back(*parse_number(each));
  if (array.fill == "constant") {
    tensor["value"] = x[0];
  } else if (array.fill == "uniform" && is_whole(type)) {
    tensor["from"] = static_cast<std::int64_t>(x[0]);
    tensor["to"] = static_cast<std::int64_t>(x[1]);
  } else {  // a manifest's uniform numbers lie between offset - scale and offset + scale
    const bool normal = array.fill == "normal";
    tensor["scale"] = normal ? x[1] : (x[1] - x[0]) / 2;
    tensor["offset"] = normal ? x[0] : (x[0] + x[1]) / 2;
  }
}

}  // namespace

DeclaredArray parse_array(const Said& said, Faults& faults) {
  DeclaredArray array;
  array.name = said.name;
  array.where = said.where;
  std::string_view rest = said.text;
  array.extents = split_outside(take_bracket(rest, '[', "]"), ',');
  if (array.extents.empty())
    faults.add(array.where, fmt::format("{0} has no extents; write {0}[n]", array.name));
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t("));
    rest = trim(rest.substr(word.size()));
    const std::string_view numbers = take_bracket(rest, '(', ")");
    array.output = array.output || word == "out";
    array.scratch = array.scratch || word == "scratch";
    if (word == "out" || word == "scratch") continue;
    array.fill = word;
    array.details = split_outside(word == "file" ? std::exchange(rest, "") : numbers, ',');
    if (word == "file") continue;
    if (is_fill(word, array.details)) continue;
    const bool known = is_fill(word, {}) || word == "constant";
    faults.add(array.where, fmt::format("'{}' of {} {}; write {}", word, array.name,
                                        known ? "has other numbers" : "is unknown", kUses));
    break;
  }
  return array;
}

Json tensor_json(const DeclaredArray& array, const ElementType& type,
                 const std::filesystem::path& folder, Faults& faults) {
  Json tensor = {{"name", array.name}, {"type", type.name}, {"shape", array.extents}};
  if (type.count > 1) tensor["shape"].push_back(std::to_string(type.count));
  if (array.output) tensor["output"] = true;
  if (!array.fill.empty() || !array.output)
    tensor["fill"] = !array.fill.empty() ? array.fill : is_whole(type) ? "uniform" : "normal";
  if (array.fill == "file")
    tensor["file"] = (folder / array.details.front()).string();
  else if (!array.details.empty())
    set_numbers(array, type, tensor);
  const bool is_plain = is_whole(type) || type.name == "f32" || type.name == "f64";
  if (array.output && !is_plain)
    faults.add(
        array.where,
        fmt::format("{} is an output of {}, whose correct answer is computed in float; write "
                    "a manifest for such a kernel (docs/own_kernel.md)",
                    array.name, type.name));
  return tensor;
}

}  // namespace fatune
