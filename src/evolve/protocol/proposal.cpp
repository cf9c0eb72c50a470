// proposal.cpp: Parses a proposer's answer.
#include "evolve/protocol/proposal.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/kernel/config.hpp"

namespace fatune {
namespace {

/// Maximum bytes of a text for readers; chosen: a paragraph.
constexpr std::size_t kLongestThought = 4096;
/// Maxima per candidate; chosen: many times what a move needs.
constexpr std::size_t kMostEdits = 256, kMostParents = 8;

std::string too_long(const std::string& text) {
  return text.size() <= kLongestThought
             ? ""
             : fmt::format("has {} bytes, more than {}", text.size(), kLongestThought);
}

std::string too_many(std::size_t count, std::size_t most) {
  return count <= most ? "" : fmt::format("has {} elements, more than {}", count, most);
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
  f.rule("thought", [&x] { return too_long(x.thought); });
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
  f.rule("insight", [&x] { return too_long(x.insight); });
}

Result<Proposal> parse_proposal(std::string_view line) {
  FATUNE_TRY(const Json json, parse_json(line, "answer"));
  FATUNE_TRY(Proposal proposal, from_json<Proposal>(json, "answer"));
  if (proposal.candidates.empty()) return usage_error("answer: field 'candidates' is empty");
  return proposal;
}

}  // namespace fatune
