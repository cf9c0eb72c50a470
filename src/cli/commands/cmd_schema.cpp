// cmd_schema.cpp - names of formats to their JSON Schemas, made of the lists of their fields.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/results/journal.hpp"
#include "model/wisdom/wisdom_index.hpp"
#include "tune/sweep/bench.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune::cli {
namespace {

using JournalLine =
    std::variant<JournalHeader, StartedRecord, CandidateRecord, FinalRecord, EndRecord>;

struct WrittenFormat {
  const char* name;  ///< "best.1": of fatune.best/1
  const char* about;
  Json (*schema)(const char* name, const char* about);
};

constexpr WrittenFormat kWritten[] = {
    {"bench.1", "What `fatune bench` measured side by side", schema_of<BenchResult>},
    {"best.1", "RUN/best.json: the best config of a problem, or of each problem of a suite",
     schema_of<BestFile>},
    {"journal.1", "One line of RUN/journal.jsonl: the header, which is the first, or a record",
     schema_of<JournalLine>},
    {"known.1", "Configs that were best, by problem and kernel, for searches to start from",
     schema_of<KnownFile>},
    {"launch.1", "All that a program must know to launch an exported kernel",
     schema_of<KernelFacts>},
    {"wisdom.1", "index.json of a folder of wisdom: launch facts of its kernels",
     schema_of<WisdomFile>},
};

struct SchemaArgs {
  CommonArgs common;
  std::string name;
};
OptionTable schema_table(SchemaArgs& a) {
  return {{"Format", {{"NAME", &a.name, "", "A format, say best; none: list them"}}}};
}

Result<int> schema(const SchemaArgs& args, const Settings&) {
  std::vector<std::string> known;
  for (const WrittenFormat& each : kWritten) {
    const std::string name = each.name;
    if (args.name.empty()) print(name);
    if (args.name == name || args.name == name.substr(0, name.find('.'))) {
      print_json(each.schema(each.name, each.about));
      return kDone;
    }
    known.push_back(name);
  }
  if (args.name.empty()) return kDone;
  return usage_error(
      fmt::format("schema '{}' is unknown; known are {}", args.name, join(known, ", ")));
}

}  // namespace

Runner setup_schema(CLI::App& command) {
  return make_runner(command, schema_table, "fatune schema best", schema);
}

}  // namespace fatune::cli
