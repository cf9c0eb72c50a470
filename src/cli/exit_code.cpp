// exit_code.cpp - the table of exit codes and the last word of a failed command.
#include "cli/exit_code.hpp"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "cli/commands/documents.hpp"
#include "cli/output.hpp"
#include "core/fields.hpp"
#include "core/log.hpp"

namespace fatune::cli {
namespace {

constexpr ExitCode kCodes[] = {
    {kDone, "done", "Done."},
    {kAnswerIsNo, "the answer is no", "It ran, and the answer is no: a gate that does not pass."},
    {kUsage, "usage", "An option or its value is wrong; the message names it."},
    {kEnvironment, "environment", "Something is missing here: the driver, NVRTC, a library."},
    {kFiles, "files", "A file cannot be read or written, or its contents are wrong."},
    {kDevice, "device", "There is no GPU, or it failed."},
    {kBug, "bug", "A bug in fatune."},
    {kInterrupted, "interrupted", "Interrupted; the journal is intact, sweep --resume goes on."}};

}  // namespace

std::span<const ExitCode> exit_codes() { return kCodes; }

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kUsage;
    case ErrorKind::kEnvironment:
      return kEnvironment;
    case ErrorKind::kFile:
      return kFiles;
    case ErrorKind::kDevice:
      return kDevice;
    case ErrorKind::kInterrupted:
      return kInterrupted;
  }
  return kBug;
}

int fail(const Error& error) { return fail(exit_code(error.kind), error.message); }

int fail(int code, const std::string& message) {
  log::error(message);
  if (!wants_json()) return code;
  const auto* found = std::find_if(std::begin(kCodes), std::end(kCodes),
                                   [&](const ExitCode& each) { return each.code == code; });
  print_json(to_json(ErrorDocument{document_head(), found->word, message, code}));
  return code;
}

}  // namespace fatune::cli
