// outside_settings.cpp - what each origin needs to know on the worker's side.
#include "tune/evaluate/outside_settings.hpp"

#include <utility>

#include "core/run_program.hpp"
#include "worker/protocol/external_settings.hpp"

namespace fatune {

std::vector<std::string> implementation_names(const OutsideOptions& options) {
  std::vector<std::string> names = {"cudnn",           "cudnn:best", "torch:flash", "torch:cudnn",
                                    "torch:efficient", "torch:math", "torch:auto"};
  for (const std::string& name : external_names(options.external_folders))
    names.push_back(std::string(kExternalPrefix) + name);
  return names;
}

Result<OutsideProgram> outside_program(const OutsideName& implementation, const Problem& problem,
                                       const OutsideOptions& options) {
  OutsideProgram program;
  program.impl = implementation.impl();
  if (implementation.origin == Origin::kExternal) {
    FATUNE_TRY(program.settings,
               external_settings(implementation.variant, problem,
                                 {options.external_folders, options.program_folders}));
    return program;
  }
  if (implementation.origin == Origin::kTorch) {
    const auto python = find_program(options.python, options.program_folders);
    program.settings["python"] = python ? python->string() : options.python;
    return program;
  }
  Json folders = Json::array();
  for (const auto& folder : options.library_folders) folders.push_back(folder.string());
  program.settings["library_folders"] = std::move(folders);
  return program;
}

}  // namespace fatune
