// retired.cpp: Holds the table of retired words, one row a word.
#include "cli/options/retired.hpp"

#include <fmt/format.h>

namespace fatune::cli {
namespace {

struct RetiredWord {
  std::string_view word;  ///< an option, or a prefix that ends in ':'
  std::string_view instead;
};

constexpr RetiredWord kRetired[] = {
    {"--confirm-on", "run `fatune bench --config RUN --device cuda:N` on each GPU"},
    {"--descale-block", "a descale factor applies to a whole head"},
    {"--external-dir", "a Python function takes its place: --impl python:FILE:FUNCTION"},
    {"--one-config", "each problem has its own config"},
    {"--per-problem", "each problem has its own config"},
    {"--portfolio", "each problem has its own config"},
};

bool matches(std::string_view word, std::string_view retired) {
  if (retired.ends_with(':')) return word.starts_with(retired);
  return word.substr(0, word.find('=')) == retired;
}

}  // namespace

std::optional<std::string> retired_answer(std::string_view word) {
  for (const RetiredWord& row : kRetired) {
    if (matches(word, row.word)) return fmt::format("{} is retired: {}", row.word, row.instead);
  }
  return std::nullopt;
}

}  // namespace fatune::cli
