// journal.cpp: Appends records as lines, and reads them back even if the file is cut.
#include "model/results/journal.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr const char* kFamily = "fatune.journal";
constexpr std::string_view kFileName = "journal.jsonl";
/// Limit in bytes of text and records together; chosen. The memory of fatune's 1 kB lines is 2.4
/// times their text.
constexpr std::size_t kMostMemory = std::size_t{1536} << 20U;
constexpr std::uint64_t kSearched = kJournalFile / 16 * 15;  ///< the rest is for final phases

/// A journal with the number of text bytes it was parsed from; the remainder was cut off.
struct Parsed {
  Journal journal;
  std::size_t whole_bytes = 0;
};

constexpr std::string_view kSeal = R"(,"crc":")";
constexpr std::size_t kSealBytes = kSeal.size() + 8 + 2;  // eight digits, a quote, a brace

/// Appends the CRC-32 of an object's text to it as the last member.
std::string sealed(std::string line) {
  const std::string crc = crc32_hex(line);
  line.pop_back();
  return fmt::format("{}{}{}\"}}", line, kSeal, crc);
}

/// Lines without a crc pass: old journals have none, and an edited line may drop it.
Status check_seal(std::string_view line, const std::string& where) {
  line = trim(line);
  const std::size_t whole = line.size() < kSealBytes ? 0 : line.size() - kSealBytes;
  if (whole == 0 || line.substr(whole, kSeal.size()) != kSeal) return {};
  if (crc32_hex(std::string(line.substr(0, whole)) + "}") == line.substr(line.size() - 10, 8))
    return {};
  return file_error(where +
                    ": was changed after it was written: its crc is that of another text. If you "
                    "edited it, take the crc out");
}

Result<JournalHeader> parse_header(std::string_view line, const std::string& where) {
  FATUNE_TRY(const Json object, parse_json(line, where));
  FATUNE_TRY(const std::string schema, Fields(object, where).text("schema"));
  if (!schema.starts_with(kFamily)) {
    return file_error(fmt::format("{}: is not a fatune journal: its schema is '{}', not '{}/1'",
                                  where, schema, kFamily));
  }
  FATUNE_TRY(JournalHeader header, read_value<JournalHeader>(object, where));
  FATUNE_TRY_STATUS(check_seal(line, where));
  return header;
}

/// Returns the error for a text whose first line has no end: a cut header, or another file.
Error headless(std::string_view line, const std::string& where) {
  const std::string begin = fmt::format(R"({{"schema":"{}/)", kFamily);
  const std::size_t shared = std::min(line.size(), begin.size());
  if (line.substr(0, shared) != begin.substr(0, shared)) {
    return file_error(where + ": is not a fatune journal, whose first line begins with " + begin);
  }
  return file_error(where +
                    ": the header is cut off, so nothing was measured yet; remove the file and "
                    "start again");
}

Result<Record> parse_record(std::string_view line, const std::string& where) {
  FATUNE_TRY(const Json object, parse_json(line, where));
  FATUNE_TRY_STATUS(check_seal(line, where));
  return read_value<Record>(object, where);
}

Status add_record(std::string_view line, const std::string& where, Damage damage,
                  Journal& journal) {
  auto record = parse_record(line, where);
  if (record) {
    journal.records.push_back(*std::move(record));
    return {};
  }
  if (damage == Damage::kLeaveOut) {
    journal.left_out.push_back(record.error());
    return {};
  }
  Error error = std::move(record).error();
  error.message += "; `fatune report --salvage` reads the lines around it";
  return error;
}

Result<Parsed> parse(std::string_view text, const std::string& where, Damage damage) {
  Parsed parsed;
  const std::size_t lines = occurrences(text, '\n');
  if (text.size() + lines * sizeof(Record) > kMostMemory) {
    return file_error(fmt::format("{}: {} lines would take more than {} of memory", where, lines,
                                  describe(Bytes(kMostMemory))));
  }
  parsed.journal.records.reserve(lines);  // growing would copy the records
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos && number > 0) break;
    const std::string_view line = text.substr(begin, end - begin);
    const std::string line_where = fmt::format("{}: line {}", where, ++number);
    FATUNE_TRY_STATUS(check_size(line, kUsualFile, line_where));
    if (end == std::string_view::npos) return headless(line, line_where);
    if (number == 1) {
      FATUNE_TRY(parsed.journal.header, parse_header(line, line_where));
    } else {
      FATUNE_TRY_STATUS(add_record(line, line_where, damage, parsed.journal));
    }
    begin = end + 1;
    parsed.whole_bytes = begin;
  }
  if (number == 0) return file_error(where + ": is empty, not a fatune journal");
  parsed.journal.cut = parsed.whole_bytes < text.size();
  return parsed;
}

/// Opens the journal of a folder for appending and locks out other sweeps.
Result<AppendFile> open_locked(const std::filesystem::path& path) {
  FATUNE_TRY(AppendFile file, AppendFile::open(path));
  if (auto locked = file.lock_exclusively(); !locked) {
    return file_error(path.parent_path().string() +
                      ": another sweep is writing into this folder; choose another with --out");
  }
  return file;
}

