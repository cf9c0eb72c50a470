// trial.hpp: Declares a trial: candidate, result on each problem, progress of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>  // trials hold configs as values

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Usage that a proposer reports for an answer. The candidates of a request share its counts; only
/// the first candidate has the counts.
struct ProposerUsage {
  std::int64_t prompt_tokens = 0, completion_tokens = 0;
  double cost = 0;  ///< in the proposer's currency

  std::int64_t tokens() const { return prompt_tokens + completion_tokens; }
  friend bool operator==(const ProposerUsage&, const ProposerUsage&) = default;
};
void fields(ProposerUsage& x, FieldList& f);

/// A candidate on one problem, with its fastest config there.
struct ShapeTrial {
  std::string problem;  ///< name or label of the problem
  Outcome outcome = Outcome::kUnavailable;
  std::string reason;  ///< reason of every outcome except measured
  std::string gate;    ///< the gate that refused the candidate
  Json config = Json::object();
  std::int64_t evaluations = 0;  ///< number of configs tried
  std::optional<Time> time;      ///< kind of time_us
  std::optional<double> time_us;
  std::optional<Resources> resources;

  bool passed() const { return outcome == Outcome::kMeasured && time_us.has_value(); }
  friend bool operator==(const ShapeTrial&, const ShapeTrial&) = default;
};
void fields(ShapeTrial& x, FieldList& f);

/// The steps of a trial, in order. A trial records the last step reached.
namespace step {
inline constexpr const char* kPropose = "propose";
inline constexpr const char* kCompile = "compile";
inline constexpr const char* kCheck = "check";
inline constexpr const char* kTime = "time";
inline constexpr const char* kSelect = "select";
inline constexpr const char* kWords = "propose, compile, check, time, select";
}  // namespace step

/// The verdicts of selection.
namespace verdict {
inline constexpr const char* kElite = "elite";          ///< among the best when it was tried
inline constexpr const char* kKept = "kept";            ///< valid, but not an elite
inline constexpr const char* kDiscarded = "discarded";  ///< valid, but slower on several problems
inline constexpr const char* kInvalid = "invalid";      ///< refused by a gate or a rule
inline constexpr const char* kWords = "elite, kept, discarded, invalid";
}  // namespace verdict

/// The n-th candidate charged to the run; the start is number 0.
struct Trial {
  std::int64_t number = 0;
  std::int64_t ask = 0;  ///< number of the request that brought the candidate
  std::vector<std::string> parents;
  std::string operation;  ///< "start", "mutation", "crossover"
  std::string lever, thought, insight;
  std::string step = step::kPropose;
  std::string verdict = verdict::kInvalid;
  std::string reason;
  std::string key;  ///< hash of source, manifest and config; empty if there was no kernel
  std::string source, manifest;  ///< the manifest is JSON text
  std::string config;            ///< JSON text; empty if the best config is searched
  std::vector<ShapeTrial> shapes;
  std::optional<double> speedup;  ///< geomean speed-up over the start
  std::optional<double> gain;     ///< geomean speed-up over the first parent
  std::optional<double> best;     ///< highest speed-up so far
  std::string profile;            ///< for a new best: hardware counters in words
  ProposerUsage usage;

  std::string id() const;  ///< "t7"
  bool valid() const { return verdict != verdict::kInvalid; }
  bool compiled() const { return valid() || (step != step::kPropose && step != step::kCompile); }
  friend bool operator==(const Trial&, const Trial&) = default;
};
void fields(Trial& x, FieldList& f);

}  // namespace fatune
