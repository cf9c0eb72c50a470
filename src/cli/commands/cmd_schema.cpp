// cmd_schema.cpp: Prints the JSON Schema of a format from the list of its fields.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/doctor/doctor.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "evolve/protocol/proposal.hpp"
#include "evolve/report.hpp"
#include "evolve/run/ledger.hpp"
#include "judge/referee/judgement.hpp"
#include "model/kernel/manifest.hpp"
#include "model/problem/suite.hpp"
#include "model/results/comparison.hpp"
#include "model/results/journal.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "report/text/report_text.hpp"
#include "search/replay/replay.hpp"
#include "tune/profile/profile.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune::cli {
namespace {

/// Journal line, whose last member is its checksum.
template <typename T>
struct Sealed : T {};

template <typename T>
void fields(Sealed<T>& x, FieldList& f) {
  fields(static_cast<T&>(x), f);
  f.derived("crc", std::string())
      .omitted()
      .looks_like("[0-9a-f]{8}")
      .about("CRC-32 of the line without it");
}

using JournalLine = std::variant<Sealed<JournalHeader>, Sealed<BeginRecord>, Sealed<StartedRecord>,
                                 Sealed<CandidateRecord>, Sealed<FinalRecord>, Sealed<EndRecord>>;

struct WrittenFormat {
  const char* name;  ///< "best.1" for fatune.best/1
  const char* about;
  Json (*schema)(const char* name, const char* about);
};

constexpr WrittenFormat kWritten[] = {
    {"bench.1", "`fatune bench`: contestants measured side by side", schema_of<BenchResult>},
    {"best.1", "RUN/best.json: the best config of each problem of a sweep", schema_of<BestFile>},
    {"compile.1", "`fatune compile --json`", schema_of<CompileDocument>},
    {"devices.1", "`fatune devices --json`: the GPUs that are here", schema_of<DevicesDocument>},
    {"doctor.1", "`fatune doctor --json`: is this machine able and quiet enough",
     schema_of<DoctorDocument>},
    {"error.1", "Instead of the document that --json asked for: what went wrong",
     schema_of<ErrorDocument>},
    {"evolution.1",
     "`fatune evolve --json`, `fatune report --json` of its run: what was tried and found",
     schema_of<EvolutionDocument>},
    {"evolve_ledger.1", "One line of RUN/ledger.jsonl: the header, which is the first, or a record",
     schema_of<LedgerLine>},
    {"evolve_proposal.1", "What a proposer of `fatune evolve` answers, in one line",
     schema_of<Proposal>},
    {"evolve_request.1", "What a proposer of `fatune evolve` is asked, in one line",
     schema_of<ProposalRequest>},
    {"evolve_transcript.1", "One line of RUN/transcript.jsonl: a request and its answer",
     schema_of<TranscriptEntry>},
    {"export.1", "`fatune export --json`: what was written", schema_of<ExportDocument>},
    {"gate.1", "`fatune gate`: a candidate against its baselines, and the decision",
     schema_of<GateResult>},
    {"inspect.1", "`fatune inspect --json`: of a kernel's space, of one config, or of a run",
     schema_of<InspectDocument>},
    {"journal.1", "One line of RUN/journal.jsonl: the header, which is the first, or a record",
     schema_of<JournalLine>},
    {"judgement.1", "`fatune judge`: what became of a submitted kernel", schema_of<JudgedKernel>},
    {"kernel.1", "A manifest: kernels/FAMILY/NAME.json; expressions are text (kernels/README.md)",
     schema_of<Manifest>},
    {"kernels.1", "`fatune kernels --json`: what can be tuned", schema_of<KernelsDocument>},
    {"known.1", "Configs that were best, by problem and kernel, for searches to start from",
     schema_of<KnownFile>},
    {"launch.1", "All that a program must know to launch an exported kernel",
     schema_of<KernelFacts>},
    {"lint.1", "`fatune kernels lint --json`: what is wrong with kernels", schema_of<LintDocument>},
    {"outputs.1", "`fatune verify --outputs --json`: files of a launch's outputs",
     schema_of<OutputsDocument>},
    {"problems.1", "A suite: a named list of problems of attention, for --suite", schema_of<Suite>},
    {"profile.1", "`fatune profile --json`: hardware counters and what they mean",
     schema_of<ProfileDocument>},
    {"replay.1", "`fatune replay --json`: scores of search strategies on recorded data",
     schema_of<ReplayDocument>},
    {"report.1", "`fatune report --json`: all that a run found", schema_of<ReportDocument>},
    {"selftest.1", "`fatune verify --selftest --json`: does each gate catch what it is for",
     schema_of<SelftestDocument>},
    {"space.1", "`fatune kernels space --json`: a space that a T1 file declares",
     schema_of<SpaceDocument>},
    {"suite.1", "suite.json: of each problem the best against its baselines",
     schema_of<SuiteTable>},
    {"verify.1", "`fatune verify --json`: configs on their way through the correctness gates",
     schema_of<VerifyDocument>},
    {"wisdom.1", "index.json of a folder of wisdom: launch facts of its kernels",
     schema_of<WisdomFile>},
};

struct SchemaArgs {
  CommonArgs common;
  std::string name;
};
OptionTable schema_table(SchemaArgs& a) {
  return {{"Format",
           {{"SCHEMA", &a.name, "",
             "Print the schema of this format, such as best; without a name, list the formats"}}}};
}

Result<int> schema(const SchemaArgs& args, const Settings&) {
  if (args.name.empty()) {
    print(join(schema_names(), "\n"));
    return kDone;
  }
  for (const WrittenFormat& each : kWritten) {
    const std::string name = each.name;
    if (args.name == name || args.name == name.substr(0, name.find('.'))) {
      print(dump_pretty(each.schema(each.name, each.about)));
      return kDone;
    }
  }
  return usage_error(
      fmt::format("schema '{}' is unknown; known are {}", args.name, join(schema_names(), ", ")));
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const WrittenFormat& each : kWritten) names.emplace_back(each.name);
  return names;
}

Runner setup_schema(CLI::App& command) {
  return make_runner(command, schema_table, "fatune schema best", schema);
}

}  // namespace fatune::cli
