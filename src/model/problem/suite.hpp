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
};

/// `{"schema":"fatune.problems/1","name":..,"summary":..,"problems":[{"name":..,"shape":"4,8,512,64",
/// "kv_heads":..,"seq_kv":..,"dtype":"e4m3","out_dtype":"bf16","quant":"fused",
/// "causal":true,"lse":true,"layout":"packed","scale":1.0,"source":"where the
/// sizes are from"}],"capture":{..}}`. A problem requires name and shape; capture is the report of
/// `python -m fatune capture`.
Result<Suite> parse_suite(std::string_view text, const std::string& where);
/// Reads the problem of one entry; shape is required. The caller has checked the fields.
Result<Problem> parse_problem(const Fields& entry);
/// Returns "mission 4,8,512,64 f16", or without a name "4,8,512,64 f16".
std::string label(const NamedProblem& named);
/// Names a problem in folders: "4-8-512-64-f16-causal", "rmsnorm-rows4096-columns1024-f16".
std::string slug(const Problem& problem);

}  // namespace fatune
