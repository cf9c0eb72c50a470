// part_process.cpp - starts a part's sweep, and reads why it failed from its log.
#include "tune/fleet/part_process.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// The last line of a log; empty when there is none.
std::string last_line(const std::filesystem::path& log) {
  const auto text = read_file(log);
  if (!text) return "";
  const std::string_view lines = trim(*text);
  return printable(lines.substr(lines.rfind('\n') + 1));
}

/// The process's own words for its error, else how it ended.
std::string reason_of(const std::filesystem::path& log, const ChildEnd& end) {
  constexpr std::string_view kError = "fatune: error: ";
  const std::string line = last_line(log);
  if (line.starts_with(kError)) return line.substr(kError.size());
  return fmt::format("its process ended: {}; see {}", describe(end), log.string());
}

}  // namespace

Result<PartProcess> PartProcess::start(const ChildCommand& command, CompileDesk* desk) {
  PartProcess process;
  if (desk != nullptr) process.guest_ = std::make_unique<CompileDesk::Guest>(*desk);
  process.log_ = command.stderr_file;
  FATUNE_TRY(process.child_, Child::start(command));
  return process;
}

Result<HandReport> PartProcess::look() {
  if (guest_) FATUNE_TRY_STATUS(guest_->serve(child_.channel()));
  const std::optional<ChildEnd> end = child_.wait(std::chrono::milliseconds(0));
  if (!end) return HandReport();
  guest_.reset();  // nobody waits for what it asked
  if (!end->signalled && (end->code == 0 || end->code == 1))
    return HandReport{HandReport::State::kEnded, ""};
  return HandReport{HandReport::State::kFailed, reason_of(log_, *end)};
}

std::string PartProcess::said() const { return last_line(log_); }

Status ProcessHand::begin(std::size_t part) {
  FATUNE_TRY(const ChildCommand command, command_(part));
  FATUNE_TRY(process_, PartProcess::start(command, desk_));
  return {};
}

Result<HandReport> ProcessHand::look() { return process_.look(); }

}  // namespace fatune
