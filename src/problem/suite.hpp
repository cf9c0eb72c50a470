// suite.hpp - a named list of problems, from configs/problems/NAME.json or a file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/fields_fwd.hpp"
#include "base/result.hpp"
#include "problem/problem.hpp"

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
};

/// `{"schema":"fatune.problems/1","name":..,"summary":..,"problems":[{"name":..,"shape":"4,8,512,64",
/// "kv_heads":..,"seq_kv":..,"dtype":"bf16","causal":true,"lse":true}]}`: of a problem, name
/// and shape are required.
Result<Suite> parse_suite(std::string_view text, const std::string& where);

}  // namespace fatune
