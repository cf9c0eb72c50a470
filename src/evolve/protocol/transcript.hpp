// transcript.hpp - what was asked of a proposer and what came back, line by line, for resumed and
// repeated runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/append_file.hpp"
#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

/// One request and its answer, or why there was none.
struct TranscriptEntry {
  std::int64_t ask = 0;
  std::string request;  ///< the line that was sent
  std::string answer;   ///< the line that came; where there is a failure, its begin
  std::string failure;
  double seconds = 0;
};
void fields(TranscriptEntry& x, FieldList& f);

/// Of a folder its file of that name, or the packed one where that alone is there; else the path.
std::filesystem::path file_or_packed(const std::filesystem::path& path, const std::string& name);

/// Reads a transcript, plain or .gz, or that of a run's folder; a cut last line is dropped.
Result<std::vector<TranscriptEntry>> load_transcript(const std::filesystem::path& path);

/// Bytes of a transcript or ledger that are read; chosen: hundreds of trials whose requests hold
/// eight kernels of the largest text.
inline constexpr std::size_t kRunOfProposers = std::size_t{2} << 30U;
inline constexpr const char* kTranscriptFile = "transcript.jsonl";

/// FOLDER/transcript.jsonl, of a new run or gone on with.
class TranscriptFile {
 public:
  static Result<TranscriptFile> open(const std::filesystem::path& folder);
  const std::vector<TranscriptEntry>& entries() const { return entries_; }
  Status add(TranscriptEntry entry);

 private:
  std::vector<TranscriptEntry> entries_;
  AppendFile file_;
};

}  // namespace fatune
