// problems.hpp - --shape, --suite and their companions turned into named problems.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/args.hpp"
#include "problem/suite.hpp"
#include "space/operation.hpp"

namespace fatune::cli {

/// At least one problem; those of --shape and --size have no name. Errors name the flag. Without
/// any it is a usage error with an example. `operation`: what the kernels in question compute.
Result<std::vector<NamedProblem>> resolve_problems(const ProblemArgs& args,
                                                   const OperationRef& operation = nullptr);
/// Whether a problem is given at all.
bool names_problem(const ProblemArgs& args);
/// A usage error for --causal and the like, which say what --shape or --size leaves open, where
/// `source`, "--suite mission" say, gives whole problems.
Status refuse_companions(const ProblemArgs& args, const std::string& source);
/// "mission 4,8,512,64 f16", or without a name "4,8,512,64 f16".
std::string label(const NamedProblem& named);
/// The options again, as a shell would read them: " --suite mission".
std::string repeat_options(const ProblemArgs& args);
/// "4-8-512-64-f16-causal", "rmsnorm-rows4096-columns1024-f16": names a problem in folders.
std::string slug(const Problem& problem);
/// A built-in suite, or one from a file.
Result<Suite> load_suite(const std::string& name_or_file);

}  // namespace fatune::cli
