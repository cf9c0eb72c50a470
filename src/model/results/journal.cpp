// journal.cpp - appends records as lines and reads them back, whatever was cut off.
#include "model/results/journal.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr const char* kFamily = "fatune.journal";
constexpr int kVersion = 1;
constexpr std::string_view kFileName = "journal.jsonl";

/// A journal with the length of the text that it stands for; the rest was cut.
struct Parsed {
  Journal journal;
  std::size_t whole_bytes = 0;
};

Result<JournalHeader> parse_header(std::string_view line, const std::string& where) {
  FATUNE_TRY(const Json object, parse_json(line, where));
  FATUNE_TRY(const std::string schema, Fields(object, where).text("schema"));
  if (schema.starts_with(kFamily)) return from_json<JournalHeader>(object, where);
  return file_error(fmt::format("{}: is not a fatune journal: its schema is '{}', not '{}/{}'",
                                where, schema, kFamily, kVersion));
}

/// Of a text whose first line has no end: a journal's header that was cut, or another file.
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
  return from_json<Record>(object, where);
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

void fields(JournalHeader& x, FieldList& f) {
  f.record("header", "The first line");
  f.document(kFamily, kVersion);
  f("plan", x.plan).required();
  f("environment", x.environment).required();
}

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
  FATUNE_TRY_STATUS(writer.file_.append_line(dump(to_json(header))));
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
