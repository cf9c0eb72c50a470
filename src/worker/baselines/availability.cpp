// availability.cpp - opens what each origin needs, as a worker would, and keeps the reasons.
#include "worker/baselines/availability.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "core/run_program.hpp"
#include "core/text.hpp"
#include "gpu/library.hpp"
#include "worker/baselines/cublas_lt.hpp"
#include "worker/baselines/cudnn_library.hpp"
#include "worker/baselines/torch_process.hpp"
#include "worker/protocol/external_description.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {
namespace {

/// The messages read "what is missing; remedy", or end with a line of its own for the remedy.
Availability missing(std::string impl, const std::string& message) {
  const std::size_t semicolon = message.find("; "), line = message.rfind('\n');
  const std::size_t rest = line != std::string::npos ? line + 1 : semicolon + 2;
  if (semicolon == std::string::npos) return {std::move(impl), false, message, ""};
  return {std::move(impl), false, message.substr(0, semicolon), message.substr(rest)};
}

Availability cudnn(const OutsideOptions& options) {
  const auto library = open_cudnn_library(options.library_folders);
  if (!library) return missing("cudnn", library.error().message);
  const std::string file = gpu::file_of(reinterpret_cast<const void*>(library->version));
  return {"cudnn", true, "cuDNN " + cudnn_version_text(library->version()) + " (" + file + ")", ""};
}

Availability cublas() {
  const auto found = find_cublas_lt();
  if (!found) return missing("cublas", found.error().message);
  return {"cublas", true, "cuBLAS " + *found, ""};
}

Availability torch(const OutsideOptions& options) {
  const auto python = find_program(options.python, options.program_folders);
  TorchProcess process;
  const auto version = process.greet({python ? python->string() : options.python, "", {}, 0});
  if (!version) return missing("torch:*", version.error().message);
  return {"torch:*", true, "PyTorch " + *version + " of " + python->string(), ""};
}

Availability external(const std::string& name, const OutsideOptions& options) {
  const std::string impl = std::string(kExternalPrefix) + name;
  const auto description = load_external(name, options.external_folders);
  if (!description)
    return {impl, false, description.error().message, "mend its description (docs/baselines.md)"};
  const ExternalPlaces places{options.external_folders, options.program_folders};
  if (const auto program = find_external(*description, places))
    return {impl, true, program->string(), ""};
  return missing(impl, no_external(description->program, description->install).message);
}

}  // namespace

std::vector<Availability> availability(const OutsideOptions& options) {
  std::vector<Availability> all = {cudnn(options), cublas(), torch(options)};
  for (const std::string& name : external_names(options.external_folders))
    all.push_back(external(name, options));
  return all;
}

}  // namespace fatune
