// journal.hpp - the append-only record of a run: writer, tolerant reader.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/file.hpp"
#include "core/result.hpp"
#include "model/results/environment.hpp"
#include "model/results/plan.hpp"
#include "model/results/record.hpp"

namespace fatune {

struct JournalHeader {
  RunPlan plan;
  Environment environment;
};
void fields(JournalHeader& x, FieldList& f);

struct Journal {
  JournalHeader header;
  std::vector<Record> records;
  bool cut = false;  ///< the last line was incomplete and has been dropped
};

/// Reads a journal, plain or .gz. A cut last line is dropped; any other bad line is an error with
/// its number; a newer schema is an error that says which fatune reads it.
Result<Journal> load_journal(const std::filesystem::path& path);
Result<Journal> parse_journal(std::string_view text, const std::string& where);

/// Appends records to RUN/journal.jsonl, each flushed. Holds an exclusive lock: two sweeps into one
/// folder are refused.
class JournalWriter {
 public:
  /// A new run: the folder must not hold a journal already (the error names --resume).
  static Result<JournalWriter> create(const std::filesystem::path& folder,
                                      const JournalHeader& header);
  /// Continues a run; a cut last line is removed from the file first.
  static Result<JournalWriter> resume(const std::filesystem::path& folder);
  Status append(const Record& record);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  AppendFile file_;
};

}  // namespace fatune
