// problems.hpp - --shape, --suite and their companions turned into named problems.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/args.hpp"
#include "problem/suite.hpp"

namespace fatune::cli {

/// At least one problem; those of --shape have no name. Errors name the flag. Without --shape and
/// --suite it is a usage error with the mission shape as example.
Result<std::vector<NamedProblem>> resolve_problems(const ProblemArgs& args);
/// "mission 4,8,512,64 f16", or without a name "4,8,512,64 f16".
std::string label(const NamedProblem& named);
/// The options again, as a shell would read them: " --suite mission".
std::string repeat_options(const ProblemArgs& args);
/// "4-8-512-64-f16-causal": names a problem in folders.
std::string slug(const Problem& problem);
/// A built-in suite, or one from a file.
Result<Suite> load_suite(const std::string& name_or_file);

}  // namespace fatune::cli
