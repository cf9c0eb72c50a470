// part_folder.cpp - lines from another host to a journal, and a journal to what is known of a part.
#include "tune/fleet/part_folder.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

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
  FATUNE_TRY(const std::string journal, journal_so_far(folder));
  if (journal.empty() || !is_there(folder / kBest)) return false;
  FATUNE_TRY(const auto runs, load_shard_runs({folder}));
  return runs.front().complete();
}

Result<PartStore> PartStore::open(const std::filesystem::path& folder) {
  FATUNE_TRY_STATUS(make_directories(folder));
  PartStore store;
  store.folder_ = folder;
  const std::filesystem::path path = folder / kJournal;
  store.file_ = open_file(path, O_WRONLY | O_CREAT | O_APPEND);
  if (!store.file_.open()) return system_failure(path, "open for appending", errno);
  if (::flock(store.file_.raw(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return file_error(folder.string() + ": another sweep is writing into this folder");
  FATUNE_TRY(store.journal_, journal_so_far(folder));
  const auto size = static_cast<off_t>(store.journal_.size());
  if (uninterrupted([&] { return ::ftruncate(store.file_.raw(), size); }) != 0)
    return system_failure(path, "cut", errno);
  return store;
}

Status PartStore::append(std::string_view lines) {
  const int reason = write_all(file_, lines);
  if (reason != 0) return system_failure(folder_ / kJournal, "append", reason);
  return {};
}

Status PartStore::end(std::string_view best, std::string_view lines) {
  if (!best.empty()) FATUNE_TRY_STATUS(replace_file(folder_ / kBest, best));
  FATUNE_TRY_STATUS(append(lines));
  if (uninterrupted([&] { return ::fdatasync(file_.raw()); }) != 0 && errno != EINVAL)
    return system_failure(folder_ / kJournal, "append", errno);
  return {};
}

}  // namespace fatune
