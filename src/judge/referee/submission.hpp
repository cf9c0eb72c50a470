// submission.hpp: Turns a client's source and manifest into a candidate, or refuses both.
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

/// Arguments of `submit_kernel`; the manifest and the config are JSON texts.
struct Submission {
  std::string problem;   ///< problem id
  std::string source;    ///< template source
  std::string manifest;  ///< fatune.kernel/1
  std::string config;    ///< empty for the manifest's default config
  Scrutiny mode = Scrutiny::kCheck;
  std::string thought;               ///< author's idea, for readers of the history
  std::vector<std::string> parents;  ///< ids of parent judgements
};
void fields(Submission& x, FieldList& f);

inline constexpr const char* kManifestName = "manifest.json";
/// Chosen; the longest template of fatune has 30 KB.
inline constexpr std::size_t kLongestSource = 262'144;

/// Returns a judgement's id, which covers source, config (as a candidate's id) and manifest.
std::string submission_id(const std::string& candidate_id, const Submission& submission);

/// The source can include fatune's common/ and, if the manifest says so, headers of the CUDA
/// toolkit. No other file is read. Errors name manifest.json and the field.
Result<Candidate> read_submission(const Submission& submission, const Problem& problem);

}  // namespace fatune
