// wisdom.hpp: Declares an open folder of wisdom, which maps problems to plans (fatune_rt).
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/program.hpp"

namespace fatune::rt {

/// Loads kernels in the index's order and checks every byte. Missing or invalid files are BAD_FILE;
/// files that differ from the export are TAMPERED. The message names the file.
Outcome<std::vector<StoredKernel>> load_wisdom(const std::filesystem::path& folder);

/// An open folder of wisdom; thread-safe.
class Wisdom {
 public:
  /// `driver` returns the driver's symbols; it is called for the first plan.
  static Outcome<std::unique_ptr<fatune_rt>> open(
      const std::filesystem::path& folder,
      std::function<Outcome<SymbolSource>()> driver = system_driver);

  std::span<const StoredKernel> kernels() const { return kernels_; }
  Outcome<const fatune_rt_plan*> find(const fatune_rt_problem& problem,
                                      const fatune_rt_options& options);
  Outcome<std::size_t> nearest(const fatune_rt_problem& problem) const;

 private:
  using KernelOnDevice = std::pair<std::size_t, CUdevice>;

  Outcome<const Driver*> driver();
  Outcome<DeviceFacts> device_facts(CUdevice device) const;
  /// Returns the cached answer to the query, which may be a failure; null if there is none.
  const Outcome<const fatune_rt_plan*>* known(const std::string& query) const;
  Outcome<std::unique_ptr<fatune_rt_plan>> make_plan(const fatune_rt_problem& problem,
                                                     const fatune_rt_options& options,
                                                     CUdevice device);
  Outcome<const Program*> program(const KernelOnDevice& place);

  std::vector<StoredKernel> kernels_;
  std::function<Outcome<SymbolSource>()> open_driver_;

  std::mutex driver_lock_;
  Driver driver_;  ///< written once, before driver_ready_
  std::atomic<bool> driver_ready_ = false;

  std::shared_mutex plans_lock_;
  std::map<KernelOnDevice, std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<fatune_rt_plan>> plans_;
  std::unordered_map<std::string, Outcome<const fatune_rt_plan*>> answers_;  ///< by query_of()
  std::size_t misses_ = 0;  ///< failures among answers_
};

}  // namespace fatune::rt

struct fatune_rt : fatune::rt::Wisdom {};
