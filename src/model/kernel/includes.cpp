// includes.cpp - reads a template line by line for the files that it includes.
#include "model/kernel/includes.hpp"

#include <optional>

#include "core/text.hpp"

namespace fatune {
namespace {

/// The name in `#include "name"`, if the line is one.
std::optional<std::string> quoted_include(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trim(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = trim(line.substr(7));
  if (!line.starts_with('"')) return std::nullopt;
  const std::size_t end = line.find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(line.substr(1, end - 1));
}

}  // namespace

std::vector<std::pair<std::size_t, std::string>> quoted_includes(std::string_view text) {
  std::vector<std::pair<std::size_t, std::string>> found;
  bool in_comment = false;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const bool started_inside = in_comment;
    for (std::size_t at = 0; at + 1 < line.size(); ++at) {
      if (!in_comment && line.compare(at, 2, "//") == 0) break;
      if (line.compare(at, 2, in_comment ? "*/" : "/*") == 0) {
        in_comment = !in_comment;
        ++at;
      }
    }
    if (started_inside) continue;
    if (auto name = quoted_include(line)) found.emplace_back(number, std::move(*name));
  }
  return found;
}

}  // namespace fatune
