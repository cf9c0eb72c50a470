// submission.hpp: Turns a client's source and manifest into a candidate, or refuses both.
#pragma once

#include <cstddef>
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
/// Lists what a submission to any tool has: the kernel, its problem, and notes for the history.
void submission_fields(Submission& x, FieldList& f);

/// Returns fatune's headers, "common/*.cuh", that a source can include.
std::vector<SourceFile> common_headers();

inline constexpr const char* kManifestName = "manifest.json";
// In bytes; chosen: the longest template of fatune has 30 KB, its longest manifest 26 KB, and a
// thought is a paragraph.
inline constexpr std::size_t kLongestSource = 262'144, kLongestManifest = 65'536;
inline constexpr std::size_t kLongestThought = 4096;
inline constexpr std::size_t kMostParents = 8;  ///< of a kernel; chosen

/// Return what is wrong with the length of a text or a list; empty if nothing is.
std::string too_long(const std::string& text, std::size_t most);
std::string too_many(std::size_t count, std::size_t most);

/// Returns a judgement's id, which covers source, config (as a candidate's id) and manifest.
std::string submission_id(const std::string& candidate_id, const Submission& submission);

/// The source can include fatune's common/ and, if the manifest says so, headers of the CUDA
/// toolkit. No other file is read. Errors name manifest.json and the field.
Result<Candidate> read_submission(const Submission& submission, const Problem& problem);

}  // namespace fatune
