// own_problem.cpp - sizes of a custom operation from texts and fields, and back.
#include "model/problem/own_problem.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

bool is_size_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.front() >= 'A' && text.front() <= 'Z' &&
         std::all_of(text.begin(), text.end(), allowed);
}

Status check_new(const std::vector<NamedSize>& sizes, const std::string& name) {
  for (const NamedSize& size : sizes) {
    if (size.name == name) return usage_error(fmt::format("gives {} twice", name));
  }
  return {};
}

std::string name_fault(const std::vector<NamedSize>& sizes) {
  for (const NamedSize& size : sizes) {
    if (!is_size_name(size.name)) return fmt::format("has '{}', not a size's name", size.name);
  }
  return {};
}

Result<NamedSize> parse_size(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) {
    return usage_error(
        fmt::format("'{}' is not of the form NAME=NUMBER, say ROWS=4096", trim(part)));
  }
  NamedSize size{std::string(trim(part.substr(0, equals))), 0};
  if (!is_size_name(size.name)) {
    return usage_error(fmt::format(
        "'{}' is not a size's name: capital letters, digits and _, say ROWS", size.name));
  }
  const std::string_view digits = trim(part.substr(equals + 1));
  const auto value = parse_integer(digits);
  if (!value || *value < 1 || *value > kLargestSize) {
    return usage_error(fmt::format("{} is '{}', but must be a whole number from 1 to {}", size.name,
                                   digits, kLargestSize));
  }
  size.value = *value;
  return size;
}

}  // namespace

Result<std::vector<NamedSize>> parse_sizes(std::string_view text, std::string_view where) {
  std::vector<NamedSize> sizes;
  for (const std::string& part : split(text, ',')) {
    const Result<NamedSize> size = parse_size(part);
    if (!size) return usage_error(fmt::format("{} {}: {}", where, text, size.error().message));
    if (const Status fresh = check_new(sizes, size->name); !fresh)
      return usage_error(fmt::format("{} {}: {}", where, text, fresh.error().message));
    sizes.push_back(*size);
  }
  return sizes;
}

std::string describe(const std::vector<NamedSize>& sizes) {
  std::vector<std::string> parts;
  for (const NamedSize& size : sizes) parts.push_back(fmt::format("{}={}", size.name, size.value));
  return join(parts, ",");
}

void fields(OwnProblem& x, FieldList& f) {
  f.record("own_problem", "Of an operation that a manifest declares");
  f("operation", x.operation).required().looks_like("[a-z][a-z0-9_]*");
  f.keyed<&NamedSize::name, &NamedSize::value>("sizes", x.sizes)
      .required()
      .range(1, kLargestSize)
      .about("By the names of its macros");
  f("bytes_read", x.bytes_read).at_least(0).about("What any right kernel moves");
  f("bytes_written", x.bytes_written).at_least(0);
  f("flops", x.flops).at_least(0).omitted().about("What any right kernel computes");
  f.rule("sizes", [&x] { return name_fault(x.sizes); });
}

Result<std::vector<NamedSize>> sizes_from_json(const Json& json, const std::string& where) {
  std::vector<NamedSize> sizes;
  const FieldType& type = keyed_type<&NamedSize::name, &NamedSize::value>(&sizes);
  FATUNE_TRY_STATUS(
      read_value(type, &sizes, json, where, FieldRules{.least = 1, .most = kLargestSize}));
  const std::string fault = name_fault(sizes);
  if (fault.empty()) return sizes;
  return file_error(where + " " + fault);
}

}  // namespace fatune
