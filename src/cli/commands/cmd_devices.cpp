// cmd_devices.cpp - lists GPUs as a table or JSON.
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
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
    table.add({fmt::format("cuda:{}", ordinal++), device.device_name, name(device.limits.arch),
               fmt::to_string(device.limits.sm_count),
               describe(Bytes(static_cast<std::uint64_t>(device.limits.memory_bytes))),
               describe(Bytes(static_cast<std::uint64_t>(device.limits.max_shared_block))),
               device.driver});
  }
  return table;
}

struct DevicesArgs {
  CommonArgs common;
};
OptionTable devices_table(DevicesArgs& a) { return common_table(a.common); }

Result<int> devices(const DevicesArgs&, const Settings& settings) {
  FATUNE_TRY(const auto devices, list_devices());
  if (settings.json) {
    print_json(to_json(DevicesDocument{document_head(), devices}));
    return kDone;
  }
  print(gpu_table(devices).text(settings.paint.columns()));
  return kDone;
}

}  // namespace

Runner setup_devices(CLI::App& command) {
  return make_runner(command, devices_table, "fatune devices", devices);
}

}  // namespace fatune::cli
