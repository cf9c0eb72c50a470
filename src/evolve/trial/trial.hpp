// trial.hpp - what a trial tried, what became of it on each problem, and how far that got the run.
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

/// Of a proposer's answer, as far as it says; the counts of a request are shared by its candidates:
/// the first one has them.
struct ProposerUsage {
  std::int64_t prompt_tokens = 0, completion_tokens = 0;
  double cost = 0;  ///< in the proposer's currency

  std::int64_t tokens() const { return prompt_tokens + completion_tokens; }
  friend bool operator==(const ProposerUsage&, const ProposerUsage&) = default;
};
void fields(ProposerUsage& x, FieldList& f);

/// A candidate on one problem, with the config that was fastest there.
struct ShapeTrial {
  std::string problem;  ///< its name or label
  Outcome outcome = Outcome::kUnavailable;
  std::string reason;  ///< why, for every outcome but measured
  std::string gate;    ///< that refused it
  Json config = Json::object();
  std::int64_t evaluations = 0;  ///< configs that were tried
  std::string time;              ///< which time_us is: "in_layer", "hot"
  std::optional<double> time_us;
  std::optional<Resources> resources;

  bool passed() const { return outcome == Outcome::kMeasured && time_us.has_value(); }
  friend bool operator==(const ShapeTrial&, const ShapeTrial&) = default;
};
void fields(ShapeTrial& x, FieldList& f);

/// The steps of a trial, in order: the last one that it reached.
namespace step {
inline constexpr const char* kPropose = "propose";
inline constexpr const char* kCompile = "compile";
inline constexpr const char* kCheck = "check";
inline constexpr const char* kTime = "time";
inline constexpr const char* kSelect = "select";
inline constexpr const char* kWords = "propose, compile, check, time, select";
}  // namespace step

/// What selection made of a trial.
namespace verdict {
inline constexpr const char* kElite = "elite";          ///< among the best when it came
inline constexpr const char* kKept = "kept";            ///< valid, and no elite
inline constexpr const char* kDiscarded = "discarded";  ///< valid, and slower on several problems
inline constexpr const char* kInvalid = "invalid";      ///< a gate or a rule refused it
inline constexpr const char* kWords = "elite, kept, discarded, invalid";
}  // namespace verdict

/// The n-th candidate that was charged to the run; the start is number 0.
struct Trial {
  std::int64_t number = 0;
  std::int64_t ask = 0;  ///< which request brought it
  std::vector<std::string> parents;
  std::string operation;  ///< "start", "mutation", "crossover"
  std::string lever, thought, insight;
  std::string step = step::kPropose;
  std::string verdict = verdict::kInvalid;
  std::string reason;
  std::string key;               ///< of source, manifest and config; empty: there was none
  std::string source, manifest;  ///< the manifest is JSON text
  std::string config;            ///< JSON text; empty: the best is looked for
  std::vector<ShapeTrial> shapes;
  std::optional<double> speedup;  ///< over the start, geomean of the problems
  std::optional<double> gain;     ///< the same over the first parent
  std::optional<double> best;     ///< highest speed-up so far
  std::string profile;            ///< of a new best: what hardware counters say, in words
  ProposerUsage usage;

  std::string id() const;  ///< "t7"
  bool valid() const { return verdict != verdict::kInvalid; }
  bool compiled() const { return valid() || (step != step::kPropose && step != step::kCompile); }
  friend bool operator==(const Trial&, const Trial&) = default;
};
void fields(Trial& x, FieldList& f);

}  // namespace fatune
