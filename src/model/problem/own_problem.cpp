// own_problem.cpp - sizes of a custom operation from texts and JSON, and back.
#include "model/problem/own_problem.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

/// A whole number >= 0.
Result<std::int64_t> read_amount(const Fields& object, std::string_view key) {
  FATUNE_TRY(const std::int64_t amount, object.integer_or(key, 0));
  if (amount < 0) return object.error(key, "must be at least 0");
  return amount;
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

Json to_json(const std::vector<NamedSize>& sizes) {
  Json object = Json::object();
  for (const NamedSize& size : sizes) object[size.name] = size.value;
  return object;
}

Result<std::vector<NamedSize>> sizes_from_json(const Fields& fields) {
  std::vector<NamedSize> sizes;
  for (const auto& item : fields.json().items()) {
    FATUNE_TRY(const std::int64_t value, fields.integer(item.key()));
    if (!is_size_name(item.key())) return fields.error(item.key(), "is not a size's name");
    if (value < 1 || value > kLargestSize) {
      return fields.error(item.key(),
                          fmt::format("is {}, but must be from 1 to {}", value, kLargestSize));
    }
    sizes.push_back({item.key(), value});
  }
  return sizes;
}

Json to_json(const OwnProblem& own) {
  Json object = {{"operation", own.operation},
                 {"sizes", to_json(own.sizes)},
                 {"bytes_read", own.bytes_read},
                 {"bytes_written", own.bytes_written}};
  if (own.flops > 0) object["flops"] = own.flops;
  return object;
}

Result<OwnProblem> own_problem_from_json(const Fields& object) {
  OwnProblem own;
  FATUNE_TRY(own.operation, object.text("operation"));
  FATUNE_TRY(const Fields sizes, object.object("sizes"));
  FATUNE_TRY(own.sizes, sizes_from_json(sizes));
  FATUNE_TRY(own.flops, read_amount(object, "flops"));
  FATUNE_TRY(own.bytes_read, read_amount(object, "bytes_read"));
  FATUNE_TRY(own.bytes_written, read_amount(object, "bytes_written"));
  return own;
}

}  // namespace fatune
