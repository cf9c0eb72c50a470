// live_server.hpp: Declares the live page of a running sweep on this machine.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// A fixed default port gives every sweep's page the same address.
inline constexpr int kLivePort = 8712;

/// Serves the page of one run on 127.0.0.1 in its own thread, from the journal on disk, so viewers
/// do not slow the sweep. Refuses other host names (DNS rebinding), methods and paths.
class LiveServer {
 public:
  /// Port 0 means any free port. A port in use is an error that names port and flag.
  static Result<std::unique_ptr<LiveServer>> start(
      int port, const std::filesystem::path& folder,
      std::chrono::milliseconds linger = std::chrono::seconds(3));
  /// Stops at once; call finish() first, so that open pages show the end.
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  const std::string& url() const;  ///< "http://127.0.0.1:8712/"
  /// Returns ssh -L's argument for the same address elsewhere: "8712:127.0.0.1:8712 HOST".
  std::string forward() const;
  void show(const SweepProgress& progress);
  /// Marks the sweep as ended. Returns once a page that polled within the last `linger` has the
  /// final state, or after `linger`; at once if no page polled.
  void finish();

 private:
  class Impl;
  explicit LiveServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fatune
