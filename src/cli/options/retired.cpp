// retired.cpp: Holds the table of retired options, one row an option.
#include <fmt/format.h>

#include "cli/commands.hpp"

namespace fatune::cli {
namespace {

struct RetiredOption {
  std::string_view option;
  std::string_view instead;
  std::string_view command = {};  ///< empty: every command that has no such option
};

constexpr RetiredOption kRetired[] = {
    {"--arch", "use `fatune compile --arch sm_XX`", "sweep"},
    {"--compile-only", "use `fatune compile`"},
    {"--confirm-on", "run `fatune bench --config RUN --device cuda:N` on each GPU"},
    {"--descale-block", "a descale factor applies to a whole head"},
    {"--external-dir", "a Python function takes its place: --impl python:FILE:FUNCTION"},
    {"--finals", "use `fatune finals RUN`"},
    {"--one-config", "each problem has its own config"},
    {"--per-problem", "each problem has its own config"},
    {"--portfolio", "each problem has its own config"},
    {"--resume", "use `fatune resume RUN`, or `fatune finals RUN` for the final phase alone",
     "sweep"},
};

}  // namespace

std::optional<std::string> retired_answer(std::string_view command, std::string_view word) {
  for (const RetiredOption& row : kRetired) {
    const bool applies = row.command.empty() || row.command == command;
    if (applies && word.substr(0, word.find('=')) == row.option)
      return fmt::format("{} is retired: {}", row.option, row.instead);
  }
  return std::nullopt;
}

}  // namespace fatune::cli
