// part_process.hpp - a sweep of one part in a process of its own, and what it said.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/child.hpp"
#include "tune/fleet/fleet.hpp"

namespace fatune {

/// The last line of a log; empty when there is none.
std::string last_line(const std::filesystem::path& log);

class PartProcess {
 public:
  /// The command's stderr_file is the log that reasons are read from.
  static Result<PartProcess> start(const ChildCommand& command);
  /// It ended with 0, or with 1 when no candidate passed; else it has failed, by its own words for
  /// the error where it has some.
  HandReport look();

 private:
  Child child_;
  std::filesystem::path log_;
};

/// Runs parts on a device of this host.
class ProcessHand final : public FleetHand {
 public:
  using CommandOf =
      std::function<Result<ChildCommand>(std::size_t part, const std::string& device)>;
  ProcessHand(std::string device, CommandOf command)
      : device_(std::move(device)), command_(std::move(command)) {}
  const std::string& name() const override { return device_; }
  Status begin(std::size_t part) override;
  Result<HandReport> look() override;

 private:
  std::string device_;
  CommandOf command_;
  PartProcess process_;
};

}  // namespace fatune
