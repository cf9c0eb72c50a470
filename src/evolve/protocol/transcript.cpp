// transcript.cpp: Reads and writes the lines of a transcript.
#include "evolve/protocol/transcript.hpp"

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/record_lines.hpp"

namespace fatune {
namespace {

Result<std::vector<TranscriptEntry>> parse_transcript(const std::string& text,
                                                      const std::string& where) {
  std::vector<TranscriptEntry> entries;
  FATUNE_TRY_STATUS(read_record_lines<TranscriptEntry>(
      text, where, [&](TranscriptEntry entry, const std::string&) {
        entries.push_back(std::move(entry));
        return Status();
      }));
  return entries;
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
  return parse_transcript(text, file.string());
}

Result<TranscriptFile> TranscriptFile::open(const std::filesystem::path& folder) {
  TranscriptFile transcript;
  const auto path = folder / kTranscriptFile;
  FATUNE_TRY(transcript.file_, AppendFile::open(path));
  FATUNE_TRY_STATUS(transcript.file_.lock_exclusively());
  FATUNE_TRY(const std::string text, read_file(path, kRunOfProposers));
  FATUNE_TRY(transcript.entries_, parse_transcript(text, path.string()));
  FATUNE_TRY_STATUS(transcript.file_.cut(text.rfind('\n') + 1));
  return transcript;
}

Status TranscriptFile::add(TranscriptEntry entry) {
  FATUNE_TRY_STATUS(file_.append_line(dump(to_json(entry))));
  entries_.push_back(std::move(entry));
  return {};
}

}  // namespace fatune