std::string describe_problems(const RunPlan& plan) {
  std::vector<std::string> texts;
  for (const NamedProblem& named : plan.problems) texts.push_back(describe(named.problem));
  return join(texts, "; ");
}

std::string describe_budget(const RunPlan& plan) {
  std::string text = plan.budget_evaluations == 0
                         ? "unlimited evaluations"
                         : fmt::format("{} evaluations", plan.budget_evaluations);
  if (plan.patience > 0)
    text += fmt::format(", ending after {} without a faster one", plan.patience);
  if (plan.budget_seconds) text += ", " + describe(Seconds(*plan.budget_seconds));
  return text;
}

std::string changed_kernel(const RunPlan& recorded, const RunPlan& resumed) {
  const std::size_t known = std::min(recorded.kernel_hashes.size(), resumed.kernel_hashes.size());
  for (std::size_t i = 0; i < known && i < recorded.kernels.size(); ++i) {
    if (recorded.kernel_hashes[i] != resumed.kernel_hashes[i]) return recorded.kernels[i];
  }
  return "";
}

/// Folders in this folder that have a journal, in alphabetical order.
std::vector<std::string> runs_in(const std::filesystem::path& folder) {
  std::vector<std::string> runs;
  std::error_code ignored;
  for (const std::filesystem::directory_entry& each :
       std::filesystem::directory_iterator(folder, ignored)) {
    if (each.is_directory(ignored) && find_results(each.path()))
      runs.push_back(each.path().filename().string());
  }
  std::ranges::sort(runs);
  return runs;
}

}  // namespace

void fields(RunPlan& x, FieldList& f) {
  f("problems", x.problems).option("the problem");
  f("kernels", x.kernels).option("--kernel");
  f("kernel_hashes", x.kernel_hashes).looks_like("[0-9a-f]{64}").about("Of their text and headers");
  f("strategy", x.strategy).required().option("--strategy");
  f("objective", x.objective).required().option("--objective");
  f("seed", x.seed).required().option("--seed");
  f("budget_evaluations", x.budget_evaluations).required().option("--budget");
  f("one_lever", x.one_lever).omitted().option("--one-lever");
  f("budget_seconds", x.budget_seconds).finite().positive().option("--budget");
  f("patience", x.patience).omitted().option("--budget").about("Candidates without a faster one");
  f("skip_correctness", x.skip_correctness).option("--skip-correctness");
  f("record_cold", x.record_cold).option("cold timing of every candidate");
  f("baselines", x.baselines).omitted().option("--baselines");
  f("warm_starts", x.warm_starts).omitted().incidental();
  f("shard", x.shard).option("--shard");
  f("command", x.command).incidental();
  f.rule("shard", [&x] {
    if (!x.shard) return std::string();
    const auto& places = x.shard->problems;
    const auto twice = std::ranges::adjacent_find(places, std::ranges::greater_equal());
    const bool held = twice == places.end() && places.back() < x.problems.size();
    return std::string(held ? "" : "names problems that the plan does not have");
  });
}

std::vector<NamedProblem> shard_problems(const RunPlan& plan) {
  if (!plan.shard) return plan.problems;
  std::vector<NamedProblem> problems;
  for (const std::uint64_t place : plan.shard->problems) problems.push_back(plan.problems[place]);
  return problems;
}

std::string plan_hash(RunPlan plan) {
  plan.shard.reset();
  plan.command.clear();
  return sha256_hex(dump(to_json(plan)));
}

std::string difference(const RunPlan& recorded, const RunPlan& resumed, PlanPlaces places) {
  RunPlan before = recorded;
  RunPlan now = resumed;
  for (RunPlan* plan : {&before, &now}) {
    for (NamedProblem& named : plan->problems) named.name.clear();
    // A shard dealt in this call has no plan hash yet.
    if (plan->shard) plan->shard = Shard{.number = plan->shard->number, .of = plan->shard->of};
    // A plan without kernel hashes yet does not differ in them.
    plan->kernel_hashes.resize(std::min(before.kernel_hashes.size(), now.kernel_hashes.size()));
  }
  auto found = difference<RunPlan>(before, now);
  if (!found) return "";
  if (found->key == "kernel_hashes") {
    return fmt::format("the template text of kernel {} is not the one {}",
                       changed_kernel(before, now), places.before);
  }
  if (found->key == "problems") {
    found->before = describe_problems(before);
    found->now = describe_problems(now);
  } else if (found->key == "shard") {
    found->before = before.shard ? describe(*before.shard) : "none";
    found->now = now.shard ? describe(*now.shard) : "none";
  } else if (found->option == "--budget") {
    found->before = describe_budget(before);
    found->now = describe_budget(now);
  }
  return fmt::format("{} is '{}' {} and '{}' {}", found->option, found->before, places.before,
                     found->now, places.now);
}

