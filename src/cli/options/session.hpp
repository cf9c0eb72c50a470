// session.hpp: Opens the evaluator that --device names: a GPU, or a recording in its place.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/problems.hpp"
#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/problem/suite.hpp"
#include "tune/compile/service.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune::cli {

/// Device that --device names.
struct DeviceChoice {
  enum class Kind { kGpu, kRecorded };
  Kind kind = Kind::kGpu;
  int ordinal = 0;
  std::string recording;   ///< a file; empty: a recording that ships with fatune
  bool fell_back = false;  ///< --device auto without an NVIDIA driver
};
Result<DeviceChoice> choose_device(const std::string& text);
std::string name_of(const DeviceChoice& choice);  ///< "cuda:1", "recorded:FILE"
/// Checks that the device can be opened, for commands that open it later.
Status check_device(const DeviceChoice& choice);
/// Splits --device into single devices. Several devices (cuda:0,2, cuda:all, GPU-UUID,...) are
/// distinct GPUs of one kind that are fit for final phases. Unfit GPUs are left out of cuda:all; a
/// named unfit GPU is an error. Any other text stays whole.
Result<std::vector<std::string>> choose_devices(const std::string& text);
/// Overload with a function that lists the GPUs, called if the text names one of several.
using ListDevices = std::function<Result<std::vector<ListedDevice>>()>;
Result<std::vector<std::string>> choose_devices(const std::string& text, const ListDevices& list);

struct OpenRequest {
  DeviceChoice device;
  KernelRef reference;
  std::filesystem::path log_folder;
  std::size_t jobs = 0;
  std::vector<NamedProblem> problems = {};  ///< known problems of the command; may be empty
  Catalog catalog = {};                     ///< kernels that update a recording's names
  std::vector<DeviceChoice> helpers = {};   ///< further GPUs that measure candidates
};
/// Opens the device. Refuses a recording that lacks every problem, before anything is written.
Result<std::unique_ptr<Evaluator>> open_evaluator(const OpenRequest& request,
                                                  const Settings& settings);

/// Error for a machine without a driver whose recording lacks the problem. `missing` names the
/// problem.
Error no_driver(const Error& missing);
/// First and last line of a command that ran on a recording; empty on a GPU.
std::string recorded_notice(const DeviceChoice& choice, const Environment& environment);

/// Puts the text between two notices; without a notice, returns the text.
std::string between_notices(const std::string& notice, const std::string& text);

struct Session {
  Catalog catalog;
  std::vector<Implementation> chosen;
  KernelRef reference;
  std::unique_ptr<Evaluator> evaluator;
  std::string notice;  ///< notice of a recorded device; empty on a GPU

  /// Puts the text between two notices.
  std::string with_notice(const std::string& text) const;
};
/// Opens a session without configs, for commands that choose otherwise. `operation` is the computed
/// operation; the shipped recording that holds most of `problems` is opened, and must hold one.
Result<Session> open_session(Catalog catalog, const OperationRef& operation,
                             const std::string& device, const Settings& settings,
                             const std::vector<NamedProblem>& problems = {});
Result<Session> open_session(const ChoiceArgs& choice, const std::string& device,
                             const Settings& settings);
/// Refuses a kernel that does not support the candidate's problem, with the reason.
Status check_supported(const Candidate& candidate, const Evaluator& evaluator);
/// Makes the device ready for the candidate's problem, which its kernel must support.
Status begin_candidate(const Candidate& candidate, Evaluator& evaluator);

/// Opens a compile pool for a command without a device.
OpenCompilers compiler_opener(const Settings& settings);

}  // namespace fatune::cli
