// pool.hpp - requests in, machine code or logs out: compile processes behind a cache.
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
  /// Folder of the cubin cache; a private one when it cannot be written.
  std::filesystem::path cache;
  /// Bytes of that; 0: no limit. It is pruned when a pool that has compiled ends, unless another
  /// one has the cache open.
  std::uint64_t cache_limit = 0;
  gpu::SearchPaths search;
  std::chrono::seconds deadline{60};  ///< a compilation past it is killed and costs one candidate
};

class CompilePool final : public CompileService {
 public:
  /// Starts the first worker and asks it for the compiler's version; no NVRTC is an environment
  /// error that lists places tried.
  static Result<CompilePool> start(const PoolOptions& options);
  CompilePool(CompilePool&&) noexcept;
  CompilePool& operator=(CompilePool&&) noexcept;
  ~CompilePool() override;

  const std::string& compiler_version() const;  ///< "13.0.88"
  /// Version and library hash, for ids and cache keys.
  const std::string& compiler_identity() const;
  /// The same, and the toolkit's headers that the kernel includes.
  std::string compiler_identity(const Kernel& kernel) const;
  const std::string& compiler_path() const;  ///< of the library, for people
  const Toolchain& toolchain() const;        ///< what was found, headers included
  /// An environment error when this compiler is too old or too new for the target.
  Status check_arch(const Arch& arch) const;
  std::size_t jobs() const;
  /// Of the cache: equal keys are equal machine code.
  std::string key_of(const CompileRequest& request) const;
  /// A cache hit is ready at once, and so is a request for toolkit headers that are not here; else
  /// queued for a worker (workers are started as needed, up to `jobs`).
  Ticket submit(const CompileRequest& request) override;
  /// Of jobs(), less the queued requests. A process that is not started yet counts as idle.
  std::size_t idle() const override;
  void cancel(Ticket ticket) override;
  Status pump(std::chrono::milliseconds patience) override;
  bool ready(Ticket ticket) const override;
  Compiled take(Ticket ticket) override;
  std::vector<int> descriptors() const override;
  /// submit, pump until ready or interrupted, take.
  Result<Compiled> compile(const CompileRequest& request);

 private:
  struct State;
  explicit CompilePool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fatune
