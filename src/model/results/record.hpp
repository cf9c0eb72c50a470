// record.hpp: Defines the records of a journal, one per line.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>  // records hold configs as values

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "model/kernel/limits.hpp"
#include "model/problem/problem.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Seconds that a candidate spent in each phase.
struct Spent {
  double compile_s = 0;  ///< 0 on a cache hit
  double verify_s = 0;
  double timing_s = 0;
  double gpu_wait_s = 0;  ///< the device worker waited for this candidate's compilation
  double ready_s = 0;     ///< from the end of the compilation to the result
  std::optional<std::size_t> compiler;  ///< index of the compile process; none on a cache hit

  friend bool operator==(const Spent&, const Spent&) = default;
};

/// The GPU that measured a candidate, if it is not the run's.
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
  std::string duplicate_of;  ///< id of the first candidate with this machine code
  std::optional<MeasuredOn> measured_on;
  Spent spent;
  double at_s = 0;  ///< seconds since the run began
  bool recorded = false;

  friend bool operator==(const CandidateRecord&, const CandidateRecord&) = default;
};

/// A device begins or continues a problem. A run on one device has no such record.
struct BeginRecord {
  Problem problem;
  std::string device;  ///< "cuda:1", "rank 2 on b, cuda:0"
  std::string gpu;     ///< UUID
  double at_s = 0;     ///< seconds since the run began

  friend bool operator==(const BeginRecord&, const BeginRecord&) = default;
};

/// Written before a candidate first runs on the device, so that a crash still names the candidate
/// and the one to retry.
struct StartedRecord {
  std::string id, key;
  std::string kernel = {};
  Json config = Json::object();
  std::optional<Problem> problem = {};
  bool again = false;  ///< an earlier attempt at the run ended with this candidate on the device

  friend bool operator==(const StartedRecord&, const StartedRecord&) = default;
};

StartedRecord started(const CandidateRecord& candidate);

enum class RowRole {
  kFinalist,  ///< a candidate that the search found, or the one asked about
  kDefault,   ///< the default config of the fastest kernel
  kBaseline   ///< what candidates are compared with
};
std::string_view name(RowRole role);  ///< "finalist", "default", "baseline"
FieldWord<RowRole> word_of(const RowRole*);

/// One contestant of the final phase.
struct FinalRecord : Observation {
  std::string impl;  ///< "fatune:fa_mma", "naive", "cudnn", "torch:flash", "python:mine:attend"
  RowRole role = RowRole::kFinalist;
  std::string id;  ///< candidate id; empty for other contestants
  std::string kernel;
  Json config = Json::object();
  Problem problem;
  /// One value per round, aligned over contestants; in_layer omits unsteady rounds.
  std::vector<double> in_layer_rounds_us, plain_rounds_us, hot_rounds_us, cold_rounds_us;
  std::string detail;  ///< version and plan of an external implementation
  std::string gpu;     ///< UUID of the measuring GPU; empty: unknown
  double at_s = 0;     ///< end of the final phase, seconds since the run began; 0: unknown
  bool recorded = false;
  /// Times are from rounds after the best was chosen; set for the best and the baselines only.
  bool timed_again = false;

  /// Time for rates: plain, or hot without a plain time.
  const std::optional<Timing>& rated_time() const { return plain ? plain : hot; }
  bool is_baseline() const { return role == RowRole::kBaseline; }
  bool is_timed() const { return outcome == Outcome::kMeasured && hot.has_value(); }
  /// True for a contestant that passed every gate and is no baseline.
  bool is_candidate() const { return !is_baseline() && outcome == Outcome::kMeasured; }

  friend bool operator==(const FinalRecord&, const FinalRecord&) = default;
};

/// Returns one value per round; empty without a measurement.
std::vector<double>& rounds_of(FinalRecord& record, Time time);
const std::vector<double>& rounds_of(const FinalRecord& record, Time time);
/// Lists the rounds of each time.
void rounds_fields(FinalRecord& x, FieldList& f);

/// End of a run, complete or interrupted.
struct EndRecord {
  std::string status;  ///< "complete", "interrupted"
  double seconds = 0;

  friend bool operator==(const EndRecord&, const EndRecord&) = default;
};

/// A kernel's config in a file: kernel name, config, problem and source.
struct SavedConfig {
  std::string kernel;
  Json config = Json::object();  ///< {"BLOCK_M":128,...}
  std::optional<Problem> problem = {};
  std::string problem_name = {};  ///< name in its suite or file; may be empty
  Arch arch = {};
  std::string source = {};               ///< a file, or the measuring run
  std::optional<Time> time = {};         ///< of median_us; empty: hot
  std::optional<double> median_us = {};  ///< at the source, if known
};
/// Tells whether two configs or records have the same kernel and config.
bool same_config(const auto& a, const auto& b) {
  return a.kernel == b.kernel && a.config == b.config;
}

/// JSON key "t" names the type: begin, started, candidate, final, end.
using Record = std::variant<BeginRecord, StartedRecord, CandidateRecord, FinalRecord, EndRecord>;
/// Seconds since the run began at which the record's facts were known; 0 for a record without a
/// time.
double moment_of(const Record& record);
/// Points to the record's time; null for a record without a time.
double* time_of(Record& record);
/// Points to the record's problem; null for the end of a run.
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
