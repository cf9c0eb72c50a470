// worker_link.hpp - the device worker as a process that answers orders, or dies.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/child.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// One worker process after another.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual Status start() = 0;
  virtual bool running() const = 0;
  virtual Status send(const Json& order) = 0;
  virtual Result<std::optional<Json>> receive(std::chrono::milliseconds timeout) = 0;
  virtual int descriptor() = 0;
  /// Ends the process for sure and says how it had ended or was ended.
  virtual std::string stop() = 0;
};

/// `fatune device-worker ORDINAL`, its stderr into a file of the log folder.
std::unique_ptr<WorkerLink> make_process_link(int ordinal, const std::filesystem::path& log_folder);

/// Sends an order and waits for the answer. Progress goes to `note`; an "error" answer comes back
/// as the error. A worker that dies or is silent for longer than `patience` is stopped and is a
/// device error.
Result<Json> ask(WorkerLink& link, const Json& order, std::chrono::seconds patience,
                 const std::function<void(std::string_view)>& note);

}  // namespace fatune
