// profile.hpp: Explains the counters of a launch, names its bottleneck, and holds a profile.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
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

void fields(Finding& x, FieldList& f);
void fields(Reading& x, FieldList& f);
void fields(LaunchShare& x, FieldList& f);
void fields(Profile& x, FieldList& f);

}  // namespace fatune
