// cmd_doctor.cpp - looks at GPU, compiler, machine, baselines and tools; a remedy for each miss.
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/doctor/doctor_check.hpp"
#include "cli/doctor/doctor_gpu.hpp"
#include "cli/doctor/doctor_tools.hpp"
#include "core/fields.hpp"

namespace fatune::cli {
namespace {

std::string driver_version(const GpusSeen& seen) {
  for (const GpuSeen& gpu : seen.gpus) {
    if (gpu.facts) return gpu.facts->driver;
  }
  return "";
}

Checks all_checks(const Settings& settings) {
  const GpusSeen seen = look_at_gpus();
  const HostSystem host = look_at_host(settings, driver_version(seen));
  Checks checks;
  for (Checks part :
       {gpu_checks(seen, host), compiler_checks(settings, host), machine_checks(settings),
        baseline_checks(settings, host), tool_checks(settings, host)}) {
    checks.insert(checks.end(), std::make_move_iterator(part.begin()),
                  std::make_move_iterator(part.end()));
  }
  return checks;
}

struct DoctorArgs {
  CommonArgs common;
};
OptionTable doctor_table(DoctorArgs& a) { return common_table(a.common); }

Result<int> doctor(const DoctorArgs&, const Settings& settings) {
  const Checks checks = all_checks(settings);
  if (settings.json) {
    print_json(to_json(DoctorDocument{document_head(), checks}));
  } else {
    print(checks_text(checks, settings.paint));
  }
  return is_able(checks) ? kDone : kAnswerIsNo;
}

}  // namespace

Runner setup_doctor(CLI::App& command) {
  return make_runner(command, doctor_table, "fatune doctor", doctor);
}

}  // namespace fatune::cli
