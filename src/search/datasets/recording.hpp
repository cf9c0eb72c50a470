// recording.hpp - files of tuning results, of any tuner, to one value: a space and each config's
// cost.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/config.hpp"
#include "model/problem/problem.hpp"
#include "model/space/lattice.hpp"

namespace fatune {

/// What the file says of one config.
struct RecordedEntry {
  std::optional<double> cost;  ///< less is better; unset: failed
  /// Of a failed one: "compile", "runtime", "correctness", "timeout", "constraints", or "unusable"
  /// for a value that is missing or no number.
  std::string failure;
  std::optional<double> seconds;  ///< what evaluating it took, all told, where the file says so
};

struct RecordedAxis {
  std::string name;
  /// Numbers ascending, words in the order of the file. A fraction is a word that reads as a number
  /// ("0.5"), on an ordinal axis.
  std::vector<Value> values;
  bool ordinal = true;
};

/// How an objective of which more is better became a cost. The values of the file come back by
/// recorded_value().
enum class Turned {
  kNo,       ///< it was a cost already
  kInverse,  ///< cost = 1 / value: rates, all above zero
  kNegative  ///< cost = -value
};

struct Recording {
  std::string where;                     ///< the file; of several in one file also which
  std::string format;                    ///< "kernel-tuner", "t4", "ktt", "fatune"
  std::string name;                      ///< of the kernel
  std::string device;                    ///< empty when the file does not say
  std::string problem;                   ///< as the file words it; may be empty
  std::optional<Problem> own_problem{};  ///< of a file that fatune wrote
  std::string objective;
  std::string unit;  ///< of the file's values: "ms", "us", "GFLOP/s"; empty when it does not say
  Turned turned = Turned::kNo;
  std::vector<RecordedAxis> axes;
  Lattice lattice;                     ///< exactly the configs of the file, failed ones included
  std::vector<RecordedEntry> entries;  ///< of lattice.point(i)
  std::vector<std::string> remarks;    ///< "unclosed file: accepted", "2 configs repeated: ..."
};

/// A Kernel Tuner cache, T4 results, KTT results or a fatune journal (or the folder of a run),
/// plain or gzip, recognised by content. A journal gives one for each kernel and problem. At least
/// one config each; all of them may have failed.
Result<std::vector<Recording>> read_recordings(const std::filesystem::path& path);

/// The file itself, or the journal in the folder of a run, also of the best.json in it.
Result<std::filesystem::path> find_results(const std::filesystem::path& path);

/// No cost is zero or below: logarithms and inverses exist.
bool all_positive(const Recording& recording);

/// A cost in the file's own terms.
double recorded_value(const Recording& recording, double cost);

}  // namespace fatune