void fields(JournalHeader& x, FieldList& f) {
  f.record("header", "The first line");
  f.document(kFamily, {.spells_one = [](const Json& header) {
               return header.contains(Json::json_pointer("/environment/device_name"));
             }});
  f("plan", x.plan).required();
  f("environment", x.environment).required();
  f("merged", x.merged).omitted();
  f("helpers", x.helpers).omitted().about("Other devices that measured candidates of its searches");
}

Result<Journal> parse_journal(std::string_view text, const std::string& where, Damage damage) {
  FATUNE_TRY(Parsed parsed, parse(text, where, damage));
  return std::move(parsed.journal);
}

Result<Journal> load_journal(const std::filesystem::path& path, Damage damage) {
  FATUNE_TRY(const std::string text, read_file(path, kJournalFile));
  FATUNE_TRY(Journal journal, parse_journal(text, path.string(), damage));
  if (!journal.left_out.empty()) {
    log::warn(fmt::format(
        "{} of {} lines are damaged and left out, the first: {}", journal.left_out.size(),
        journal.left_out.size() + journal.records.size() + 1, journal.left_out.front().message));
  }
  return journal;
}

Result<std::filesystem::path> find_results(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool names_best = path.filename() == "best.json";
  if (!names_best && !std::filesystem::is_directory(path, ignored)) return path;
  const std::filesystem::path folder = names_best ? path.parent_path() : path;
  for (const char* file : {"journal.jsonl", "journal.jsonl.gz"}) {
    if (std::filesystem::is_regular_file(folder / file, ignored)) return folder / file;
  }
  if (names_best)
    return file_error(path.string() + ": has no journal.jsonl beside it, which holds the results");
  const std::string runs = join(runs_in(path), ", ");
  return file_error(path.string() +
                    ": this folder has no journal.jsonl or journal.jsonl.gz; name a run's folder " +
                    (runs.empty() ? "or a file of results" : "in it: " + runs));
}

Status check_no_journal(const std::filesystem::path& folder) {
  std::error_code none;
  const auto size = std::filesystem::file_size(folder / kFileName, none);
  if (none || size == 0) return {};
  return file_error(folder.string() + ": holds a journal already; `fatune resume " +
                    shell_word(folder.string()) +
                    "` continues it, and --out chooses another folder");
}

Result<JournalWriter> JournalWriter::create(const std::filesystem::path& folder,
                                            const JournalHeader& header) {
  FATUNE_TRY_STATUS(make_directories(folder));
  JournalWriter writer;
  writer.path_ = folder / kFileName;
  FATUNE_TRY(writer.file_, open_locked(writer.path_));
  FATUNE_TRY_STATUS(check_no_journal(folder));
  FATUNE_TRY_STATUS(writer.file_.append_line(sealed(dump(to_json(header)))));
  return writer;
}

Result<JournalWriter> JournalWriter::resume(const std::filesystem::path& folder) {
  JournalWriter writer;
  writer.path_ = folder / kFileName;
  std::error_code failed;
  if (!std::filesystem::is_regular_file(writer.path_, failed)) {
    return file_error("resume: " + writer.path_.string() +
                      " is not there; start a new run with --out " + shell_word(folder.string()));
  }
  FATUNE_TRY(writer.file_, open_locked(writer.path_));
  FATUNE_TRY(const std::string text, read_file(writer.path_, kJournalFile));
  FATUNE_TRY(const Parsed parsed, parse(text, writer.path_.string(), Damage::kRefuse));
  if (parsed.journal.cut) {
    // The file may begin with a byte-order mark, which the text has no more.
    FATUNE_TRY(const std::uint64_t bytes, writer.file_.size());
    FATUNE_TRY_STATUS(writer.file_.cut(bytes - (text.size() - parsed.whole_bytes)));
  }
  return writer;
}

Status JournalWriter::append(const Record& record) {
  const bool started = std::holds_alternative<StartedRecord>(record);
  const std::string line = sealed(dump(to_json(record)));
  FATUNE_TRY(const std::uint64_t size, file_.size());
  if (size + line.size() >= kJournalFile) {
    return file_error(fmt::format(
        "{}: would hold more than {}, the most that is read; sweep the other problems in another "
        "folder (--out)",
        path_.string(), describe(Bytes(kJournalFile))));
  }
  if (size > kSearched && !std::exchange(is_nearly_full_, true))
    log::warn(fmt::format("{}: holds {} of the {} that are read; searches end here", path_.string(),
                          describe(Bytes(size)), describe(Bytes(kJournalFile))));
  if (started && !last_started_) last_started_ = size;
  has_grown_ = true;
  Status appended = file_.append_line(line);
  if (!appended && last_started_) static_cast<void>(file_.cut(*last_started_));
  if (!started) last_started_.reset();
  // Only an end record is synced to the disk: no record follows it.
  return appended && std::holds_alternative<EndRecord>(record) ? file_.sync() : appended;
}

}  // namespace fatune
