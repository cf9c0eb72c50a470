// submission.cpp: Loads a submitted kernel as an in-memory kernel tree without disk access.
#include "judge/referee/submission.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "model/kernel/includes.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune {
namespace {

/// Requires a file name without folders, so that the tree holds only the submission.
Result<std::string> name_of_source(const std::string& manifest) {
  FATUNE_TRY(const Json json, parse_json(manifest, kManifestName));
  const Fields fields(json, kManifestName);
  FATUNE_TRY(const std::string schema, fields.text("schema"));
  if (!schema.starts_with("fatune.kernel/"))
    return fields.error("schema", fmt::format("is '{}', not fatune.kernel/1", schema));
  FATUNE_TRY(std::string source, fields.text("source"));
  if (source != file_name(source) || !source.ends_with(".cu"))
    return fields.error("source", fmt::format("is '{}', not a name such as kernel.cu", source));
  return source;
}

/// Token pasting could build __has_include. Line comments, such as headings, cannot paste.
bool pastes_tokens(const std::string& text) {
  return std::ranges::any_of(split(text, '\n'), [](const std::string& line) {
    const bool comment = trim(line).starts_with("//") && line.find("*/") == std::string::npos;
    return !comment &&
           (line.find("##") != std::string::npos || line.find("%:%:") != std::string::npos);
  });
}

/// Returns why the source requests files that the include scan cannot see; empty if it does not.
std::string hidden_include_reason(const std::string& source) {
  const std::string text = spliced(source);
  for (const char* question : {"has_include", "has_embed"}) {
    if (text.find(question) != std::string::npos)
      return fmt::format("'__{}' asks what files there are; leave it out", question);
  }
  if (pastes_tokens(text)) return "'##' makes names that nobody has read; leave it out";
  const std::size_t known = includes_of(source).size();
  if (possible_includes(text) > known || possible_includes(source) > known)
    return "has an '#include' in a comment or a literal, or an '#embed'; leave it out";
  return "";
}

Result<KernelRef> load(const Submission& submission) {
  if (submission.source.size() > kLongestSource) {
    return usage_error(fmt::format("source: has {} bytes, more than {}", submission.source.size(),
                                   kLongestSource));
  }
  if (const std::string reason = hidden_include_reason(submission.source); !reason.empty())
    return usage_error("source: " + reason);
  FATUNE_TRY(const std::string source, name_of_source(submission.manifest));
  SourceTree tree = {{kManifestName, submission.manifest}, {source, submission.source}};
  for (SourceFile& shipped : embedded_source_tree()) {
    if (shipped.path.starts_with("common/") && shipped.path.ends_with(".cuh"))
      tree.push_back(std::move(shipped));
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  FATUNE_TRY(const std::vector<KernelRef> kernels, load_kernels(tree));
  Kernel kernel = *kernels.front();
  kernel.author = Author::kStranger;
  return std::make_shared<const Kernel>(std::move(kernel));
}

/// Returns the property of a manifest that only fatune's kernels may have; else empty.
std::string forbidden(const Manifest& manifest) {
  if (manifest.role != Role::kAttention)
    return "field 'role' must be \"attention\": a submission is a candidate";
  if (manifest.operation != attention())
    return "field 'operation' must be left out: the problems here are attention";
  const auto library = [](const StageSpec& stage) { return stage.gemm.has_value(); };
  if (std::ranges::any_of(manifest.stages, library))
    return "field 'stages' has a library's product: a submission is device code alone";
  return "";
}

}  // namespace

Result<Candidate> read_submission(const Submission& submission, const Problem& problem) {
  Candidate candidate;
  FATUNE_TRY(candidate.kernel, load(submission));
  const Manifest& manifest = candidate.kernel->manifest;
  if (const std::string reason = forbidden(manifest); !reason.empty())
    return usage_error(fmt::format("{}: {}", kManifestName, reason));
  candidate.problem = problem;
  candidate.config = default_config(manifest);
  if (submission.config.empty()) return candidate;
  FATUNE_TRY(const Json config, parse_json(submission.config, "config"));
  FATUNE_TRY(candidate.config, config_from_json(manifest, config, "config"));
  return candidate;
}

std::string submission_id(const std::string& candidate_id, const Submission& submission) {
  return Hasher().add(candidate_id).add(submission.manifest).hex().substr(0, candidate_id.size());
}

void fields(Submission& x, FieldList& f) {
  f("problem", x.problem).required().filled().about("Its id, as list_problems has it");
  f("source", x.source).required().filled().about("CUDA C++ for NVRTC, without host code");
  f.packed("manifest", x.manifest)
      .required()
      .object()
      .about(
          "fatune.kernel/1: parameters, constraints, launches; its 'source' is a name such as "
          "k.cu");
  f.packed("config", x.config)
      .object()
      .omitted()
      .schema(kConfigSchema)
      .about("A value of each parameter; absent: their defaults");
  f("mode", x.mode)
      .about(
          "check: compiler and gates; rank: timed, too, in a few rounds; final: edge problems, and "
          "rounds beside the baselines [check]");
  f("thought", x.thought).omitted().about("Why it should work; kept for the history");
  f("parents", x.parents).omitted().about("Ids of the judgements that it builds on");
  f.closed();
}

}  // namespace fatune
