// proposal.cpp: Parses an answer, and makes complete kernels of its candidates.
#include "evolve/protocol/proposal.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "judge/referee/submission.hpp"
#include "model/kernel/config.hpp"

namespace fatune {
namespace {

/// Chosen: many times what a move needs.
constexpr std::size_t kMostEdits = 256;
constexpr std::size_t kKeyDigits = 16;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

Result<std::string> edited(std::string source, const std::vector<SourceEdit>& edits) {
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const std::size_t count = count_of(source, edits[i].find);
    if (count != 1) {
      return usage_error(
          fmt::format("edits[{}]: its 'find' stands {} times in the parent, not once", i, count));
    }
    source.replace(source.find(edits[i].find), edits[i].find.size(), edits[i].replace);
    if (source.size() > kLongestSource)
      return usage_error(
          fmt::format("edits[{}]: the source has more than {} bytes", i, kLongestSource));
  }
  return source;
}

/// Returns the parameters in which two complete configs differ.
std::vector<std::string> changed_parameters(const Config& one, const Config& other) {
  std::vector<std::string> names;
  for (const Setting& setting : one.settings) {
    const Value* value = other.find(setting.name);
    if (value != nullptr && !(*value == setting.value)) names.push_back(setting.name);
  }
  return names;
}

/// Returns the parent's config on its first problem.
std::optional<Config> config_of(const Trial& parent, const Manifest& manifest) {
  if (parent.shapes.empty()) return std::nullopt;
  auto config = config_from_json(manifest, parent.shapes.front().config, "parent");
  return config ? std::optional(*std::move(config)) : std::nullopt;
}

/// Checks that a move without a change of source or manifest changes at most one parameter.
Status single_parameter(const Draft& draft, const Trial& parent) {
  if (!draft.settings || draft.source != parent.source || draft.manifest != parent.manifest)
    return {};
  const auto before = config_of(parent, draft.kernel->manifest);
  if (!before) return {};
  const std::vector<std::string> moved = changed_parameters(*before, *draft.settings);
  if (moved.size() <= 1) return {};
  return usage_error(
      fmt::format("config: moves {} at once; a move has one lever", join(moved, ", ")));
}

}  // namespace

void fields(SourceEdit& x, FieldList& f) {
  f.record("source_edit");
  f("find", x.find).required().filled().about("Stands exactly once in the first parent's source");
  f("replace", x.replace).required();
}

void fields(ProposedKernel& x, FieldList& f) {
  f.record("proposed_kernel", "A kernel, whole or as edits of its first parent");
  f("source", x.source).omitted().about("CUDA C++ for NVRTC; absent: the parent's, with edits");
  f("edits", x.edits).omitted();
  f.packed("manifest", x.manifest)
      .object()
      .omitted()
      .about("fatune.kernel/1; absent: the parent's");
  f.packed("config", x.config)
      .object()
      .omitted()
      .schema(kConfigSchema)
      .about("A value of each parameter; absent: the best of them is looked for");
  f("parents", x.parents).omitted().about("Ids; absent: the first parent of the request");
  f("lever", x.lever).omitted().matching("[A-Za-z0-9_.+-]+", "a word").about("What it moves");
  f("thought", x.thought).omitted().about("Why it should work");
  f.rule("thought", [&x] { return too_long(x.thought, kLongestThought); });
  f.rule("parents", [&x] { return too_many(x.parents.size(), kMostParents); });
  f.rule("edits", [&x]() -> std::string {
    if (x.edits.size() > kMostEdits) return too_many(x.edits.size(), kMostEdits);
    return x.source.empty() || x.edits.empty() ? "" : "and 'source' exclude each other";
  });
}

void fields(Proposal& x, FieldList& f) {
  f.record("proposal", "What a proposer answers, in one line");
  f("candidates", x.candidates).required().about("At most as many as are wanted");
  f("insight", x.insight).omitted().about("What it learnt, for requests to come");
  f("usage", x.usage);
  f.rule("insight", [&x] { return too_long(x.insight, kLongestThought); });
}

Result<Proposal> parse_proposal(std::string_view line) {
  FATUNE_TRY(const Json json, parse_json(line, "answer"));
  FATUNE_TRY(Proposal proposal, read_value<Proposal>(json, "answer"));
  if (proposal.candidates.empty()) return usage_error("answer: field 'candidates' is empty");
  return proposal;
}

Result<Draft> read_draft(std::string source, std::string manifest, std::string config) {
  const Submission submission{.problem = "",
                              .source = source,
                              .manifest = manifest,
                              .config = config,
                              .thought = "",
                              .parents = {}};
  FATUNE_TRY(Candidate candidate, read_submission(submission, Problem{}));
  Draft draft;
  draft.key = Hasher().add(source).add(manifest).add(config).hex().substr(0, kKeyDigits);
  draft.kernel = std::move(candidate.kernel);
  if (!config.empty()) draft.settings = std::move(candidate.config);
  draft.source = std::move(source);
  draft.manifest = std::move(manifest);
  draft.config = std::move(config);
  return draft;
}

Result<Draft> make_draft(const ProposedKernel& proposed, std::span<const Trial* const> parents) {
  const Trial* parent = parents.empty() ? nullptr : parents.front();
  std::string source = proposed.source;
  if (source.empty()) {
    if (parent == nullptr) return usage_error("candidate: has neither 'source' nor a parent");
    FATUNE_TRY(source, edited(parent->source, proposed.edits));
  }
  std::string manifest = proposed.manifest;
  if (manifest.empty() && parent != nullptr) manifest = parent->manifest;
  FATUNE_TRY(Draft draft, read_draft(std::move(source), std::move(manifest), proposed.config));
  if (parent != nullptr) FATUNE_TRY_STATUS(single_parameter(draft, *parent));
  return draft;
}

}  // namespace fatune
