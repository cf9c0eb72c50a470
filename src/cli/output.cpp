// output.cpp - writes results to stdout; tries whether files can be written.
#include "cli/output.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

/// They change neither the answer nor what it is about.
constexpr std::string_view kOutputOptions[] = {"--json", "-q", "--quiet", "-v", "--verbose"};

/// What this process was asked; set once.
struct Typed {
  std::string command;
  bool json = false;
};
Typed invocation;

}  // namespace

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stdout);
  std::fflush(stdout);
}

void print_json(const Json& value) { print(dump_pretty(value)); }

void keep_words(const std::vector<std::string>& words) {
  invocation = {"fatune", false};
  for (const std::string& word : words) {
    invocation.json = invocation.json || word == "--json";
    const bool of_output = std::find(std::begin(kOutputOptions), std::end(kOutputOptions), word) !=
                           std::end(kOutputOptions);
    if (!of_output) invocation.command += " " + shell_word(word);
  }
}

bool wants_json() { return invocation.json; }

DocumentHead document_head(bool recorded) { return {FATUNE_VERSION, invocation.command, recorded}; }

Status check_files(std::initializer_list<std::string> files) {
  for (const std::string& file : files) {
    if (!file.empty()) FATUNE_TRY_STATUS(check_replaceable(file));
  }
  return {};
}

}  // namespace fatune::cli
