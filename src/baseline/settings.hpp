// settings.hpp - an implementation from elsewhere to what travels to the worker that runs it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "baseline/implementation.hpp"
#include "problem/problem.hpp"

namespace fatune {

/// What implementations from elsewhere need from the user's side; filled by cli/.
struct OutsideOptions {
  std::string python = "python3";                       ///< with PyTorch, for torch:*
  std::vector<std::filesystem::path> library_folders;   ///< looked in before the loader's own path
  std::vector<std::filesystem::path> external_folders;  ///< descriptions NAME.json of externals
  std::vector<std::filesystem::path> program_folders;   ///< PATH, split
};

/// Every name that parse_implementation knows, "external:NAME" for those described in the folders
/// and in the program itself.
std::vector<std::string> implementation_names(const OutsideOptions& options);

Result<OutsideProgram> outside_program(const Implementation& implementation, const Problem& problem,
                                       const OutsideOptions& options);

}  // namespace fatune
