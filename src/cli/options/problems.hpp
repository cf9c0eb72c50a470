// problems.hpp - --shape, --suite and their companions turned into named problems.
#pragma once

#include <string>
#include <vector>

#include "cli/options/args.hpp"
#include "core/result.hpp"
#include "model/kernel/operation.hpp"
#include "model/problem/suite.hpp"

namespace fatune::cli {

/// At least one problem; those of --shape and --size have no name. Errors name the flag. Without
/// any it is a usage error with an example. `operation`: what the kernels in question compute.
Result<std::vector<NamedProblem>> resolve_problems(const ProblemArgs& args,
                                                   const OperationRef& operation = attention());
/// Whether a problem is given at all.
bool names_problem(const ProblemArgs& args);
/// A usage error for --causal and the like, which say what --shape or --size leaves open, where
/// `source`, "--suite mission" say, gives whole problems.
Status refuse_companions(const ProblemArgs& args, const std::string& source);
/// Of the built-in suites.
std::vector<std::string> suite_names();
/// A built-in suite, or one from a file.
Result<Suite> load_suite(const std::string& name_or_file);

}  // namespace fatune::cli
