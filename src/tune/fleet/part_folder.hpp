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

/// Takes what another host sweeps. Its journal is locked as that of a sweep of this host.
class PartStore {
 public:
  /// Cuts off a line that was never finished.
  static Result<PartStore> open(const std::filesystem::path& folder);
  const std::string& journal() const { return journal_; }  ///< when it was opened
  /// Whole lines that follow in the journal.
  Status append(std::string_view lines);
  /// Written before the last lines of the journal are: who finds these, finds it beside them.
  Status save_best(std::string_view text) const;

 private:
  std::filesystem::path folder_;
  std::string journal_;
  AppendFile file_;
};

}  // namespace fatune
