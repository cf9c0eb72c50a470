// submission.cpp: Loads a submitted kernel as an in-memory kernel tree without disk access.
#include "judge/referee/submission.hpp"

#include <algorithm>
#include <iterator>
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
Result<std::string> name_of_source(const std::string& text) {
  FATUNE_TRY(const Json json, parse_json(text, kManifestName));
  auto manifest = read_value<Manifest>(json, kManifestName);
  if (!manifest) {
    Error error = std::move(manifest).error();
    error.message += "; the schema of a manifest is fatune://schema/kernel";
    return error;
  }
  const std::string& source = manifest->source;
  if (source == file_name(source) && source.ends_with(".cu")) return source;
  return Fields(json, kManifestName)
      .error("source", fmt::format("is '{}', not a name such as kernel.cu", excerpt(source)));
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
  std::string fault = too_long(submission.source, kLongestSource);
  if (!fault.empty()) return usage_error("source: " + fault);
  fault = too_long(submission.manifest, kLongestManifest);
  if (!fault.empty()) return usage_error("manifest: " + fault);
  if (const std::string reason = hidden_include_reason(submission.source); !reason.empty())
    return usage_error("source: " + reason);
  FATUNE_TRY(const std::string source, name_of_source(submission.manifest));
  SourceTree tree = {{kManifestName, submission.manifest}, {source, submission.source}};
  std::ranges::move(common_headers(), std::back_inserter(tree));
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

std::vector<SourceFile> common_headers() {
  std::vector<SourceFile> headers = embedded_source_tree();
  std::erase_if(headers, [](const SourceFile& each) {
    return !each.path.starts_with("common/") || !each.path.ends_with(".cuh");
  });
  return headers;
}

std::string too_long(const std::string& text, std::size_t most) {
  return text.size() <= most ? "" : fmt::format("has {} bytes, more than {}", text.size(), most);
}

std::string too_many(std::size_t count, std::size_t most) {
  return count <= most ? "" : fmt::format("has {} elements, more than {}", count, most);
}

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

void submission_fields(Submission& x, FieldList& f) {
  f("problem", x.problem).required().filled().about("Its id, as list_problems has it");
  f("source", x.source).required().filled().about("CUDA C++ for NVRTC, without host code");
  f.packed("manifest", x.manifest)
      .required()
      .object()
      .about(
          "fatune.kernel/1: parameters, constraints, launches; its 'source' is a name such as "
          "k.cu; its schema is fatune://schema/kernel");
  f("thought", x.thought).about("Why it should work; kept for the history");
  f("parents", x.parents)
      .matching(kIdPattern, "the id of a judgement")
      .about("Ids of the judgements that it builds on");
  f.rule("thought", [&x] { return too_long(x.thought, kLongestThought); });
  f.rule("parents", [&x] { return too_many(x.parents.size(), kMostParents); });
  f.by_hand();
}

void fields(Submission& x, FieldList& f) {
  submission_fields(x, f);
  f.packed("config", x.config)
      .object()
      .schema(kConfigSchema)
      .about("A value of each parameter; absent: their defaults");
  f("mode", x.mode)
      .about(
          "check: compiler and gates; rank: timed, too, in a few rounds; final: edge problems, and "
          "rounds beside the baselines [check]");
}

}  // namespace fatune
