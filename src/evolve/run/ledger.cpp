// ledger.cpp: Reads and writes the lines of a ledger.
#include "evolve/run/ledger.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/record_lines.hpp"
#include "evolve/protocol/transcript.hpp"
#include "model/results/document.hpp"

namespace fatune {
namespace {

std::filesystem::path file_of(const std::filesystem::path& path) {
  return file_or_packed(path, kLedgerFile);
}

/// Returns the reason why a line cannot follow the earlier lines; empty if it can.
std::string sequence_error(const LedgerLine& line, const Ledger& ledger) {
  const auto* trial = std::get_if<Trial>(&line);
  if (trial == nullptr) return "";
  if (trial->number != std::ssize(ledger.trials))
    return fmt::format("field 'number' is not {}, of the next trial", ledger.trials.size());
  const std::size_t problems = ledger.header.plan.problems.size();
  if (trial->valid() && trial->shapes.size() != problems)
    return fmt::format("field 'shapes' has {} of the run's {} problems", trial->shapes.size(),
                       problems);
  return "";
}

struct AddLine {
  Ledger& ledger;
  void operator()(LedgerHeader& header) const { ledger.header = std::move(header); }
  void operator()(Trial& trial) const { ledger.trials.push_back(std::move(trial)); }
  void operator()(DuelRecord& duel) const { ledger.duels.push_back(std::move(duel)); }
  void operator()(LedgerEnd& end) const { ledger.complete = end.status == "complete"; }
};

}  // namespace

void fields(Duel& x, FieldList& f) {
  f.record("duel", "The best of a run and its start in the same rounds");
  f("problem", x.problem).required();
  f("time", x.time).about("That is compared");
  f("start_us", x.start_us);
  f("best_us", x.best_us);
  f("speedup", x.speedup).about("Start over best");
  f("reason", x.reason).omitted().about("Why there is no speed-up");
}

void fields(EvolutionPlan& x, FieldList& f) {
  f.record("evolution_plan", "What decides which trials a run makes");
  f("mode", x.mode).required().option("--mode");
  f("trials", x.trials).required().at_least(1).option("--trials");
  f("wanted", x.wanted).at_least(1).option("--wanted");
  f("evaluations", x.evaluations).at_least(1).option("--evaluations");
  f("rounds", x.rounds).at_least(0).option("--rounds");
  f("answer_seconds", x.answer_seconds).at_least(1).option("--proposer-seconds");
  f("seed", x.seed).option("--seed");
  f("kernel", x.kernel).required().option("--kernel");
  f("problems", x.problems).required().filled().option("--shape or --suite");
}

void fields(LedgerHeader& x, FieldList& f) {
  f.record("ledger_header", "The first line: the plan, and where it ran");
  f.document("fatune.evolve_ledger");
  f.tag("t", "header");
  f("recorded", x.recorded).omitted().about("A ledger stood in for a device");
  f("plan", x.plan).required();
  f.as<&device_fields>("device", x.environment).required();
}

void fields(DuelRecord& x, FieldList& f) {
  f.record("duel_record");
  f.tag("t", "duel");
  f("id", x.id).required().about("Of the best");
  f("duel", x.duel).required();
}

void fields(LedgerEnd& x, FieldList& f) {
  f.record("ledger_end");
  f.tag("t", "end");
  f("status", x.status).required().one_of("complete");
}

bool is_evolution(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto file = file_of(path);
  const std::string name = file.filename().string();
  return name.starts_with(kLedgerFile) && std::filesystem::is_regular_file(file, ignored);
}

bool holds_run(const std::filesystem::path& folder) {
  std::error_code none;
  return is_evolution(folder) && std::filesystem::file_size(file_of(folder), none) > 0;
}

Result<Ledger> load_ledger(const std::filesystem::path& path) {
  const auto file = file_of(path);
  FATUNE_TRY(const std::string text, read_file(file, kRunOfProposers));
  Ledger ledger;
  ledger.whole_bytes = text.rfind('\n') + 1;
  bool first = true;
  FATUNE_TRY_STATUS(read_record_lines<LedgerLine>(
      text, file.string(), [&](LedgerLine read, const std::string& place) -> Status {
        if (std::exchange(first, false) != std::holds_alternative<LedgerHeader>(read))
          return file_error(place + ": a ledger begins with its header, and has one");
        if (const std::string problem = sequence_error(read, ledger); !problem.empty())
          return file_error(place + ": " + problem);
        std::visit(AddLine{ledger}, read);
        return {};
      }));
  if (ledger.header.plan.problems.empty()) return file_error(file.string() + ": holds no ledger");
  return ledger;
}

Result<LedgerWriter> LedgerWriter::create(const std::filesystem::path& folder,
                                          const LedgerHeader& header) {
  const auto path = folder / kLedgerFile;
  if (holds_run(folder))
    return usage_error(fmt::format("{} holds a run; go on with it by --resume {}", folder.string(),
                                   folder.string()));
  std::error_code none;
  if (std::filesystem::file_size(folder / kTranscriptFile, none) > 0 && !none)
    return usage_error((folder / kTranscriptFile).string() +
                       " has the answers of another run; choose another --out");
  FATUNE_TRY_STATUS(make_directories(folder));
  LedgerWriter writer;
  FATUNE_TRY(writer.file_, AppendFile::open(path));
  FATUNE_TRY_STATUS(writer.file_.lock_exclusively());
  FATUNE_TRY_STATUS(writer.append(header));
  return writer;
}

Result<LedgerWriter> LedgerWriter::resume(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / kLedgerFile, ignored))
    return file_error((folder / kLedgerFile).string() + ": is not there to go on with");
  LedgerWriter writer;
  FATUNE_TRY(writer.file_, AppendFile::open(folder / kLedgerFile));
  FATUNE_TRY_STATUS(writer.file_.lock_exclusively());
  FATUNE_TRY(const Ledger ledger, load_ledger(folder));
  FATUNE_TRY_STATUS(writer.file_.cut(ledger.whole_bytes));
  return writer;
}

Status LedgerWriter::append(LedgerLine line) { return file_.append_line(dump(to_json(line))); }

}  // namespace fatune
