// doctor.cpp: Checks GPU, compiler, machine, baselines and tools, and prints a finding a line.
#include "cli/doctor/doctor.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "core/fields.hpp"
#include "core/interrupt.hpp"
#include "core/text.hpp"
#include "tune/evaluate/device_evaluator.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kWordWidth = 9;
constexpr const char* kIndent = "  ";

struct HealthInfo {
  const char* word;
  Tone tone;
};
// In the order of Health.
constexpr HealthInfo kHealths[] = {
    {"ok", Tone::kGood}, {"note", Tone::kFaint}, {"noisy", Tone::kWarn}, {"missing", Tone::kBad}};

const HealthInfo& info(const Check& check) {
  return kHealths[static_cast<std::size_t>(check.health)];
}

bool none_is(const Checks& checks, Health health) {
  return std::none_of(checks.begin(), checks.end(),
                      [&](const Check& check) { return check.health == health; });
}

/// Whether a remedy is a command to copy, which has to stay on one line.
bool is_command(const std::string& remedy) { return remedy.find(" install") != std::string::npos; }

/// Writes a finding, fitted to the width except for commands.
std::string check_text(const Check& check, const Paint& paint) {
  const std::string label(info(check).word);
  const std::string behind = kIndent + std::string(kWordWidth, ' ');
  const std::string found = paint.fitted(behind + check.what + ": " + check.found);
  std::string text = kIndent + paint(info(check).tone, label) +
                     std::string(kWordWidth - label.size(), ' ') + found.substr(behind.size());
  if (check.remedy.empty()) return text;
  const std::string remedy = behind + "-> " + check.remedy;
  text += is_command(check.remedy) ? remedy + "\n" : paint.fitted(remedy);
  return text;
}

std::string conclusion(const Checks& checks, const Paint& paint) {
  std::string text = is_able(checks)
                         ? paint(Tone::kStrong, "able to tune on a GPU") + "\n"
                         : paint(Tone::kStrong, "not able to tune on a GPU here") +
                               "; `fatune sweep --device recorded` replays a recording\n";
  text = paint.fitted(text);
  if (is_quiet(checks)) return text;
  return text + paint.fitted(paint(Tone::kWarn, "NOISY") +
                             ": noise hides small differences; follow the remedies below");
}

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
  const auto add = [&](const Checks& part) {
    checks.insert(checks.end(), part.begin(), part.end());
  };
  add(gpu_checks(seen, host));
  add(compiler_checks(settings, host));
  end_on_interrupt();  // the compiler's folder is removed
  add(machine_checks(settings));
  add(baseline_checks(settings, host));
  add(tool_checks(settings, host));
  return checks;
}

Table gpu_table(const std::vector<ListedDevice>& devices) {
  Table table({"device", "name", "arch", ">SMs", ">memory", ">shared/block", "driver"});
  int ordinal = 0;
  for (const ListedDevice& device : devices) {
    table.add({fmt::format("cuda:{}", ordinal++), device.device_name, name(device.limits.arch),
               fmt::to_string(device.limits.sm_count),
               describe(Bytes(static_cast<std::uint64_t>(device.limits.memory_bytes))),
               describe(Bytes(static_cast<std::uint64_t>(device.limits.max_shared_block))),
               device.driver});
  }
  return table;
}

struct MachineArgs {
  CommonArgs common;
};
OptionTable machine_table(MachineArgs& a) { return common_table(a.common); }

Result<int> devices(const MachineArgs&, const Settings& settings) {
  FATUNE_TRY(const auto devices, list_devices());
  if (settings.json) {
    print(dump_pretty(to_json(DevicesDocument{settings.head, devices})));
    return kDone;
  }
  print(gpu_table(devices).text(settings.paint.columns()));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!devices[i].unfit.empty())
      print(settings.paint.fitted(fmt::format("cuda:{}: {}", i, devices[i].unfit)));
  }
  return kDone;
}

Result<int> doctor(const MachineArgs&, const Settings& settings) {
  const Checks checks = all_checks(settings);
  print(settings.json ? dump_pretty(to_json(DoctorDocument{settings.head, checks}))
                      : checks_text(checks, settings.paint));
  return is_able(checks) ? kDone : kAnswerIsNo;
}

}  // namespace

bool is_able(const Checks& checks) { return none_is(checks, Health::kBad); }
bool is_quiet(const Checks& checks) { return none_is(checks, Health::kNoisy); }

std::string checks_text(const Checks& checks, const Paint& paint) {
  std::string text = conclusion(checks, paint), group;
  for (const Check& check : checks) {
    if (check.group != group) {
      group = check.group;
      text += paint(Tone::kStrong, group) + "\n";
    }
    text += check_text(check, paint);
  }
  return text;
}

void fields(Check& x, FieldList& f) {
  f("group", x.group);
  f("what", x.what);
  f.derived("health", std::string(info(x).word)).one_of("ok, note, noisy, missing");
  f("found", x.found);
  f("remedy", x.remedy).omitted();
}

void fields(DoctorDocument& x, FieldList& f) {
  f.document("fatune.doctor");
  document::head_fields(x.head, f);
  f.derived("able", is_able(x.checks)).about("To tune on a GPU");
  f.derived("quiet", is_quiet(x.checks)).about("Small differences are seen");
  f("checks", x.checks);
}

Runner setup_devices(CLI::App& command) {
  return make_runner(command, machine_table, "fatune devices\nThis example needs a GPU.", devices);
}

Runner setup_doctor(CLI::App& command) {
  return make_runner(
      command, machine_table,
      "fatune doctor\nExit code 1 means that this machine cannot tune; the first lines say why.",
      doctor);
}

}  // namespace fatune::cli
