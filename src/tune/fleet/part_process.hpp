// part_process.hpp - a sweep of one part in a process of its own, and what it said.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/child.hpp"
#include "tune/fleet/compile_desk.hpp"
#include "tune/fleet/fleet.hpp"

namespace fatune {

class PartProcess {
 public:
  /// The command's stderr_file is the log that reasons are read from. `desk`: where the process
  /// asks for compilations by other ranks, which outlives it.
  static Result<PartProcess> start(const ChildCommand& command, CompileDesk* desk = nullptr);
  /// It ended with 0, or with 1 when no candidate passed; else it has failed, by its own words for
  /// the error where it has some.
  Result<HandReport> look();
  std::string said() const;  ///< the last line

 private:
  std::unique_ptr<CompileDesk::Guest> guest_;
  Child child_;
  std::filesystem::path log_;
};

/// Runs parts on a device of this host, each by its command.
class ProcessHand final : public FleetHand {
 public:
  using CommandOf = std::function<Result<ChildCommand>(std::size_t part)>;
  ProcessHand(std::string name, CommandOf command, CompileDesk* desk = nullptr,
              std::string gpu = {})
      : name_(std::move(name)), gpu_(std::move(gpu)), command_(std::move(command)), desk_(desk) {}
  const std::string& name() const override { return name_; }
  std::string gpu() const override { return gpu_.empty() ? name_ : gpu_; }
  std::string said() const override { return process_.said(); }
  Status begin(std::size_t part) override;
  Result<HandReport> look() override;

 private:
  std::string name_, gpu_;
  CommandOf command_;
  CompileDesk* desk_;
  PartProcess process_;
};

}  // namespace fatune
