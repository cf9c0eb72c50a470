// session.hpp - --device, alone or with a choice of configs, to an evaluator: a GPU, or a recording
// that stands in for one.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/problems.hpp"
#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "judge/referee/examiner.hpp"
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
std::string name_of(const DeviceChoice& choice);  ///< "cuda:1", "recorded:FILE"
/// That it could be opened, for commands that open it when they are asked.
Status check_device(const DeviceChoice& choice);
/// Each device that the text names, as --device takes it alone: cuda:0,2 or cuda:all or
/// GPU-UUID,... are GPUs of one kind, each once, without recordings and slices, and nobody else's;
/// cuda:all leaves out those that are. Any other text is itself.
Result<std::vector<std::string>> choose_devices(const std::string& text);
/// The same with the GPUs that are here, asked for where the text names one of several.
using ListDevices = std::function<Result<std::vector<ListedDevice>>()>;
Result<std::vector<std::string>> choose_devices(const std::string& text, const ListDevices& list);

struct OpenRequest {
  DeviceChoice device;
  KernelRef reference;
  std::filesystem::path log_folder;
  std::size_t jobs = 0;
  std::vector<NamedProblem> problems = {};  ///< what will be asked, as far as it is known
  std::vector<KernelRef> catalog = {};      ///< by which a recording's names are brought up to date
  std::vector<DeviceChoice> helpers = {};   ///< GPUs that measure candidates beside a GPU
};
/// A recording that does not hold one of the problems is refused: nothing is written for it.
Result<std::unique_ptr<Evaluator>> open_evaluator(const OpenRequest& request,
                                                  const Settings& settings);

/// For a machine without a driver whose recording lacks the problem: `missing` says which.
Error no_driver(const Error& missing);
/// The first and last line of every command that ran on a recording; empty on a GPU.
std::string recorded_notice(const DeviceChoice& choice, const Environment& environment);

/// The text between two of them; without a notice, the text.
std::string between_notices(const std::string& notice, const std::string& text);

struct Session {
  std::vector<KernelRef> catalog;
  std::vector<Implementation> chosen;
  KernelRef reference;
  std::unique_ptr<Evaluator> evaluator;
  bool fell_back = false;  ///< to the recording, as there is no driver
  std::string notice;      ///< of a recorded device: the first and last line; empty on a GPU

  /// The text between the notices.
  std::string with_notice(const std::string& text) const;
};
/// Without configs: for commands that choose otherwise. `operation`: what will be computed.
Result<Session> open_session(std::vector<KernelRef> catalog, const OperationRef& operation,
                             const std::string& device, const Settings& settings);
Result<Session> open_session(const ChoiceArgs& choice, const std::string& device,
                             const Settings& settings);
/// A kernel that cannot do the candidate's problem is a usage error with the reason.
Status check_supported(const Candidate& candidate, const Evaluator& evaluator);
/// Without a driver: an error unless the recording holds one of the problems.
Status need_recording(const Session& session, const std::vector<Problem>& problems);
/// Makes the device ready for the candidate's problem, which its kernel must support.
Status begin_candidate(const Candidate& candidate, Evaluator& evaluator);

/// Of a pool of its own, where there is no device.
OpenCompilers compiler_opener(const Settings& settings);

}  // namespace fatune::cli
