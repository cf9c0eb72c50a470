// output.cpp - writes results to stdout; tries whether files can be written.
#include "cli/output.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "core/file.hpp"

namespace fatune::cli {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stdout);
  std::fflush(stdout);
}

void print_json(const Json& value) { print(dump_pretty(value)); }

Status check_files(std::initializer_list<std::string> files) {
  for (const std::string& file : files) {
    if (!file.empty()) FATUNE_TRY_STATUS(check_replaceable(file));
  }
  return {};
}

}  // namespace fatune::cli
