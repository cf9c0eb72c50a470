// wisdom.hpp - an open folder of wisdom: what fatune_rt is. Problems to plans, kernels loaded once.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/program.hpp"

namespace fatune::rt {

/// Kernels whose every byte was checked, in the index's order. Files that are missing or make no
/// sense are BAD_FILE; those that are not what was exported TAMPERED. The message names the file.
Outcome<std::vector<StoredKernel>> load_wisdom(const std::filesystem::path& folder);

/// Any number of threads may use it at once.
class Wisdom {
 public:
  /// `driver` is asked for the driver's symbols when the first plan is looked for.
  static Outcome<std::unique_ptr<fatune_rt>> open(
      const std::filesystem::path& folder,
      std::function<Outcome<SymbolSource>()> driver = system_driver);

  std::span<const StoredKernel> kernels() const { return kernels_; }
  Outcome<const fatune_rt_plan*> find(const fatune_rt_problem& problem,
                                      const fatune_rt_options& options);
  Outcome<std::size_t> nearest(const fatune_rt_problem& problem) const;

 private:
  /// What was asked for, on which device: the key of plans.
  struct Query {
    fatune_rt_problem problem{};
    fatune_rt_options options{};
    CUdevice device = 0;
    bool operator==(const Query& other) const;
  };
  struct QueryHash {
    std::size_t operator()(const Query& query) const;
  };
  using KernelOnDevice = std::pair<std::size_t, CUdevice>;

  Outcome<const Driver*> driver();
  Outcome<DeviceFacts> device_facts(CUdevice device) const;
  /// What was found before for the query, be it that there is no kernel; null if nothing was.
  const Outcome<const fatune_rt_plan*>* known(const Query& query) const;
  Outcome<std::unique_ptr<fatune_rt_plan>> make_plan(const Query& query);
  Outcome<const Program*> program(const KernelOnDevice& place);

  std::vector<StoredKernel> kernels_;
  std::function<Outcome<SymbolSource>()> open_driver_;

  std::mutex driver_lock_;
  Driver driver_;  ///< written once, before driver_ready_
  std::atomic<bool> driver_ready_ = false;

  std::shared_mutex plans_lock_;
  std::map<KernelOnDevice, std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<fatune_rt_plan>> plans_;
  std::unordered_map<Query, Outcome<const fatune_rt_plan*>, QueryHash> answers_;
  std::size_t misses_ = 0;  ///< of the answers
};

}  // namespace fatune::rt

struct fatune_rt : fatune::rt::Wisdom {};
