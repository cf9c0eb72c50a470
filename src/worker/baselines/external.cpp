// external.cpp - a program that prints microseconds, as a contestant.
#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.hpp"
#include "core/run_program.hpp"
#include "core/text.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/protocol/external_description.hpp"

namespace fatune {
namespace {

/// The settings again, as the worker's side holds them.
struct Command {
  std::string name, verifies;
  ChildCommand child;
  ExternalOutput output;
  std::int64_t launches = 1, runs = 1;
  std::chrono::seconds timeout{0};
};

std::string last_line(std::string_view text) {
  const std::string_view trimmed = trim(text);
  return std::string(trimmed.substr(trimmed.rfind('\n') + 1));
}

class ExternalProgram : public Executable, public SelfTimed {
 public:
  explicit ExternalProgram(Command command) : command_(std::move(command)) {}

  Status bind(const TensorAddresses&) override { return {}; }
  Status queue() override {
    return device_error(command_.name + " is a program of its own and takes no inputs from here");
  }
  SelfTimed* self_timed() override { return this; }
  std::string detail() const override {
    std::string text = "checks " + command_.verifies;
    if (error_) text += fmt::format("; largest error {:.2g}", *error_);
    return text;
  }

  /// Evenly spread.
  bool takes_turn(int round, int rounds) const override {
    const std::int64_t runs = std::min<std::int64_t>(command_.runs, rounds);
    for (std::int64_t run = 0; run < runs; ++run) {
      if ((2 * run + 1) * rounds / (2 * runs) == round) return true;
    }
    return false;
  }
  std::int64_t hot_launches() const override { return command_.launches; }

  Result<TurnTimes> take_turn(int) override {
    FATUNE_TRY(const ProgramRun run, run_program(command_.child, command_.timeout));
    log::debug(command_.name + ": " + std::string(trim(run.text)));
    if (!run.end) {
      return device_error(command_.name + " was still running after " +
                          describe(Seconds(static_cast<double>(command_.timeout.count()))) +
                          " and was ended");
    }
    if (!run.succeeded()) {
      const std::string words = last_line(run.text);
      return device_error(command_.name + " ended with " + fatune::describe(*run.end) +
                          (words.empty() ? "" : ": " + words));
    }
    auto times = read_external_output(run.text, command_.output);
    if (!times) return with_context(std::move(times).error(), "reading " + command_.name);
    if (times->error) error_ = std::max(error_.value_or(0), *times->error);
    return TurnTimes{times->hot_us, times->cold_us};
  }

 private:
  Command command_;
  std::optional<double> error_;  ///< the largest that it told
};

Result<Command> command_from(const Fields& fields) {
  Command command;
  FATUNE_TRY(command.name, fields.text("name"));
  FATUNE_TRY(command.verifies, fields.text("verifies"));
  FATUNE_TRY(const std::string program, fields.text("program"));
  command.child.program = program;
  FATUNE_TRY(command.child.arguments, fields.texts_or("arguments", {}));
  FATUNE_TRY(const Fields output, fields.object("output"));
  FATUNE_TRY(command.output, external_output_from_json(output));
  FATUNE_TRY(command.launches, fields.integer("launches"));
  FATUNE_TRY(command.runs, fields.integer("runs"));
  FATUNE_TRY(const std::int64_t seconds, fields.integer("timeout_s"));
  command.timeout = std::chrono::seconds(seconds);
  return command;
}

}  // namespace

Result<std::unique_ptr<Executable>> open_external(const Json& settings,
                                                  const std::string& device_uuid) {
  const Fields fields(settings, "settings of an external program");
  FATUNE_TRY(const std::string reason, fields.text_or("refusal", ""));
  FATUNE_TRY(Command command, command_from(fields));
  if (!reason.empty()) return usage_error(command.name + " cannot do this: " + reason);
  if (command.child.program.empty()) {
    FATUNE_TRY(const std::string wanted, fields.text("wanted"));
    FATUNE_TRY(const std::string install, fields.text("install"));
    return no_external(wanted, install);
  }
  if (!device_uuid.empty())
    command.child.extra_environment.push_back("CUDA_VISIBLE_DEVICES=" + device_uuid);
  return std::unique_ptr<Executable>(std::make_unique<ExternalProgram>(std::move(command)));
}

}  // namespace fatune
