// cmd_doctor.cpp - checks driver, GPUs, compiler, cache and tools; each miss comes with its remedy.
#include "cli/cmd_doctor.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "baseline/availability.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/outside_options.hpp"
#include "cli/quiet.hpp"
#include "cli/settings.hpp"
#include "cli/tools_on_path.hpp"
#include "compile/pool.hpp"
#include "compile/toolchain.hpp"
#include "gpu/device.hpp"
#include "gpu/telemetry.hpp"

namespace fatune::cli {
namespace {

enum class Health { kGood, kNote, kNoisy, kBad };

struct Check {
  Health health = Health::kGood;
  std::string what, found, remedy;
};
using Checks = std::vector<Check>;

std::string_view word(Health health) {
  switch (health) {
    case Health::kGood:
      return "ok";
    case Health::kNote:
      return "note";
    case Health::kNoisy:
      return "noisy";
    case Health::kBad:
      return "missing";
  }
  return "";
}

/// Other work on the GPU, heat and throttling make timings lie.
void check_quiet(const gpu::DeviceFacts& facts, Checks& checks) {
  const std::string what = "cuda:" + std::to_string(facts.ordinal) + " quiet";
  const gpu::Telemetry telemetry = gpu::Telemetry::open(facts.pci_bus_id);
  if (!telemetry.available()) {
    checks.push_back({Health::kNote, what, "unknown: " + telemetry.problem(),
                      "clocks and throttling will not be recorded; NVML comes with the driver"});
    return;
  }
  const GpuWatch watch = watch_gpu(telemetry);
  const std::vector<Noise> noise = gpu_noise(watch);
  for (const Noise& each : noise) checks.push_back({Health::kNoisy, what, each.found, each.remedy});
  if (noise.empty()) {
    checks.push_back(
        {Health::kGood, what, "no other process, no throttling, " + describe(watch), ""});
  }
}

void check_gpus(Checks& checks) {
  auto count = gpu::device_count();
  if (!count) {
    checks.push_back({Health::kBad, "NVIDIA driver", count.error().message,
                      "install the driver of your distribution (nvidia-driver); without it "
                      "--device recorded still works"});
    return;
  }
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    auto facts = gpu::device_facts(ordinal);
    const std::string what = "cuda:" + std::to_string(ordinal);
    if (!facts) {
      checks.push_back(
          {Health::kBad, what, facts.error().message, "see the system's log for the GPU's errors"});
      continue;
    }
    checks.push_back({Health::kGood, what,
                      facts->name + ", sm_" + std::to_string(facts->major) +
                          std::to_string(facts->minor) + ", " +
                          describe(Bytes(static_cast<std::uint64_t>(facts->memory_bytes))) +
                          ", driver " + facts->driver,
                      ""});
    check_quiet(*facts, checks);
  }
}

void check_compiler(const Settings& settings, Checks& checks) {
  PoolOptions options;
  options.jobs = 1;
  options.cache = settings.cache;
  options.search = settings.search;
  auto pool = CompilePool::start(options);
  if (pool) {
    checks.push_back({Health::kGood, "NVRTC", pool->compiler_version(), ""});
  } else {
    checks.push_back({Health::kBad, "NVRTC", pool.error().message,
                      "python3 -m pip install nvidia-cuda-nvrtc, or name it with --nvrtc PATH"});
  }
  const Toolchain toolchain = find_toolchain(settings.search);
  if (toolchain.headers_problem.empty()) {
    checks.push_back(
        {Health::kGood, "CUDA headers", toolchain.include_folders.front().string(), ""});
  } else {
    checks.push_back({Health::kNote, "CUDA headers", toolchain.headers_problem,
                      "only kernels that include mma.h need them"});
  }
}

void check_machine(const Settings& settings, Checks& checks) {
  const unsigned cores = std::thread::hardware_concurrency();
  double load = 0;
  const bool known = getloadavg(&load, 1) == 1;
  if (const auto noise = known ? host_noise(load, cores) : std::nullopt) {
    checks.push_back({Health::kNoisy, "processor", noise->found, noise->remedy});
  } else {
    checks.push_back(
        {Health::kGood, "processor", std::to_string(cores) + " cores to compile with", ""});
  }
  const auto probe = settings.cache / "doctor";
  auto made = make_directories(settings.cache);
  if (made) made = replace_file(probe, "writable\n");
  if (made) {
    std::error_code ignored;
    std::filesystem::remove(probe, ignored);
    checks.push_back({Health::kGood, "cache", settings.cache.string(), ""});
  } else {
    checks.push_back(
        {Health::kNote, "cache", made.error().message, "choose a folder with --cache DIR"});
  }
}

/// Implementations to compare with; none of them is needed to tune.
void check_implementations(const Settings& settings, Checks& checks) {
  for (const Availability& each : availability(outside_options(settings))) {
    const Health health = each.available ? Health::kGood : Health::kNote;
    checks.push_back({health, each.impl, each.found, each.remedy});
  }
}

Checks all_checks(const Settings& settings) {
  Checks checks;
  check_gpus(checks);
  check_compiler(settings, checks);
  check_machine(settings, checks);
  check_implementations(settings, checks);
  for (const OptionalTool& tool : optional_tools()) {
    const auto found = find_tool(tool.name, settings);
    if (found) {
      checks.push_back({Health::kGood, tool.name, found->string(), ""});
    } else {
      checks.push_back({Health::kNote, tool.name, "not found", tool.remedy});
    }
  }
  return checks;
}

bool is_quiet(const Checks& checks) {
  return std::none_of(checks.begin(), checks.end(),
                      [](const Check& check) { return check.health == Health::kNoisy; });
}

Json checks_json(const Checks& checks, bool able) {
  Json rows = Json::array();
  for (const Check& check : checks) {
    rows.push_back({{"what", check.what},
                    {"health", word(check.health)},
                    {"found", check.found},
                    {"remedy", check.remedy}});
  }
  return {
      {"schema", "fatune.doctor/1"}, {"able", able}, {"quiet", is_quiet(checks)}, {"checks", rows}};
}

std::string checks_text(const Checks& checks, bool able) {
  std::string text;
  for (const Check& check : checks) {
    std::string label(word(check.health));
    label.resize(9, ' ');
    text += label + check.what + ": " + check.found + "\n";
    if (!check.remedy.empty()) text += "         -> " + check.remedy + "\n";
  }
  text += able ? "able to tune on a GPU\n" : "not able to tune on a GPU here\n";
  if (is_quiet(checks)) return text;
  return text + "NOISY: small differences will drown; the lines above say what to do\n";
}

int run(const CommonArgs& args) {
  auto settings = resolve(args);
  if (!settings) return fail(settings.error());
  const Checks checks = all_checks(*settings);
  bool able = true;
  for (const Check& check : checks) able = able && check.health != Health::kBad;
  if (settings->json) {
    print_json(checks_json(checks, able));
  } else {
    print(checks_text(checks, able));
  }
  return able ? kDone : kAnswerIsNo;
}

}  // namespace

Runner setup_doctor(CLI::App& command) {
  auto args = std::make_shared<CommonArgs>();
  add_common_options(command, *args);
  add_example(command, "fatune doctor");
  return [args] { return run(*args); };
}

}  // namespace fatune::cli
