// suite.hpp: Loads a named list of problems from configs/problems/NAME.json or a file.
#pragma once

#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

struct NamedProblem {
  std::string name;
  Problem problem;
};
void fields(NamedProblem& x, FieldList& f);

struct Suite {
  std::string name;
  std::string summary;
  std::vector<NamedProblem> problems;
  std::vector<std::string> left_out;  ///< "name: why", for problems that contradict themselves
};

/// `fatune schema problems` prints the format.
Result<Suite> parse_suite(std::string_view text, const std::string& where);
void fields(Suite& x, FieldList& f);
/// Lists the members of a problem as suites spell it: {"shape": "4,8,512,64", "causal": true}.
void suite_fields(Attention& x, FieldList& f);
/// Returns "mission 4,8,512,64 f16", or without a name "4,8,512,64 f16".
std::string label(const NamedProblem& named);
/// Names a problem in folders: "4-8-512-64-f16-causal", "rmsnorm-rows4096-columns1024-f16".
std::string slug(const Problem& problem);
/// "-scale0.5-softcap50-bias-1-1-1-8-alibi-sink"; empty for usual scores.
std::string score_slug(const Attention& problem);
std::string size_slug(const CustomProblem& problem);  ///< "-rows4096-columns1024-f16"

}  // namespace fatune
