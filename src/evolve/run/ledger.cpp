// ledger.cpp: Reads and writes the lines of a run's transcript and ledger.
#include "evolve/run/ledger.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/record_lines.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

std::filesystem::path file_of(const std::filesystem::path& path) {
  return file_or_packed(path, kLedgerFile);
}

/// Adds lines to a ledger, and refuses a line that cannot follow the earlier ones.
struct TakeLine {
  Ledger& ledger;

  Status operator()(LedgerLine line, const std::string& place) const {
    if (ledger.begun() == std::holds_alternative<LedgerHeader>(line))
      return file_error(place + ": a ledger begins with its header, and has one");
    return std::visit([&](auto& part) { return take(part, place); }, line);
  }

 private:
  Status take(LedgerHeader& header, const std::string&) const {
    ledger.header = std::move(header);
    return {};
  }
  Status take(Trial& trial, const std::string& place) const {
    const std::size_t problems = ledger.header.plan.problems.size();
    if (trial.number != std::ssize(ledger.trials)) {
      return file_error(fmt::format("{}: field 'number' is not {}, of the next trial", place,
                                    ledger.trials.size()));
    }
    if (trial.valid() && trial.shapes.size() != problems) {
      return file_error(fmt::format("{}: field 'shapes' has {} of the run's {} problems", place,
                                    trial.shapes.size(), problems));
    }
    ledger.trials.push_back(std::move(trial));
    return {};
  }
  Status take(DuelRecord& duel, const std::string&) const {
    ledger.duels.push_back(std::move(duel));
    return {};
  }
  Status take(LedgerEnd& end, const std::string&) const {
    ledger.complete = end.status == "complete";
    return {};
  }
};

/// Adds entries to a transcript.
auto take_entry(std::vector<TranscriptEntry>& entries) {
  return [&entries](TranscriptEntry entry, const std::string&) {
    entries.push_back(std::move(entry));
    return Status();
  };
}

}  // namespace

void fields(TranscriptEntry& x, FieldList& f) {
  f.record("evolve_transcript", "A request to a proposer and its answer");
  f.document("fatune.evolve_transcript");
  f("ask", x.ask).required().at_least(0);
  f("request", x.request).required().about("The line that was sent, as text");
  f("answer", x.answer).omitted().about("The line that came, as text; of a broken one its begin");
  f("failure", x.failure).omitted().about("Why none came, or what is wrong with it");
  f("seconds", x.seconds).finite().about("Until the answer was there");
}

std::filesystem::path file_or_packed(const std::filesystem::path& path, const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  const std::filesystem::path plain = path / name, packed = path / (name + ".gz");
  const bool only_packed =
      !std::filesystem::exists(plain, ignored) && std::filesystem::exists(packed, ignored);
  return only_packed ? packed : plain;
}

Result<std::vector<TranscriptEntry>> load_transcript(const std::filesystem::path& path) {
  const auto file = file_or_packed(path, kTranscriptFile);
  FATUNE_TRY(const std::string text, read_file(file, kRunOfProposers));
  std::vector<TranscriptEntry> entries;
  FATUNE_TRY_STATUS(read_record_lines<TranscriptEntry>(text, file.string(), take_entry(entries)));
  return entries;
}

Result<TranscriptFile> TranscriptFile::open(const std::filesystem::path& folder) {
  TranscriptFile transcript;
  FATUNE_TRY(transcript.file_,
             open_record_lines<TranscriptEntry>(folder / kTranscriptFile, kRunOfProposers,
                                                take_entry(transcript.entries_)));
  return transcript;
}

Status TranscriptFile::add(TranscriptEntry entry) {
  FATUNE_TRY_STATUS(file_.append_line(dump(to_json(entry))));
  entries_.push_back(std::move(entry));
  return {};
}

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
  FATUNE_TRY_STATUS(read_record_lines<LedgerLine>(text, file.string(), TakeLine{ledger}));
  if (!ledger.begun()) return file_error(file.string() + ": holds no ledger");
  return ledger;
}

Result<LedgerWriter> LedgerWriter::create(const std::filesystem::path& folder,
                                          const LedgerHeader& header) {
  const auto path = folder / kLedgerFile;
  if (holds_run(folder))
    return usage_error(fmt::format("{} holds a run; go on with it by --resume {}", folder.string(),
                                   shell_word(folder.string())));
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

Result<LedgerWriter> LedgerWriter::resume(const std::filesystem::path& folder, Ledger& known) {
  const auto path = folder / kLedgerFile;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return file_error(path.string() + ": is not there to go on with");
  LedgerWriter writer;
  FATUNE_TRY(writer.file_, open_record_lines<LedgerLine>(path, kRunOfProposers, TakeLine{known}));
  if (!known.begun()) return file_error(path.string() + ": holds no ledger");
  return writer;
}

Status LedgerWriter::append(LedgerLine line) { return file_.append_line(dump(to_json(line))); }

}  // namespace fatune
