// external.hpp - any program that prints microseconds, as a contestant that times itself.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "baseline/executable.hpp"
#include "baseline/external_description.hpp"
#include "problem/problem.hpp"

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

/// An environment error when the program is not there, with what the description says about
/// installing it; a device error when it cannot do the problem. The program runs on the device.
Result<std::unique_ptr<Executable>> open_external(const Json& settings,
                                                  const std::string& device_uuid);

}  // namespace fatune
