// suite.hpp - a named list of problems, from configs/problems/NAME.json or a file.
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
};

/// `{"schema":"fatune.problems/1","name":..,"summary":..,"problems":[{"name":..,"shape":"4,8,512,64",
/// "kv_heads":..,"seq_kv":..,"dtype":"e4m3","out_dtype":"bf16","quant":"fused",
/// "causal":true,"lse":true,"layout":"packed","scale":1.0,"source":"where the
/// sizes are from"}],"capture":{..}}`: of a problem, name and shape are required; capture is what
/// `python -m fatune capture` saw.
Result<Suite> parse_suite(std::string_view text, const std::string& where);
/// Reads the problem of such an entry, whose fields the caller has checked; shape is required.
Result<Problem> parse_problem(const Fields& entry);
/// "mission 4,8,512,64 f16", or without a name "4,8,512,64 f16".
std::string label(const NamedProblem& named);
/// "4-8-512-64-f16-causal", "rmsnorm-rows4096-columns1024-f16": names a problem in folders.
std::string slug(const Problem& problem);

}  // namespace fatune
