// implementation.cpp: Parses the names of implementations from elsewhere.
#include "worker/protocol/implementation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/fields.hpp"

namespace fatune {
void fields(OutsideProgram& x, FieldList& f) {
  f("impl", x.impl).required();
  f("settings", x.settings).required().object();
}

const PythonPackage* python_package(std::string_view impl) {
  const auto* const found = std::ranges::find(kPythonPackages, impl, &PythonPackage::impl);
  return found == std::end(kPythonPackages) ? nullptr : found;
}

const std::vector<std::string>& library_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"cudnn",           "cudnn:best", "torch:flash", "torch:cudnn",
                                    "torch:efficient", "torch:math", "torch:auto"};
    for (const PythonPackage& each : kPythonPackages) all.emplace_back(each.impl);
    return all;
  }();
  return names;
}

namespace {

/// The file's extension is no part of the name in records.
Result<OutsideName> parse_function_name(std::string_view text) {
  const std::string_view place = text.substr(kPythonPrefix.size());
  const std::size_t colon = place.rfind(':');
  const std::string_view file = place.substr(0, colon);
  const std::string_view function = colon == place.npos ? "" : place.substr(colon + 1);
  if (file.empty() || function.empty()) {
    return usage_error(
        fmt::format("'{}' is no python:FILE:FUNCTION, as in python:mine.py:attend", text));
  }
  const std::string stem = std::filesystem::path(file).stem().string();
  return OutsideName{Origin::kTorch, std::string(text),
                     fmt::format("{}{}:{}", kPythonPrefix, stem, function), Computes::kBoth};
}

bool is_expression(std::string_view prefix, std::string_view behind) {
  const auto of_word = [](char c) { return in_class(c, "A-Za-z0-9_"); };
  return prefix == "torch.compile:" ||
         (prefix == "torch:" && !std::ranges::all_of(behind, of_word));
}

}  // namespace

Result<std::optional<OutsideName>> parse_outside_name(std::string_view text) {
  using Name = std::optional<OutsideName>;
  const std::string_view prefix = text.substr(0, text.find(':') + 1);
  const std::string impl(text), variant(text.substr(prefix.size()));
  if (prefix == kPythonPrefix) {
    FATUNE_TRY(OutsideName name, parse_function_name(text));
    return Name(std::move(name));
  }
  if (prefix == "external:") {
    return usage_error(
        fmt::format("'{}': external programs are retired; use python:FILE:FUNCTION", text));
  }
  if (text == "cudnn") return Name({Origin::kCudnn, "", impl});
  if (is_expression(prefix, variant))
    return Name({Origin::kTorch, impl, impl, Computes::kDeclared});
  if (python_package(text) != nullptr) return Name({Origin::kTorch, impl, impl});
  if (prefix != "cudnn:" && prefix != "torch:") return Name();
  std::vector<std::string> known;
  for (const std::string& name : library_names()) {
    if (name == text)
      return Name({prefix == "torch:" ? Origin::kTorch : Origin::kCudnn, variant, impl});
    if (name.starts_with(prefix)) known.push_back(name.substr(prefix.size()));
  }
  return usage_error(fmt::format(
      "there is no implementation '{}'; behind '{}' stands {}{}", text, prefix,
      fmt::join(known, ", "),
      prefix == "torch:" ? ", or an expression such as x.sum() of a declared operation" : ""));
}

void fields(AvailabilityOrder& x, FieldList& f) {
  f.tag("t", "availability");
  f("python", x.python).required();
  f("library_folders", x.library_folders).required();
  f("program_folders", x.program_folders).required();
}

void fields(Availability& x, FieldList& f) {
  f("impl", x.impl).required();
  f("available", x.available).required();
  f("found", x.found).required();
  f("remedy", x.remedy).required();
}

void fields(AvailabilityReply& x, FieldList& f) {
  f.tag("t", "available");
  f("implementations", x.implementations).required();
}

}  // namespace fatune
