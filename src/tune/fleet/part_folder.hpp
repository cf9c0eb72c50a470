// part_folder.hpp - the folder that keeps a part's run, whoever sweeps it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/append_file.hpp"
#include "core/result.hpp"

namespace fatune {

/// The whole lines of a part's journal; empty where there is no such file, or no whole line in it.
Result<std::string> journal_so_far(const std::filesystem::path& folder);
/// Its run came to its end, and all of it is there.
Result<bool> part_has_ended(const std::filesystem::path& folder);

/// Of the parts in OUT/parts, which it makes: keeps every other fatune that deals parts out of the
/// run's folder until it closes. The parts' processes do not inherit it.
Result<AppendFile> lock_parts(const std::filesystem::path& out);

/// Takes what another host sweeps. Its journal is locked as that of a sweep of this host. Lines are
/// the kernel's at once, so that no end of this process loses them, and the disk's at the part's
/// end: of a thousand journals each would wait for the disk every second.
class PartStore {
 public:
  /// Cuts off a line that was never finished.
  static Result<PartStore> open(const std::filesystem::path& folder);
  const std::string& journal() const { return journal_; }  ///< when it was opened
  /// Whole lines that follow in the journal.
  Status append(std::string_view lines);
  /// The last lines, and best.json before them: who finds the journal's end finds it beside it.
  Status end(std::string_view best, std::string_view lines);

 private:
  std::filesystem::path folder_;
  std::string journal_;
  AppendFile file_;
};

}  // namespace fatune
