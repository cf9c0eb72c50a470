// cache_prune.cpp: Removes the oldest entries of a compilation cache until it is within its limit.
#include <algorithm>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "core/text.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

/// Chosen: the next runs need not prune again.
constexpr double kShareKept = 0.9;

/// The files of one key: an entry, machine code, or both.
struct StoredKey {
  fs::path files;  ///< without their extensions
  fs::file_time_type used = fs::file_time_type::min();
  std::uintmax_t bytes = 0;
};

/// The entries of a shard. Files with other names are not the cache's.
void add_stored(const fs::path& shard, std::vector<StoredKey>& stored) {
  std::map<std::string, StoredKey> found;
  std::error_code failed;
  for (fs::directory_iterator each(shard, failed), end; !failed && each != end;
       each.increment(failed)) {
    const fs::path& file = each->path();
    const std::string key = file.stem().string();
    const bool known = file.extension() == ".json" || file.extension() == ".cubin";
    if (!known || !matches(key, "[0-9a-f]{64}")) continue;
    std::error_code gone;
    const auto bytes = each->file_size(gone);
    const auto used = each->last_write_time(gone);
    if (gone) continue;
    StoredKey& entry = found[key];
    entry.files = shard / key;
    entry.bytes += bytes;
    entry.used = std::max(entry.used, used);
  }
  for (auto& [key, entry] : found) stored.push_back(std::move(entry));
}

}  // namespace

void CubinCache::prune(std::uint64_t limit) const {
  std::vector<StoredKey> stored;
  std::error_code failed;
  for (fs::directory_iterator each(folder_, failed), end; !failed && each != end;
       each.increment(failed)) {
    if (matches(each->path().filename().string(), "[0-9a-f]{2}")) add_stored(each->path(), stored);
  }
  std::uintmax_t bytes = 0;
  for (const StoredKey& entry : stored) bytes += entry.bytes;
  if (bytes <= limit) return;
  std::ranges::sort(stored, {}, &StoredKey::used);
  for (const StoredKey& entry : stored) {
    if (static_cast<double>(bytes) <= kShareKept * static_cast<double>(limit)) return;
    // The entry goes first: without it, machine code is not found.
    for (const char* extension : {".json", ".cubin"})
      fs::remove(fs::path(entry.files) += extension, failed);
    bytes -= entry.bytes;
  }
}

}  // namespace fatune
