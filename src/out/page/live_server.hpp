// live_server.hpp - a running sweep's journal to a page on this machine that keeps up with it.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// The default port, so that a page's address stays the same from sweep to sweep.
inline constexpr int kLivePort = 8712;

/// Serves the page of one run on 127.0.0.1, in a thread of its own, from the journal on disk:
/// viewers do not slow the sweep. Answers GET for its own address only: another name that leads
/// here (DNS rebinding), another method or another path is refused.
class LiveServer {
 public:
  /// Port 0: any that is free. A port in use is an error that names it and the flag. `linger`: see
  /// finish(); pages ask once a second.
  static Result<std::unique_ptr<LiveServer>> start(
      int port, const std::filesystem::path& folder,
      std::chrono::milliseconds linger = std::chrono::seconds(3));
  /// Stops at once; call finish() first, so that open pages show the end.
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  const std::string& url() const;  ///< "http://127.0.0.1:8712/"
  /// What ssh -L takes so that the address is the same elsewhere: "8712:127.0.0.1:8712 HOST"
  std::string forward() const;
  void show(const SweepProgress& progress);
  /// The sweep is over: returns when a page that asked within the last `linger` has the final
  /// state, or after `linger`; at once if no page asked.
  void finish();

 private:
  class Impl;
  explicit LiveServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fatune
