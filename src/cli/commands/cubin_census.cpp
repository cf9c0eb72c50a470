// cubin_census.cpp - finds a disassembler, runs it, shows the counts.
#include "cli/commands/cubin_census.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/commands/tools.hpp"
#include "core/text.hpp"
#include "out/text/table.hpp"
#include "tune/profile/census.hpp"

namespace fatune::cli {

CubinCensus census_of(const std::filesystem::path& cubin, const Settings& settings) {
  std::string failures;
  for (const std::string& name : disassemblers()) {
    const auto tool = find_tool(name, settings);
    if (!tool) continue;
    auto entries = take_census(*tool, cubin);
    if (entries) return {*std::move(entries), "", ""};
    failures += (failures.empty() ? "" : "; ") + entries.error().message;
  }
  if (failures.empty())
    failures = "neither " + join(disassemblers(), " nor ") + " is on PATH or in a CUDA folder";
  return {{}, failures, disassembler_remedy()};
}

std::string census_text(const CubinCensus& census, const Paint& paint) {
  if (census.entries.empty())
    return "no census (not_run): " + census.reason + "\n  - " + census.remedy + "\n";
  std::vector<Column> columns = {{"instructions"}};
  std::vector<std::string> all = {"all"};
  for (const Census& each : census.entries) {
    columns.push_back({each.entry, Align::kRight});
    all.push_back(fmt::to_string(each.instructions));
  }
  Table table(std::move(columns));
  table.add(std::move(all));
  const auto classes = instruction_classes();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<std::string> row = {std::string(classes[i].what)};
    for (const Census& each : census.entries) row.push_back(fmt::to_string(each.counts[i]));
    const bool occurs = std::any_of(row.begin() + 1, row.end(),
                                    [](const std::string& count) { return count != "0"; });
    if (occurs) table.add(std::move(row));
  }
  return table.text(paint.columns());
}

}  // namespace fatune::cli
