// proposal.hpp - a proposer's line to candidates, or to why it is none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "evolve/trial/trial.hpp"

namespace fatune {

/// A text that stands once in the parent's source, and what stands there instead.
struct SourceEdit {
  std::string find, replace;
};
void fields(SourceEdit& x, FieldList& f);

/// One kernel: whole, or as edits of its first parent. What is left out is the parent's.
struct ProposedKernel {
  std::string source;
  std::vector<SourceEdit> edits;
  std::string manifest;  ///< JSON text of an object
  std::string config;    ///< JSON text of an object; empty: the best is looked for
  std::vector<std::string> parents;
  std::string lever, thought;
};
void fields(ProposedKernel& x, FieldList& f);

/// What a proposer answers.
struct Proposal {
  std::vector<ProposedKernel> candidates;
  std::string insight;
  ProposerUsage usage;
};
void fields(Proposal& x, FieldList& f);

/// A usage error names the field.
Result<Proposal> parse_proposal(std::string_view line);

}  // namespace fatune
