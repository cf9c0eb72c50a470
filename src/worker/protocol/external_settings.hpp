// external_settings.hpp - a described external program and a problem to what its worker must know.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/protocol/external_description.hpp"

namespace fatune {

/// Where descriptions NAME.json and the programs that they name are looked for.
struct ExternalPlaces {
  std::vector<std::filesystem::path> folders;          ///< of both, first
  std::vector<std::filesystem::path> program_folders;  ///< of programs
};

/// configs/external/NAME.json (fatune.external/1) with the problem filled in: the settings of an
/// OutsideProgram. An error names file and field; a problem that the program cannot do, or a
/// program that is not there, is told by open_external().
Result<Json> external_settings(const std::string& name, const Problem& problem,
                               const ExternalPlaces& places);

/// Those in `folders` and those that ship with fatune.
std::vector<std::string> external_names(const std::vector<std::filesystem::path>& folders);

std::optional<std::filesystem::path> find_external(const ExternalDescription& description,
                                                   const ExternalPlaces& places);
/// The environment error for a program that is not there.
Error no_external(const std::string& program, const std::string& install);

}  // namespace fatune
