// count_use.cpp - counters and barriers of one candidate after the other.
#include "cli/commands/count_use.hpp"

#include <memory>
#include <optional>

#include "cli/commands/cubin_census.hpp"
#include "cli/commands/take_profile.hpp"
#include "cli/options/services.hpp"
#include "tune/profile/profile.hpp"

namespace fatune::cli {
namespace {

class UseCounter {
 public:
  UseCounter(int device, const DeviceLimits& limits, const Settings& settings)
      : device_(device), limits_(limits), settings_(settings) {}

  Result<DeviceUse> count(const Candidate& candidate) {
    if (!pool_) {
      FATUNE_TRY(pool_, open_pool(settings_));
    }
    DeviceUse use;
    FATUNE_TRY_STATUS(add_counters(candidate, use));
    FATUNE_TRY(const Compiled compiled, pool_->compile(compile_request(candidate, limits_)));
    const CubinCensus census = census_of(compiled.cubin_path, settings_);
    if (census.entries.empty()) {
      use.missing += (use.missing.empty() ? "" : "; ") + census.reason;
      return use;
    }
    use.syncs = 0;
    for (const Census& entry : census.entries)
      *use.syncs += static_cast<double>(entry.count("barrier"));
    return use;
  }

 private:
  Status add_counters(const Candidate& candidate, DeviceUse& use) {
    if (no_counters_.empty()) {
      FATUNE_TRY(const NcuOutcome outcome,
                 take_profile(candidate, limits_, device_, *pool_, settings_));
      if (const Counters* launch = longest(outcome.launches)) {
        use.tensor_pct = launch->tensor_pct;
        use.sm_busy_pct = launch->sm_busy_pct;
        return {};
      }
      no_counters_ = outcome.reason;
    }
    use.missing = no_counters_;
    return {};
  }

  int device_;
  DeviceLimits limits_;
  Settings settings_;
  std::optional<CompilePool> pool_;
  std::string no_counters_;  ///< why ncu gave none
};

}  // namespace

CountUse make_count_use(const DeviceChoice& device, const DeviceLimits& limits,
                        const Settings& settings) {
  if (device.kind == DeviceChoice::Kind::kRecorded) {
    return [](const Candidate&) -> Result<DeviceUse> {
      return DeviceUse{{}, {}, {}, "a recorded device has no counters"};
    };
  }
  const auto counter = std::make_shared<UseCounter>(device.ordinal, limits, settings);
  return [counter](const Candidate& candidate) { return counter->count(candidate); };
}

}  // namespace fatune::cli
