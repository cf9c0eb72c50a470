// cmd_devices.cpp - lists GPUs as a table or JSON.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/documents.hpp"
#include "cli/commands/setup.hpp"
#include "cli/exit_code.hpp"
#include "cli/options/settings.hpp"
#include "cli/output.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "out/text/table.hpp"
#include "tune/evaluate/device_evaluator.hpp"

namespace fatune::cli {
namespace {

Table gpu_table(const std::vector<Environment>& devices) {
  Table table({{"device"},
               {"name"},
               {"arch"},
               {"SMs", Align::kRight},
               {"memory", Align::kRight},
               {"shared/block", Align::kRight},
               {"driver"}});
  int ordinal = 0;
  for (const Environment& device : devices) {
    table.add({"cuda:" + std::to_string(ordinal++), device.device_name, name(device.limits.arch),
               std::to_string(device.limits.sm_count),
               describe(Bytes(static_cast<std::uint64_t>(device.limits.memory_bytes))),
               describe(Bytes(static_cast<std::uint64_t>(device.limits.max_shared_block))),
               device.driver});
  }
  return table;
}

int run(const CommonArgs& args) {
  auto settings = resolve(args);
  if (!settings) return fail(settings.error());
  auto devices = list_devices();
  if (!devices) return fail(devices.error());
  if (settings->json) {
    print_json(to_json(DevicesDocument{document_head(), *devices}));
    return kDone;
  }
  print(gpu_table(*devices).text());
  return kDone;
}

}  // namespace

Runner setup_devices(CLI::App& command) {
  auto args = std::make_shared<CommonArgs>();
  add_options(command, common_table(*args));
  add_example(command, "fatune devices");
  return [args] { return run(*args); };
}

}  // namespace fatune::cli
