// profile.hpp: Explains the counters of a launch, names its bottleneck, and keeps profiles in a
// run's folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "model/problem/suite.hpp"
#include "model/results/document.hpp"
#include "tune/profile/counters.hpp"
#include "tune/profile/ncu_run.hpp"

namespace fatune {

enum class Mark {
  kGood,
  kBad,
  kNote,   ///< without a judgement
  kAbsent  ///< not counted
};
std::string_view name(Mark mark);  ///< "good", "bad", "note", "absent"

struct Finding {
  std::string what;             ///< "tensor active"
  std::optional<double> value;  ///< percent, or as the unit says
  std::string unit;             ///< "%", "waves", "sectors"
  std::string limit{};          ///< range of good values: "> 50"
  Mark mark = Mark::kAbsent;
  std::string sentence = "not counted";
};

struct Reading {
  std::string bound_by;  ///< "tensor", "dram", "l2", "spills", "bank_conflicts", "barrier", ...
  std::string sentence;
  std::vector<Finding> findings{};
};
Reading read_counters(const Counters& counters, const LaunchFacts& facts);

/// A kernel's part of an implementation's time.
struct LaunchShare {
  std::string kernel;
  std::size_t launches = 0;
  double time_us = 0;  ///< sum of its launches
  double share = 0;    ///< from 0 to 1
};
/// Sums launches by kernel name, longest first. Empty if some launch has no time.
std::vector<LaunchShare> breakdown(const std::vector<Counters>& launches);
/// Returns the launch that takes longest, or the first; null if there is none.
const Counters* longest(const std::vector<Counters>& launches);

/// The profile of one candidate.
struct Profile {
  LaunchFacts facts;
  NcuOutcome outcome;
};

struct ProfiledConfig {
  NamedProblem problem;
  std::string kernel;
  Json config = Json::object();
  std::string id;  ///< the candidate's id, as in a journal
  std::optional<Timing> hot;
  Profile profile;
};
/// A document of the schema fatune.profile/1.
struct ProfileDocument {
  DocumentHead head;
  Environment environment;
  std::vector<ProfiledConfig> profiles;
};
void fields(ProfiledConfig& x, FieldList& f);
void fields(ProfileDocument& x, FieldList& f);

/// Returns the file of a candidate's profile in a run's folder. `extension` is ".json" or ncu's
/// ".ncu-rep".
std::filesystem::path kept_profile(const std::filesystem::path& run, const std::string& id,
                                   const char* extension);
/// Loads all profiles of a run by file name. Skips unreadable documents with a warning.
std::vector<ProfiledConfig> kept_profiles(const std::filesystem::path& run);

void fields(Finding& x, FieldList& f);
void fields(Reading& x, FieldList& f);
void fields(LaunchShare& x, FieldList& f);
void fields(Profile& x, FieldList& f);

}  // namespace fatune
