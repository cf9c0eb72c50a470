// pool.hpp: Compiles requests in worker processes behind a cache of machine code.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/library.hpp"
#include "tune/compile/service.hpp"

namespace fatune {

struct PoolOptions {
  std::size_t jobs = 0;  ///< 0: number of cores, at most 16
  /// Folder of the cubin cache; a private folder if this one is not writable.
  std::filesystem::path cache;
  /// Maximum bytes of the cache; 0: no limit. A pool that has compiled prunes the cache at its end,
  /// unless another pool has the cache open.
  std::uint64_t cache_limit = 0;
  gpu::SearchPaths search;
  /// CPU time of a compilation. A longer one is killed and fails its candidate, as is one that
  /// takes five times as long by the clock, on a busy machine.
  std::chrono::seconds deadline{60};
};

class CompilePool final : public CompileService {
 public:
  /// Starts the first worker and asks for the compiler's version. A missing NVRTC is an environment
  /// error that lists the searched places.
  static Result<CompilePool> start(const PoolOptions& options);
  CompilePool(CompilePool&&) noexcept;
  CompilePool& operator=(CompilePool&&) noexcept;
  ~CompilePool() override;

  const std::string& compiler_version() const;  ///< "13.0.88"
  /// Version and library hash, for ids and cache keys.
  const std::string& compiler_identity() const;
  /// Identity of the compiler and of the toolkit headers that the kernel includes.
  std::string compiler_identity(const Kernel& kernel) const;
  const std::string& compiler_path() const;  ///< path of the library, for messages
  const Toolchain& toolchain() const;        ///< the toolchain found, headers included
  /// Returns an environment error if the compiler is too old or too new for the target.
  Status check_arch(const Arch& arch) const;
  std::size_t jobs() const;
  /// Cache key: equal keys have equal machine code.
  std::string key_of(const CompileRequest& request) const;
  /// Submits a request. Cache hits and requests for missing toolkit headers are ready at once;
  /// others wait for a worker. Workers are started as needed, up to `jobs`.
  Ticket submit(const CompileRequest& request) override;
  /// Idle processes less queued requests. A process that has not started counts as idle.
  std::size_t idle() const override;
  void cancel(Ticket ticket) override;
  Status pump(std::chrono::milliseconds patience) override;
  bool ready(Ticket ticket) const override;
  Compiled take(Ticket ticket) override;
  std::vector<int> descriptors() const override;
  /// Submits the request, pumps until it is ready or interrupted, and takes the result.
  Result<Compiled> compile(const CompileRequest& request);

 private:
  struct State;
  explicit CompilePool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fatune
