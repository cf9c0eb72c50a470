// transcript.hpp: Declares the transcript of a proposer's requests and answers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/append_file.hpp"
#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

/// One request and its answer, or the reason for a missing answer.
struct TranscriptEntry {
  std::int64_t ask = 0;
  std::string request;  ///< the line sent
  std::string answer;   ///< the line received; after a failure only its start
  std::string failure;
  double seconds = 0;
};
void fields(TranscriptEntry& x, FieldList& f);

/// Returns a file's path itself; for a folder its file of that name, else the packed file.
std::filesystem::path file_or_packed(const std::filesystem::path& path, const std::string& name);

/// Reads a transcript, plain or .gz, from a file or a run's folder. Drops a cut last line.
Result<std::vector<TranscriptEntry>> load_transcript(const std::filesystem::path& path);

/// Maximum bytes read of a transcript or ledger; chosen: hundreds of trials whose requests hold
/// eight kernels of the largest source.
inline constexpr std::size_t kRunOfProposers = std::size_t{2} << 30U;
inline constexpr const char* kTranscriptFile = "transcript.jsonl";

/// Writes FOLDER/transcript.jsonl of a new or resumed run.
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
