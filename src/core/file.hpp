// file.hpp: Reads and replaces files; errors have the path and the system's reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"
#include "core/result.hpp"

namespace fatune {

/// Limits of a file's size, packed or not, to protect the machine's memory; chosen.
inline constexpr std::size_t kUsualFile = std::size_t{16} << 20U;
inline constexpr std::size_t kLargeFile = std::size_t{128} << 20U;    ///< documents of results
inline constexpr std::size_t kJournalFile = std::size_t{512} << 20U;  ///< 260,000 candidates
/// Fails for a larger text, because parsing needs several times its size.
Status check_size(std::string_view text, std::size_t limit, const std::string& where);
/// Reads the whole file without a byte-order mark; a path ending in .gz is decompressed. A FIFO
/// silent for 30 s is an error, and so is a FIFO or device beside a journal: nobody writes to it.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = kUsualFile);
/// Reads a file that the user did not name. Links are followed; a FIFO or device is refused.
Result<std::string> read_found_file(const std::filesystem::path& path,
                                    std::size_t limit = kUsualFile);
/// Reads a file of fatune's own. Neither a link nor a FIFO or device in its place is read.
Result<std::string> read_own_file(const std::filesystem::path& path,
                                  std::size_t limit = kUsualFile);
/// Writes a new file and renames it, so that readers see the old or the new content. A path ending
/// in .gz is compressed. Symbolic links are followed and permissions are kept. A path that is no
/// regular file, such as /dev/stdout, is written in place. Files that killed writers left are
/// removed. A link beside a journal is replaced: somebody else may have filled the folder.
Status replace_file(const std::filesystem::path& path, std::string_view content);

/// Permissions of what is made anew.
enum class Access {
  kUsual,    ///< as the umask allows
  kPrivate,  ///< this user alone, whatever the umask
};
/// Replaces a file that fatune names itself, and makes its folders. No link below `folder` is
/// followed: a link in place of a folder fails, and a link in place of the file is replaced.
Status write_below(const std::filesystem::path& folder, const std::filesystem::path& name,
                   std::string_view content, Access access = Access::kUsual);
/// Makes the folders of `name` below `folder` and returns the last; fails at a link below `folder`.
Result<Descriptor> make_folders_below(const std::filesystem::path& folder,
                                      const std::filesystem::path& name,
                                      Access access = Access::kUsual);
/// Checks that replace_file() can write there, before work whose result would be lost.
Status check_replaceable(const std::filesystem::path& path);
/// Syncs the folder of a renamed or new file, where the file system supports this, against power
/// cuts.
void sync_folder(const std::filesystem::path& file);
Status make_directories(const std::filesystem::path& path, Access access = Access::kUsual);

/// Returns this program's own file, to start workers; empty without /proc.
std::filesystem::path executable_path();

}  // namespace fatune
