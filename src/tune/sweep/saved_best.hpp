// saved_best.hpp - best.json as somebody later uses it: configs, and all that is said of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

/// The best config of one problem. All but the choice is absent in a bare config file.
struct SavedWinner {
  SavedConfig choice;
  std::string id;
  std::string text_hash;   ///< of the kernel's template and headers; empty in older files
  std::string unverified;  ///< why nobody has checked its results; empty when it passed every gate
  std::optional<Timing> hot;  ///< median and interval
  std::optional<Conditions> conditions;
  std::string baseline;         ///< of the gate
  std::optional<double> ratio;  ///< our time over the baseline's
};

struct SavedBest {
  std::string file;
  std::string fatune;   ///< version that wrote it
  std::string command;  ///< that repeats the sweep
  std::string device_name, arch, driver, nvrtc;
  std::int64_t sm_count = 0;  ///< 0: unknown, in older files
  bool recorded = false;
  std::vector<SavedWinner> winners;
};

/// best.json of one problem or several, or a bare config file; a folder stands for the best.json in
/// it.
Result<SavedBest> load_saved_best(const std::filesystem::path& path);

}  // namespace fatune
