// submission.cpp - a submitted kernel as a kernel tree of its own, in memory: nothing of the disk
// is within its reach.
#include "judge/referee/submission.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune {
namespace {

constexpr const char* kManifest = "manifest.json";

/// A name beside the manifest, so that the tree holds nothing but what was submitted.
Result<std::string> name_of_source(const std::string& manifest) {
  FATUNE_TRY(const Json json, parse_json(manifest, kManifest));
  const Fields fields(json, kManifest);
  FATUNE_TRY(const std::string schema, fields.text("schema"));
  if (!schema.starts_with("fatune.kernel/"))
    return fields.error("schema", fmt::format("is '{}', not fatune.kernel/1", schema));
  FATUNE_TRY(std::string source, fields.text("source"));
  if (source != file_name(source) || !source.ends_with(".cu"))
    return fields.error("source", fmt::format("is '{}', not a name such as kernel.cu", source));
  return source;
}

Result<KernelRef> load(const Submission& submission) {
  if (submission.source.size() > kLongestSource) {
    return usage_error(fmt::format("source: has {} bytes, more than {}", submission.source.size(),
                                   kLongestSource));
  }
  if (submission.source.find("has_include") != std::string::npos)
    return usage_error("source: '__has_include' asks what files there are; leave it out");
  FATUNE_TRY(const std::string source, name_of_source(submission.manifest));
  SourceTree tree = {{kManifest, submission.manifest}, {source, submission.source}};
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

/// What a manifest of fatune's own may say, and a submitted one may not.
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
    return usage_error(fmt::format("{}: {}", kManifest, reason));
  candidate.problem = problem;
  candidate.config = default_config(manifest);
  if (submission.config.empty()) return candidate;
  FATUNE_TRY(const Json config, parse_json(submission.config, "config"));
  FATUNE_TRY(candidate.config, config_from_json(manifest, config, "config"));
  return candidate;
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
  f("thought", x.thought).omitted().about("Why it should work; kept for the history");
  f("parents", x.parents).omitted().about("Ids of the judgements that it builds on");
  f.closed();
}

}  // namespace fatune
