// chosen.hpp - --config FILE or --kernel NAME, with a problem, turned into candidates.
#pragma once

#include <string>
#include <vector>

#include "cli/options/args.hpp"
#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/problem/suite.hpp"
#include "tune/sweep/best.hpp"

namespace fatune::cli {

struct ChosenCandidate {
  std::string problem_name;  ///< for people: "mission 4,8,512,64 f16"
  Candidate candidate;
  std::string name;  ///< of the problem in its suite or file; may be empty
};

/// The position of the file's config for a problem; a file with one config has it for every
/// problem.
Result<std::size_t> position_for(const std::vector<ChosenConfig>& saved, const Problem& problem,
                                 const std::string& file);
/// That config.
Result<ChosenConfig> config_for(const std::vector<ChosenConfig>& saved, const Problem& problem,
                                const std::string& file);
Result<ChosenCandidate> chosen_of(const ChosenConfig& entry, const NamedProblem& problem,
                                  const std::string& file, const std::vector<KernelRef>& catalog);

/// One candidate per problem. A file's own problems hold unless --shape or --suite is given; then
/// each problem takes the file's config for it, or the only config of the file. Exactly one of
/// config and kernel must be set. A kernel that cannot do a problem is a usage error
/// with the reason.
Result<std::vector<ChosenCandidate>> resolve_choice(const ChoiceArgs& args,
                                                    const std::vector<KernelRef>& catalog);

}  // namespace fatune::cli
