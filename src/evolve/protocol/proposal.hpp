// proposal.hpp: Declares a proposer's answer, and the complete kernel that becomes of a candidate.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "evolve/trial/trial.hpp"
#include "model/kernel/candidate.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// A text that occurs once in the parent's source, and its replacement.
struct SourceEdit {
  std::string find, replace;
};
void fields(SourceEdit& x, FieldList& f);

/// One kernel, as complete texts or as edits of its first parent. Missing texts are the parent's.
struct ProposedKernel {
  std::string source;
  std::vector<SourceEdit> edits;
  std::string manifest;  ///< JSON text of an object
  std::string config;    ///< JSON text of an object; empty if the best config is searched
  std::vector<std::string> parents;
  std::string lever, thought;
};
void fields(ProposedKernel& x, FieldList& f);

/// The answer of a proposer.
struct Proposal {
  std::vector<ProposedKernel> candidates;
  std::string insight;
  ProposerUsage usage;
};
void fields(Proposal& x, FieldList& f);

/// Parses an answer; a usage error names the field.
Result<Proposal> parse_proposal(std::string_view line);

/// A complete kernel: the submitted texts and their parsed form.
struct Draft {
  std::string source, manifest, config;
  std::string key;  ///< sixteen hex digits, hash of the three texts
  KernelRef kernel;
  std::optional<Config> settings;  ///< empty if the best config is searched
};

/// Reads the three texts as the judge reads a submission.
Result<Draft> read_draft(std::string source, std::string manifest, std::string config);

/// Applies the edits and fills gaps from the first parent. Usage errors: a text to edit that does
/// not occur exactly once, a config that moves several parameters, a manifest that the judge
/// refuses.
Result<Draft> make_draft(const ProposedKernel& proposed, std::span<const Trial* const> parents);

}  // namespace fatune
