// external_settings.cpp - finds descriptions and their programs, and fills in the problem.
#include "worker/protocol/external_settings.hpp"

#include <set>

#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/run_program.hpp"

namespace fatune {

std::optional<std::filesystem::path> find_external(const ExternalDescription& description,
                                                   const ExternalPlaces& places) {
  std::vector<std::filesystem::path> folders = places.folders;
  folders.insert(folders.end(), places.program_folders.begin(), places.program_folders.end());
  return find_program(description.program, folders);
}

Error no_external(const std::string& program, const std::string& install) {
  return environment_error("the program '" + program +
                           "' is neither beside its description nor on PATH; it is " + install);
}

Result<Json> external_settings(const std::string& name, const Problem& problem,
                               const ExternalPlaces& places) {
  FATUNE_TRY(const ExternalDescription description, load_external(name, places.folders));
  const auto program = find_external(description, places);
  Json settings = {
      {"name", description.name},           {"program", program ? program->string() : ""},
      {"wanted", description.program},      {"install", description.install},
      {"arguments", Json::array()},         {"output", to_json(description.output)},
      {"launches", description.launches},   {"runs", description.runs},
      {"timeout_s", description.timeout_s}, {"verifies", description.verifies}};
  FATUNE_TRY(settings["refusal"], refusal(description, problem));
  if (settings["refusal"] != "") return settings;
  for (const std::string& argument : description.arguments) {
    FATUNE_TRY(const std::string filled, fill_in(argument, problem, name));
    settings["arguments"].push_back(filled);
  }
  return settings;
}

std::vector<std::string> external_names(const std::vector<std::filesystem::path>& folders) {
  std::set<std::string> names;
  for (const EmbeddedFile& file : embedded_external_files())
    names.insert(std::filesystem::path(file.path).stem());
  for (const auto& folder : folders) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".json") names.insert(entry.path().stem());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace fatune
