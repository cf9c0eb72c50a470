// output.cpp - writes results to stdout and nothing else.
#include "cli/output.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace fatune::cli {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stdout);
  std::fflush(stdout);
}

void print_json(const Json& value) { print(dump_pretty(value)); }

}  // namespace fatune::cli
