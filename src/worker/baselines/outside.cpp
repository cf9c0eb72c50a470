// outside.cpp - opens each implementation by its origin, once for a problem.
#include "worker/baselines/outside.hpp"

#include <utility>
#include <vector>

#include "core/check.hpp"
#include "worker/baselines/cudnn.hpp"
#include "worker/baselines/external.hpp"
#include "worker/baselines/torch.hpp"

namespace fatune {
namespace {

Result<std::vector<std::filesystem::path>> library_folders(const Json& settings) {
  FATUNE_TRY(const auto texts,
             Fields(settings, "settings of cudnn").texts_or("library_folders", {}));
  return std::vector<std::filesystem::path>(texts.begin(), texts.end());
}

Result<std::unique_ptr<Executable>> make(const OutsideProgram& program,
                                         const OutsideSetting& setting, TorchHelper& torch) {
  FATUNE_TRY(const auto which, parse_outside_name(program.impl));
  FATUNE_CHECK(which.has_value(), "the parent sends only names that it parsed");
  switch (which->origin) {
    case Origin::kTorch: {
      FATUNE_TRY(const std::string python,
                 Fields(program.settings, "settings of torch").text("python"));
      return torch.open(which->variant, python, setting);
    }
    case Origin::kExternal:
      return open_external(program.settings, setting.device_uuid);
    case Origin::kCudnn:
      break;
  }
  FATUNE_TRY(const auto folders, library_folders(program.settings));
  return open_cudnn(setting, which->variant.empty() ? CudnnPlan::kHeuristic : CudnnPlan::kFastest,
                    folders);
}

}  // namespace

struct OutsideHost::Processes {
  TorchHelper torch;
};

OutsideHost::OutsideHost() : processes_(std::make_unique<Processes>()) {}
OutsideHost::~OutsideHost() = default;

void OutsideHost::expect(const OutsideProgram& program, const std::string& device_uuid) {
  const auto which = parse_outside_name(program.impl);
  if (!which || !*which || (*which)->origin != Origin::kTorch) return;
  const auto python = Fields(program.settings, "settings of torch").text("python");
  if (python) processes_->torch.expect(*python, device_uuid);
}

void OutsideHost::forget() { open_.clear(); }

Result<Executable*> OutsideHost::open(const OutsideProgram& program,
                                      const OutsideSetting& setting) {
  if (const auto found = open_.find(program.impl); found != open_.end()) return found->second.get();
  FATUNE_TRY(auto executable, make(program, setting, processes_->torch));
  return open_.emplace(program.impl, std::move(executable)).first->second.get();
}

}  // namespace fatune
