// external.cpp - a program that prints microseconds, as a contestant.
#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/run_program.hpp"
#include "core/text.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/protocol/external_description.hpp"

namespace fatune {
namespace {

class ExternalProgram : public Executable, public SelfTimed {
 public:
  ExternalProgram(ExternalCommand command, const std::string& device_uuid)
      : command_(std::move(command)),
        child_{.program = command_.program, .arguments = how().arguments},
        timeout_(how().timeout_s) {
    if (!device_uuid.empty())
      child_.extra_environment.push_back("CUDA_VISIBLE_DEVICES=" + device_uuid);
  }

  Status bind(const TensorAddresses&) override { return {}; }
  Status queue() override {
    return device_error(how().name + " is a program of its own and takes no inputs from here");
  }
  SelfTimed* self_timed() override { return this; }
  std::string detail() const override {
    return "checks " + how().verifies +
           (error_ ? fmt::format("; largest error {:.2g}", *error_) : "");
  }

  /// Evenly spread.
  bool takes_turn(int round, int rounds) const override {
    const std::int64_t runs = std::min<std::int64_t>(how().runs, rounds);
    for (std::int64_t run = 0; run < runs; ++run) {
      if ((2 * run + 1) * rounds / (2 * runs) == round) return true;
    }
    return false;
  }
  std::int64_t hot_launches() const override { return how().launches; }

  Result<TurnTimes> take_turn(int) override {
    const std::string& name = how().name;
    FATUNE_TRY(const ProgramRun run, run_program(child_, timeout_));
    log::debug(name + ": " + std::string(trim(run.text)));
    if (!run.end) {
      return device_error(
          fmt::format("{} was still running after {} and was ended", name,
                      fatune::describe(Seconds(static_cast<double>(timeout_.count())))));
    }
    if (!run.succeeded()) {
      const std::string_view words = trim(run.text);
      return device_error(fmt::format("{} ended with {}{}{}", name, fatune::describe(*run.end),
                                      words.empty() ? "" : ": ",
                                      words.substr(words.rfind('\n') + 1)));
    }
    auto times = read_external_output(run.text, how().output);
    if (!times) return with_context(std::move(times).error(), "reading " + name);
    if (times->error) error_ = std::max(error_.value_or(0), *times->error);
    return TurnTimes{times->hot_us, times->cold_us};
  }

 private:
  const ExternalDescription& how() const { return command_.description; }

  ExternalCommand command_;
  ChildCommand child_;
  std::chrono::seconds timeout_;
  std::optional<double> error_;  ///< the largest that it told
};

}  // namespace

Result<std::unique_ptr<Executable>> open_external(const Json& settings,
                                                  const std::string& device_uuid) {
  FATUNE_TRY(ExternalCommand command,
             from_json<ExternalCommand>(settings, "settings of an external program"));
  if (!command.refusal.empty())
    return usage_error(command.description.name + " cannot do this: " + command.refusal);
  if (command.program.empty()) return no_external(command.description);
  return std::unique_ptr<Executable>(
      std::make_unique<ExternalProgram>(std::move(command), device_uuid));
}

}  // namespace fatune
