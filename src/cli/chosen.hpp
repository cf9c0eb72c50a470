// chosen.hpp - --config FILE or --kernel NAME, with a problem, turned into candidates.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/args.hpp"
#include "problem/suite.hpp"
#include "space/candidate.hpp"

namespace fatune::cli {

struct ChosenCandidate {
  std::string problem_name;
  Candidate candidate;
};

struct ChoiceArgs {
  std::string config;  ///< best.json, or {"kernel":...,"config":{...}}
  std::string kernel;  ///< its default config
  ProblemArgs problem;
};
void add_choice_options(CLI::App& command, ChoiceArgs& args);

/// One candidate per problem. A file's own problem holds unless --shape or --suite is given.
/// Exactly one of config and kernel must be set. A kernel that cannot do a problem is a usage error
/// with the reason.
Result<std::vector<ChosenCandidate>> resolve_choice(const ChoiceArgs& args,
                                                    const std::vector<KernelRef>& catalog);

}  // namespace fatune::cli
