// proposal.hpp: Declares a proposer's answer: one or several candidates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "evolve/trial/trial.hpp"

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

}  // namespace fatune
