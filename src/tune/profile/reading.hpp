// reading.hpp - counters of a launch to words: the bottleneck, and the meaning of each figure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "tune/profile/counters.hpp"
#include "tune/profile/launch_facts.hpp"

namespace fatune {

enum class Mark {
  kGood,
  kBad,
  kNote,   ///< nothing to judge, or not by this kernel
  kAbsent  ///< not counted
};
std::string_view name(Mark mark);  ///< "good", "bad", "note", "absent"

struct Finding {
  std::string what;             ///< "tensor active"
  std::optional<double> value;  ///< percent, or as the unit says
  std::string unit;             ///< "%", "waves", "sectors"
  std::string limit;            ///< "> 50": what is good
  Mark mark = Mark::kAbsent;
  std::string sentence;
};

struct Reading {
  std::string bound_by;  ///< "tensor", "dram", "l2", "spills", "bank_conflicts", "barrier", ...
  std::string sentence;
  std::vector<Finding> findings;
};
Reading read_counters(const Counters& counters, const LaunchFacts& facts);
void fields(Finding& x, FieldList& f);
void fields(Reading& x, FieldList& f);

}  // namespace fatune
