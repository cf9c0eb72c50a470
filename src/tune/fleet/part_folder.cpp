// part_folder.cpp - lines from another host to a journal, and a journal to what is known of a part.
#include "tune/fleet/part_folder.hpp"

#include <system_error>

#include "core/file.hpp"
#include "core/text.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune {
namespace {

constexpr const char* kJournal = "journal.jsonl";
constexpr const char* kBest = "best.json";

bool is_there(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

}  // namespace

Result<std::string> journal_so_far(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kJournal;
  if (!is_there(file)) return std::string();
  FATUNE_TRY(std::string text, read_file(file, kLargeFile));
  text.resize(text.rfind('\n') + 1);
  return text;
}

Result<bool> part_has_ended(const std::filesystem::path& folder) {
  if (!is_there(folder / kBest)) return false;
  FATUNE_TRY(const std::string journal, journal_so_far(folder));
  if (journal.empty()) return false;
  FATUNE_TRY(const auto runs, load_shard_runs({folder}));
  return runs.front().complete();
}

Result<AppendFile> lock_parts(const std::filesystem::path& out) {
  FATUNE_TRY_STATUS(make_directories(out / "parts"));
  FATUNE_TRY(AppendFile file, AppendFile::open(out / "parts" / ".lock"));
  if (file.lock_exclusively()) return file;
  return file_error(out.string() +
                    ": another fatune sweeps into this folder; let it end, or choose another "
                    "with --out");
}

Result<PartStore> PartStore::open(const std::filesystem::path& folder) {
  FATUNE_TRY_STATUS(make_directories(folder));
  PartStore store;
  store.folder_ = folder;
  FATUNE_TRY(store.file_, AppendFile::open(folder / kJournal));
  if (!store.file_.lock_exclusively())
    return file_error(folder.string() + ": another sweep is writing into this folder");
  FATUNE_TRY(store.journal_, journal_so_far(folder));
  FATUNE_TRY_STATUS(store.file_.cut(store.journal_.size()));
  return store;
}

Status PartStore::append(std::string_view lines) { return file_.append(lines); }

Status PartStore::end(std::string_view best, std::string_view lines) {
  if (!best.empty()) FATUNE_TRY_STATUS(replace_file(folder_ / kBest, best));
  FATUNE_TRY_STATUS(append(lines));
  return file_.sync();
}

}  // namespace fatune
