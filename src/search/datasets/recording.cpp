// recording.cpp - finds out what a file is, and has the reader of its format read it.
#include "search/datasets/recording.hpp"

#include <system_error>
#include <utility>

#include "core/file.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/json_pieces.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

enum class Format { kKernelTuner, kT4, kKtt, kJournal };

Error unknown(const std::string& where, const std::string& what) {
  return file_error(where + ": is " + what +
                    "; what can be read are Kernel Tuner caches, T4 results, KTT results and "
                    "fatune journals");
}

/// By the members' names, as far as they have to be read.
Result<Format> recognise(std::string_view text, const std::string& where) {
  JsonPieces pieces(text, where);
  if (pieces.at_end()) return file_error(where + ": is empty");
  if (!pieces.skip('{')) return unknown(where, "no JSON object");
  for (bool more = !pieces.skip('}'); more;) {
    FATUNE_TRY(const std::string name, pieces.name());
    if (name == "cache" || name == "tune_params_keys") return Format::kKernelTuner;
    if (name == "results") return Format::kT4;
    if (name == "Results") return Format::kKtt;
    if (name == "ConfigurationSpace") return unknown(where, "a T1 space, which has no results");
    FATUNE_TRY(const std::string_view value, pieces.value());
    if (name == "schema") {
      if (value.starts_with("\"fatune.journal/")) return Format::kJournal;
      return unknown(where, "of schema " + std::string(value));
    }
    FATUNE_TRY(more, pieces.another('}'));
  }
  return unknown(where, "JSON of another kind");
}

Result<std::vector<Recording>> one(Result<Recording> recording) {
  if (!recording) return std::move(recording).error();
  std::vector<Recording> recordings;
  recordings.push_back(*std::move(recording));
  return recordings;
}

}  // namespace

Result<fs::path> find_results(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  for (const char* file : {"journal.jsonl", "journal.jsonl.gz"}) {
    if (fs::exists(path / file, ignored)) return path / file;
  }
  return file_error(path.string() +
                    ": this folder has no journal.jsonl or journal.jsonl.gz; name a run's folder "
                    "or a file of results");
}

Result<std::vector<Recording>> read_recordings(const fs::path& path) {
  FATUNE_TRY(const fs::path file, find_results(path));
  const std::string where = file.string();
  FATUNE_TRY(std::string text, read_file(file));
  FATUNE_TRY(text, gunzip(text, where));  // gzip under a plain name
  FATUNE_TRY(const Format format, recognise(text, where));
  switch (format) {
    case Format::kKernelTuner:
      return one(read_kernel_tuner(text, where));
    case Format::kT4:
      return one(read_t4(text, where));
    case Format::kKtt:
      return read_ktt(text, where);
    case Format::kJournal:
      break;
  }
  return read_journal(text, where);
}

}  // namespace fatune
