// submission.hpp - source and manifest from a client to a candidate, or to why they are none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// What `submit_kernel` takes; the manifest and the config are JSON texts.
struct Submission {
  std::string problem;   ///< its id
  std::string source;    ///< of the template
  std::string manifest;  ///< fatune.kernel/1
  std::string config;    ///< empty: the manifest's default
  Scrutiny mode = Scrutiny::kCheck;
  std::string thought;               ///< for those who read the history
  std::vector<std::string> parents;  ///< ids of judgements
};
void fields(Submission& x, FieldList& f);

inline constexpr const char* kManifestName = "manifest.json";
/// Chosen: our longest template has 30 KB.
inline constexpr std::size_t kLongestSource = 262'144;

/// Of a judgement: a candidate's id knows the text and the config, this one the manifest, too.
std::string submission_id(const std::string& candidate_id, const Submission& submission);

/// What it can include is fatune's common/ and, where the manifest says so, headers of the CUDA
/// toolkit; no file is read for it. Errors name manifest.json and the field.
Result<Candidate> read_submission(const Submission& submission, const Problem& problem);

}  // namespace fatune
