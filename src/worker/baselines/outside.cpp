// outside.cpp: Opens each implementation by its origin, and says which of them are available.
#include "worker/baselines/outside.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/run_program.hpp"
#include "core/text.hpp"
#include "gpu/library.hpp"
#include "worker/baselines/cublas_lt.hpp"
#include "worker/baselines/cudnn_library.hpp"
#include "worker/baselines/cutensor.hpp"
#include "worker/baselines/torch_process.hpp"

namespace fatune {
namespace {

/// Call of one implementation in PyTorch's process.
struct TorchProgram {
  std::string python, backend;
};

Result<TorchProgram> torch_program(const OutsideProgram& program) {
  const Fields settings(program.settings, "settings of torch");
  TorchProgram how;
  FATUNE_TRY(how.python, settings.text("python"));
  FATUNE_TRY(how.backend, settings.text("backend"));
  return how;
}

Result<std::unique_ptr<Executable>> make(const OutsideProgram& program,
                                         const OutsideSetting& setting, TorchProcess& torch) {
  FATUNE_TRY(const auto which, parse_outside_name(program.impl));
  FATUNE_CHECK(which.has_value(), "the parent sends only names that it parsed");
  if (which->origin == Origin::kTorch) {
    FATUNE_TRY(const TorchProgram how, torch_program(program));
    return open_torch(torch, how.backend, how.python, setting);
  }
  FATUNE_TRY(const auto folders,
             Fields(program.settings, "settings of cudnn").texts_or("library_folders", {}));
  return open_cudnn(setting, which->variant.empty() ? CudnnPlan::kHeuristic : CudnnPlan::kFastest,
                    {folders.begin(), folders.end()});
}

std::optional<Origin> origin_of(const OutsideProgram& program) {
  const auto which = parse_outside_name(program.impl);
  return which && *which ? std::optional((*which)->origin) : std::nullopt;
}

/// A message reads "MISSING; REMEDY", or its last line is the remedy.
Availability missing(std::string impl, const std::string& message) {
  const std::size_t semicolon = message.find("; "), line = message.rfind('\n');
  const std::size_t rest = line != std::string::npos ? line + 1 : semicolon + 2;
  if (semicolon == std::string::npos) return {std::move(impl), false, message, ""};
  return {std::move(impl), false, message.substr(0, semicolon), message.substr(rest)};
}

Availability look_for_cudnn(const OutsideOptions& options) {
  const auto library = open_cudnn_library(options.library_folders);
  if (!library) return missing("cudnn", library.error().message);
  const std::string file = gpu::file_of(reinterpret_cast<const void*>(library->version));
  return {"cudnn", true, fmt::format("cuDNN {} ({})", cudnn_version_text(library->version()), file),
          ""};
}

Availability look_for_cublas() {
  const auto found = find_cublas_lt();
  if (!found) return missing("cublas", found.error().message);
  return {"cublas", true, "cuBLAS " + *found, ""};
}

Availability look_for_cutensor() {
  const auto found = find_cutensor();
  if (!found) return missing("cutensor", found.error().message);
  return {"cutensor", true, "cuTENSOR " + *found, ""};
}

/// A package that cannot be imported is not available.
Availability look_for_package(const PythonPackage& package, const TorchSetting& setting,
                              TorchProcess& process) {
  const std::string& python = setting.python;
  const std::string impl(package.impl), version = process.version_of(package);
  if (version.empty())
    return {impl, false, fmt::format("{} has no {}", python, package.title),
            fmt::format("{} -I -m pip install {}", shell_word(python), package.package)};
  if (const Status loads = process.load(package, setting); !loads)
    return missing(impl, loads.error().message);
  return {impl, true, fmt::format("{} {} of {}", package.title, version, python), ""};
}

/// PyTorch, and the packages beside it.
std::vector<Availability> look_for_torch(const OutsideOptions& options) {
  const auto found = find_program(options.python, options.program_folders);
  const std::string python = found ? found->string() : options.python;
  TorchProcess process;
  const TorchSetting setting{python, "", {}, 0};
  const auto version = process.greet(setting);
  std::vector<Availability> all;
  if (version)
    all.push_back({"torch:*", true, fmt::format("PyTorch {} of {}", *version, python), ""});
  else
    all.push_back(missing("torch:*", version.error().message));
  for (const PythonPackage& each : kPythonPackages) {
    all.push_back(
        version ? look_for_package(each, setting, process)
                : Availability{
                      std::string(each.impl), false, "it runs beside PyTorch, which cannot be used",
                      fmt::format("see torch:*, then 'pip install {}' beside it", each.package)});
  }
  return all;
}

}  // namespace

OutsideHost::OutsideHost() : torch_(std::make_unique<TorchProcess>()) {}
OutsideHost::~OutsideHost() = default;

/// Starts PyTorch's process first: it imports PyTorch while cuDNN loads here.
void OutsideHost::expect(const std::vector<OutsideProgram>& programs,
                         const OutsideSetting& setting) {
  expected_problem_ = setting.problem;
  first_of_torch_.reset();
  for (const OutsideProgram& program : programs) {
    if (origin_of(program) != Origin::kTorch) continue;
    if (const auto how = torch_program(program)) torch_->launch(how->python, setting.device_uuid);
    if (!first_of_torch_) first_of_torch_ = program;
  }
  for (const OutsideProgram& program : programs) {
    if (origin_of(program) != Origin::kCudnn) continue;
    auto executable = make(program, setting, *torch_);
    if (executable) expected_[program.impl] = *std::move(executable);
  }
}

void OutsideHost::begin(const OutsideSetting& setting) {
  open_.clear();
  if (!first_of_torch_ || expected_problem_ != setting.problem) return;
  const OutsideProgram first = *std::exchange(first_of_torch_, std::nullopt);
  if (const auto how = torch_program(first))
    open_torch_ahead(*torch_, how->backend, how->python, setting);
}

Result<Executable*> OutsideHost::open(const OutsideProgram& program,
                                      const OutsideSetting& setting) {
  if (const auto found = open_.find(program.impl); found != open_.end()) return found->second.get();
  std::unique_ptr<Executable> executable;
  if (const auto found = expected_.find(program.impl);
      found != expected_.end() && expected_problem_ == setting.problem) {
    executable = std::move(expected_.extract(found).mapped());
  } else {
    FATUNE_TRY(executable, make(program, setting, *torch_));
  }
  return open_.emplace(program.impl, std::move(executable)).first->second.get();
}

std::vector<Availability> availability(const OutsideOptions& options) {
  std::vector<Availability> all = {look_for_cudnn(options), look_for_cublas(), look_for_cutensor()};
  for (Availability& each : look_for_torch(options)) all.push_back(std::move(each));
  return all;
}

}  // namespace fatune
