// record.hpp - one line of the journal, both ways.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>  // records hold configs as values

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "model/kernel/config.hpp"
#include "model/kernel/limits.hpp"
#include "model/problem/problem.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Seconds a candidate spent where.
struct Spent {
  double compile_s = 0;  ///< 0 on a cache hit
  double verify_s = 0;
  double timing_s = 0;
  double gpu_wait_s = 0;  ///< the device worker was idle waiting for this candidate's compilation
  double ready_s = 0;     ///< from the end of its compilation to its result
  std::optional<std::size_t> compiler;  ///< the compile process, from 0; none on a cache hit

  friend bool operator==(const Spent&, const Spent&) = default;
};

/// The GPU that measured a candidate, where it is another than the run's.
struct MeasuredOn {
  std::string device;  ///< "cuda:1"
  std::string gpu;     ///< UUID

  friend bool operator==(const MeasuredOn&, const MeasuredOn&) = default;
};

/// The result of one candidate.
struct CandidateRecord : Observation {
  std::string id;
  std::string key;  ///< candidate_key()
  std::string kernel;
  Json config = Json::object();  ///< {"BLOCK_M":128,...}
  Problem problem;
  std::string cubin;         ///< SHA-256 of the machine code, empty before compilation
  std::string duplicate_of;  ///< id
  std::optional<MeasuredOn> measured_on;
  Spent spent;
  double at_s = 0;  ///< seconds since the run began
  bool recorded = false;

  friend bool operator==(const CandidateRecord&, const CandidateRecord&) = default;
};

/// A device begins a problem, or goes on with it. A run on one device has no such record.
struct BeginRecord {
  Problem problem;
  std::string device;  ///< "cuda:1", "rank 2 on b, cuda:0"
  std::string gpu;     ///< UUID
  double at_s = 0;     ///< seconds since the run began

  friend bool operator==(const BeginRecord&, const BeginRecord&) = default;
};

/// Written before a candidate first runs on the device, so that a crash of everything still names
/// it, and says what to try once more.
struct StartedRecord {
  std::string id, key;
  std::string kernel = {};
  Json config = Json::object();
  std::optional<Problem> problem = {};
  bool again = false;  ///< an earlier attempt at the run ended while it was on the device

  friend bool operator==(const StartedRecord&, const StartedRecord&) = default;
};

StartedRecord started(const CandidateRecord& candidate);

/// One contestant of the final phase.
struct FinalRecord : Observation {
  std::string impl;  ///< "fatune:fa_mma", "naive", "cudnn", "torch:flash", "python:mine:attend"
  std::string role;  ///< "finalist", "default", "baseline"
  std::string id;    ///< candidate id; empty for others
  std::string kernel;
  Json config = Json::object();
  Problem problem;
  /// One value per round, rounds aligned over contestants; in a layer without unsteady rounds.
  std::vector<double> in_layer_rounds_us, plain_rounds_us, hot_rounds_us, cold_rounds_us;
  std::string detail;  ///< of an implementation from elsewhere: its version and plan
  std::string gpu;     ///< UUID of the one that measured it; empty: not known
  double at_s = 0;  ///< seconds since the run began, when its final phase had ended; 0: not known
  bool recorded = false;
  /// Times are of rounds after the best was chosen; only the best and the baselines have them.
  bool timed_again = false;

  /// The time that rates are of: plain launches', or hot where those were not timed.
  const std::optional<Timing>& rated_time() const { return plain ? plain : hot; }
  bool is_baseline() const { return role == "baseline"; }
  bool is_timed() const { return outcome == Outcome::kMeasured && hot.has_value(); }
  /// Passed every gate, and is no baseline.
  bool is_candidate() const { return !is_baseline() && outcome == Outcome::kMeasured; }

  friend bool operator==(const FinalRecord&, const FinalRecord&) = default;
};

/// End of a run, or of what an interrupt left of it.
struct EndRecord {
  std::string status;  ///< "complete", "interrupted"
  double seconds = 0;

  friend bool operator==(const EndRecord&, const EndRecord&) = default;
};

/// A kernel's config as files keep it: by name, with its problem and its source.
struct SavedConfig {
  std::string kernel;
  Json config = Json::object();  ///< {"BLOCK_M":128,...}
  std::optional<Problem> problem = {};
  std::string problem_name = {};  ///< in its suite or file; may be empty
  Arch arch = {};
  std::string source = {};               ///< a file, or the run that measured it
  std::string time = {};                 ///< that median_us is of: "in_layer", "plain", "hot"
  std::optional<double> median_us = {};  ///< where it was measured, if that is known
};
/// Of two configs or records: the same kernel with the same config.
bool same_config(const auto& a, const auto& b) {
  return a.kernel == b.kernel && a.config == b.config;
}

/// Told apart by "t": begin, started, candidate, final, end.
using Record = std::variant<BeginRecord, StartedRecord, CandidateRecord, FinalRecord, EndRecord>;
/// Seconds since the run began, when what it says was known; 0 where it has no time.
double moment_of(const Record& record);
/// The time of a record that has one; else null.
double* time_of(Record& record);
/// Null for the end of a run.
const Problem* problem_of(const Record& record);

void fields(Spent& x, FieldList& f);
void fields(MeasuredOn& x, FieldList& f);
void fields(BeginRecord& x, FieldList& f);
void fields(StartedRecord& x, FieldList& f);
void fields(CandidateRecord& x, FieldList& f);
void fields(FinalRecord& x, FieldList& f);
void fields(EndRecord& x, FieldList& f);
void fields(SavedConfig& x, FieldList& f);

}  // namespace fatune
