// device_choice.hpp - --device turned into an evaluator: a GPU, or a recording that stands in for
// one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/problem/suite.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune::cli {

/// What --device asks for.
struct DeviceChoice {
  enum class Kind { kGpu, kRecorded };
  Kind kind = Kind::kGpu;
  int ordinal = 0;
  std::string recording;   ///< a file; empty: the recording that ships with fatune
  bool fell_back = false;  ///< auto, and there is no NVIDIA driver
};
Result<DeviceChoice> choose_device(const std::string& text);

struct OpenRequest {
  DeviceChoice device;
  KernelRef reference;
  std::filesystem::path log_folder;
  std::size_t jobs = 0;
  std::vector<NamedProblem> problems = {};  ///< what will be asked, as far as it is known
  std::vector<KernelRef> catalog = {};      ///< by which a recording's names are brought up to date
};
/// A recording that does not hold one of the problems is refused: nothing is written for it.
Result<std::unique_ptr<Evaluator>> open_evaluator(const OpenRequest& request,
                                                  const Settings& settings);

/// For a machine without a driver whose recording lacks the problem: `missing` says which.
Error no_driver(const Error& missing);
/// The first and last line of every command that ran on a recording; empty on a GPU.
std::string recorded_notice(const DeviceChoice& choice, const Environment& environment);

}  // namespace fatune::cli
