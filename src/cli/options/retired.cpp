// retired.cpp: Holds the table of retired options, one row an option.
#include "cli/options/retired.hpp"

#include <fmt/format.h>

namespace fatune::cli {
namespace {

struct RetiredOption {
  std::string_view option;
  std::string_view instead;
};

constexpr RetiredOption kRetired[] = {
    {"--confirm-on", "run `fatune bench --config RUN --device cuda:N` on each GPU"},
    {"--descale-block", "a descale factor applies to a whole head"},
    {"--external-dir", "a Python function takes its place: --impl python:FILE:FUNCTION"},
    {"--one-config", "each problem has its own config"},
    {"--per-problem", "each problem has its own config"},
    {"--portfolio", "each problem has its own config"},
};

}  // namespace

std::optional<std::string> retired_answer(std::string_view word) {
  for (const RetiredOption& row : kRetired) {
    if (word.substr(0, word.find('=')) == row.option)
      return fmt::format("{} is retired: {}", row.option, row.instead);
  }
  return std::nullopt;
}

}  // namespace fatune::cli
