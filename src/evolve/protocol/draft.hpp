// draft.hpp: Turns a proposal and its parents into a complete kernel, or refuses the proposal.
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
