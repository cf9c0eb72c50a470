// draft.hpp - a proposed kernel and its parents to a whole kernel, or to why there is none.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/result.hpp"
#include "evolve/protocol/proposal.hpp"
#include "evolve/trial/trial.hpp"
#include "model/kernel/candidate.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// A whole kernel as it is tried: texts as they came, and what they mean.
struct Draft {
  std::string source, manifest, config;
  std::string key;  ///< sixteen hex digits over the three
  KernelRef kernel;
  std::optional<Config> settings;  ///< empty: the best is looked for
};

/// Reads the three texts as the judge reads a submission.
Result<Draft> read_draft(std::string source, std::string manifest, std::string config);

/// The edits done, gaps filled by the first of the parents. Usage errors say what is wrong: a text
/// to edit that does not stand there once, a config that moves more than one parameter of its
/// parent's, a manifest that the judge refuses.
Result<Draft> make_draft(const ProposedKernel& proposed, std::span<const Trial* const> parents);

}  // namespace fatune
