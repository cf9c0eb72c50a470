// fleet.hpp - a plan's parts to processes, one a device at a time, until every part has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/child.hpp"
#include "core/result.hpp"

namespace fatune {

/// What a device did.
struct FleetMember {
  std::string device;  ///< "cuda:0"
  std::size_t parts = 0;
  double busy_s = 0;
  std::size_t failures = 0;  ///< in a row
  bool left_out = false;     ///< takes no more parts
};

struct FleetEvent {
  enum class Kind { kBegins, kRuns, kEnds, kFails };
  Kind kind = Kind::kBegins;
  std::size_t part = 0;
  const FleetMember* member = nullptr;
  double part_s = 0;        ///< since its process began
  std::string reason = {};  ///< of kFails
};

struct FleetOptions {
  std::vector<std::string> devices;
  std::vector<double> costs;  ///< of each part; the dearest begins first
  /// What runs a part. It ends with 0, or with 1 when no candidate passed; else it has failed.
  std::function<ChildCommand(std::size_t part, const std::string& device)> command;
  /// Why a process that failed did, in a line.
  std::function<std::string(std::size_t part, const ChildEnd& end)> reason;
  std::function<void(const FleetEvent&)> on_event;
};

struct FailedPart {
  std::size_t part = 0;
  std::string reason;
};

struct FleetResult {
  std::vector<FleetMember> members;  ///< in the order of the devices
  std::vector<FailedPart> failed;
  double seconds = 0;
};

/// A part whose process fails or is killed is tried once more, on another device if one is left; a
/// device on which two in a row fail is left out. Ctrl-C ends every process, and is an interrupted
/// error.
Result<FleetResult> run_fleet(const FleetOptions& options);

}  // namespace fatune
