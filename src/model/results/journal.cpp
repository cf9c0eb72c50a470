// journal.cpp - appends records as lines and reads them back, whatever was cut off.
#include "model/results/journal.hpp"

#include <algorithm>
#include <system_error>

#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::string_view kFamily = "fatune.journal/";
constexpr std::string_view kFileName = "journal.jsonl";

/// A journal with the length of the text that it stands for; the rest was cut.
struct Parsed {
  Journal journal;
  std::size_t whole_bytes = 0;
};

Status check_schema(const std::string& schema, const std::string& where) {
  if (schema == kJournalSchema) return {};
  if (schema.starts_with(kFamily)) {
    return file_error(where + ": is a " + schema + ", written by a newer fatune; this one reads " +
                      std::string(kJournalSchema) + ". Update fatune to read it");
  }
  return file_error(where + ": is not a fatune journal: its schema is '" + schema + "', not '" +
                    std::string(kJournalSchema) + "'");
}

Result<JournalHeader> parse_header(std::string_view line, const std::string& where) {
  FATUNE_TRY(const Json object, parse_json(line, where));
  const Fields fields(object, where);
  FATUNE_TRY(const std::string schema, fields.text("schema"));
  FATUNE_TRY_STATUS(check_schema(schema, where));
  JournalHeader header;
  FATUNE_TRY(const Json* plan, fields.value("plan"));
  FATUNE_TRY(header.plan, plan_from_json(*plan, where + ": plan"));
  FATUNE_TRY(const Json* environment, fields.value("environment"));
  FATUNE_TRY(header.environment, environment_from_json(*environment, where + ": environment"));
  return header;
}

/// Of a text whose first line has no end: a journal's header that was cut, or another file.
Error headless(std::string_view line, const std::string& where) {
  const std::string begin = R"({"schema":")" + std::string(kFamily);
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
  return record_from_json(object, where);
}

Result<Parsed> parse(std::string_view text, const std::string& where) {
  Parsed parsed;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos && number > 0) break;
    const std::string_view line = text.substr(begin, end - begin);
    const std::string line_where = where + ": line " + std::to_string(++number);
    if (end == std::string_view::npos) return headless(line, line_where);
    if (number == 1) {
      FATUNE_TRY(parsed.journal.header, parse_header(line, line_where));
    } else {
      FATUNE_TRY(Record record, parse_record(line, line_where));
      parsed.journal.records.push_back(std::move(record));
    }
    begin = end + 1;
    parsed.whole_bytes = begin;
  }
  if (number == 0) return file_error(where + ": is empty, not a fatune journal");
  parsed.journal.cut = parsed.whole_bytes < text.size();
  return parsed;
}

/// Opens the journal of a folder for appending and keeps other sweeps out of it.
Result<AppendFile> open_locked(const std::filesystem::path& path) {
  FATUNE_TRY(AppendFile file, AppendFile::open(path));
  if (auto locked = file.lock_exclusively(); !locked) {
    return file_error(path.parent_path().string() +
                      ": another sweep is writing into this folder; choose another with --out");
  }
  return file;
}

}  // namespace

Result<Journal> parse_journal(std::string_view text, const std::string& where) {
  FATUNE_TRY(Parsed parsed, parse(text, where));
  return std::move(parsed.journal);
}

Result<Journal> load_journal(const std::filesystem::path& path) {
  FATUNE_TRY(const std::string text, read_file(path));
  return parse_journal(text, path.string());
}

Result<JournalWriter> JournalWriter::create(const std::filesystem::path& folder,
                                            const JournalHeader& header) {
  FATUNE_TRY_STATUS(make_directories(folder));
  JournalWriter writer;
  writer.path_ = folder / kFileName;
  FATUNE_TRY(writer.file_, open_locked(writer.path_));
  std::error_code failed;
  const auto size = std::filesystem::file_size(writer.path_, failed);
  if (!failed && size > 0) {
    return file_error(folder.string() + ": holds a journal already; continue it with --resume " +
                      shell_word(folder.string()) + ", or choose another folder with --out");
  }
  const Json line = {{"schema", kJournalSchema},
                     {"plan", to_json(header.plan)},
                     {"environment", to_json(header.environment)}};
  FATUNE_TRY_STATUS(writer.file_.append_line(dump(line)));
  return writer;
}

Result<JournalWriter> JournalWriter::resume(const std::filesystem::path& folder) {
  JournalWriter writer;
  writer.path_ = folder / kFileName;
  std::error_code failed;
  if (!std::filesystem::is_regular_file(writer.path_, failed)) {
    return file_error("--resume: " + writer.path_.string() +
                      " is not there; start a new run with --out " + shell_word(folder.string()));
  }
  FATUNE_TRY(writer.file_, open_locked(writer.path_));
  FATUNE_TRY(const std::string text, read_file(writer.path_));
  FATUNE_TRY(const Parsed parsed, parse(text, writer.path_.string()));
  if (parsed.journal.cut) {
    std::filesystem::resize_file(writer.path_, parsed.whole_bytes, failed);
    if (failed) {
      return file_error(writer.path_.string() +
                        ": cannot remove its cut last line: " + failed.message());
    }
  }
  return writer;
}

Status JournalWriter::append(const Record& record) {
  return file_.append_line(dump(to_json(record)));
}

}  // namespace fatune
