// output.cpp: Prints results and errors, and holds the table of exit codes.
#include "cli/output.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

/// Options that change neither the answer nor its subject.
constexpr std::string_view kOutputOptions[] = {"--json", "-q", "--quiet", "-v", "--verbose"};

constexpr ExitCode kCodes[] = {
    {kDone, "done", "Done."},
    {kAnswerIsNo, "the answer is no",
     "The command ran, and the answer is no: a gate does not pass."},
    {kUsage, "usage", "An option or its value is wrong; the message names it."},
    {kEnvironment, "environment",
     "This machine lacks the driver, NVRTC, a library, a tool or a port."},
    {kFiles, "files", "A file cannot be read or written, or its contents are wrong."},
    {kDevice, "device", "The driver finds no GPU, or a GPU failed."},
    {kBug, "bug", "A bug in fatune."},
    {kInterrupted, "interrupted",
     "Interrupted; the journal is intact, fatune resume continues it."}};

// In the order of ErrorKind.
constexpr int kCodesOfErrors[] = {kUsage, kEnvironment, kFiles, kDevice, kInterrupted, kAnswerIsNo};

/// Turns `sweep --compile-only`, the former spelling, into `compile`.
void read_former_verb(std::vector<std::string>& words) {
  const auto former = std::ranges::find(words, "--compile-only");
  if (words.front() != "sweep" || former == words.end()) return;
  words.erase(former);
  words.front() = "compile";
  log::warn("`fatune sweep --compile-only` is now `fatune compile`");
}

}  // namespace

void fields(ErrorDocument& x, FieldList& f) {
  f.document("fatune.error");
  document::head_fields(x.head, f);
  f.group("error", [&x](FieldList& error) {
    error("kind", x.kind)
        .one_of("the answer is no, usage, environment, files, device, bug, interrupted");
    error("message", x.message);
    error("exit_code", x.exit_code);
  });
}

std::span<const ExitCode> exit_codes() { return kCodes; }

Invocation read_invocation(std::vector<std::string> words) {
  if (words.empty()) words.emplace_back("help");
  if (words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (words.front() == "version") words.front() = "--version";
  read_former_verb(words);
  Invocation invocation{std::move(words), {FATUNE_VERSION, "fatune", false}};
  for (const std::string& word : invocation.words) {
    invocation.json = invocation.json || word == "--json";
    const bool of_output = std::find(std::begin(kOutputOptions), std::end(kOutputOptions), word) !=
                           std::end(kOutputOptions);
    if (!of_output) invocation.head.command += " " + shell_word(word);
  }
  return invocation;
}

void print(std::string_view text) {
  const std::string safe = printable(text);
  std::fwrite(safe.data(), 1, safe.size(), stdout);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stdout);
  std::fflush(stdout);
}

int close_output(int code) {
  const bool lost = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && ::close(STDOUT_FILENO) == 0 && !lost) return code;
  log::error(
      "stdout: cannot write all of the answer");  // the reason is gone with the first failure
  return code == kDone || code == kAnswerIsNo ? kFiles : code;
}

int fail(const Invocation& invocation, const Error& error) {
  return fail(invocation, kCodesOfErrors[static_cast<std::size_t>(error.kind)], error.message);
}

int fail(const Invocation& invocation, int code, const std::string& message) {
  log::error(message);
  if (!invocation.json) return code;
  const auto* found = std::find_if(std::begin(kCodes), std::end(kCodes),
                                   [&](const ExitCode& each) { return each.code == code; });
  print(dump_pretty(to_json(ErrorDocument{invocation.head, found->word, message, code})));
  return code;
}

Status check_files(std::initializer_list<std::string> files) {
  for (const std::string& file : files) {
    if (!file.empty()) FATUNE_TRY_STATUS(check_replaceable(file));
  }
  return {};
}

}  // namespace fatune::cli
