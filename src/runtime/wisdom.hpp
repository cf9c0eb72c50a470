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

#include "runtime/choice.hpp"
#include "runtime/driver.hpp"
#include "runtime/plan.hpp"

/// Any number of threads may use it at once.
struct fatune_rt {
 public:
  using SymbolSource = fatune::rt::SymbolSource;
  template <typename T>
  using Outcome = fatune::rt::Outcome<T>;

  /// `driver` is asked for the driver's symbols when the first plan is looked for.
  static Outcome<std::unique_ptr<fatune_rt>> open(
      const std::filesystem::path& folder,
      std::function<Outcome<SymbolSource>()> driver = fatune::rt::system_driver);

  std::span<const fatune::rt::StoredKernel> kernels() const { return kernels_; }
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

  Outcome<const fatune::rt::Driver*> driver();
  Outcome<fatune::rt::DeviceFacts> device_facts(CUdevice device) const;
  Outcome<std::unique_ptr<fatune_rt_plan>> make_plan(const Query& query);
  Outcome<const fatune::rt::Program*> program(const KernelOnDevice& place);

  std::vector<fatune::rt::StoredKernel> kernels_;
  std::function<Outcome<SymbolSource>()> open_driver_;

  std::mutex driver_lock_;
  fatune::rt::Driver driver_;  ///< written once, before driver_ready_
  std::atomic<bool> driver_ready_ = false;

  std::shared_mutex plans_lock_;
  std::map<KernelOnDevice, std::unique_ptr<fatune::rt::Program>> programs_;
  std::unordered_map<Query, std::unique_ptr<fatune_rt_plan>, QueryHash> plans_;
};

namespace fatune::rt {

/// The problem in our types, checked; errors name the field.
Outcome<Problem> problem_of(const fatune_rt_problem& problem);
/// Its scale, or the usual one when it is 0.
double scale_of(const fatune_rt_problem& problem);

}  // namespace fatune::rt
