// recording.hpp: Represents any tuner's result file as a space and the cost of each config.
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

/// One config of the file.
struct RecordedEntry {
  std::optional<double> cost;  ///< lower is better; unset for a failure
  /// The failure: "compile", "runtime", "correctness", "timeout", "constraints", or "unusable" for
  /// a value that is missing or no number.
  std::string failure;
  std::optional<double> seconds;  ///< total time of the evaluation, if the file has it
};

struct RecordedAxis {
  std::string name;
  /// Numbers are ascending, words are in the file's order. A fraction is a word that reads as a
  /// number ("0.5"), on an ordinal axis.
  std::vector<Value> values;
  bool ordinal = true;
};

/// How an objective became a cost. recorded_value() restores the file's values.
enum class Turned {
  kNo,       ///< the objective is a cost
  kInverse,  ///< cost = 1 / value: positive rates, of which more is better
  kNegative  ///< cost = -value
};

/// The kernel, device, problem and objective of a recording.
struct RecordingFacts {
  std::string format;                    ///< "kernel-tuner", "t4", "ktt", "fatune"
  std::string name;                      ///< name of the kernel
  std::string device;                    ///< empty if unknown
  std::string problem;                   ///< as the file words it; may be empty
  std::optional<Problem> own_problem{};  ///< the problem, in files by fatune
  std::string objective;
  std::string unit;  ///< unit of the file's values: "ms", "us", "GFLOP/s"; empty if unknown
  std::vector<std::string> remarks;  ///< "unclosed file: accepted", "2 configs repeated: ..."
};

struct Recording : RecordingFacts {
  std::string where;  ///< the file, and the recording if the file has several
  Turned turned = Turned::kNo;
  std::vector<RecordedAxis> axes;
  Lattice lattice;                     ///< exactly the file's configs, failures included
  std::vector<RecordedEntry> entries;  ///< entries[i] belongs to lattice.point(i)
};

/// Reads a Kernel Tuner cache, T4 results, KTT results or a fatune journal (or a run's folder),
/// plain or gzip, recognised by content. A journal gives a recording per kernel and problem. A
/// recording has at least one config; all may have failed.
Result<std::vector<Recording>> read_recordings(const std::filesystem::path& path);

/// True if all costs are positive, so that logarithms and inverses exist.
bool all_positive(const Recording& recording);

/// Returns a cost in the file's own terms.
double recorded_value(const Recording& recording, double cost);

}  // namespace fatune
