// outside_settings.hpp - an implementation from elsewhere to what travels to the worker that runs
// it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/protocol/availability.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {

/// Every name that parse_outside_name knows, "external:NAME" for those described in the folders
/// and in the program itself.
std::vector<std::string> implementation_names(const OutsideOptions& options);

Result<OutsideProgram> outside_program(const OutsideName& implementation, const Problem& problem,
                                       const OutsideOptions& options);

}  // namespace fatune
