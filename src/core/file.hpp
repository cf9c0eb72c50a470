// file.hpp: Reads and replaces files; errors have the path and the system's reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace fatune {

/// Limits of a file's size, packed or not, to protect the machine's memory; chosen.
inline constexpr std::size_t kUsualFile = std::size_t{16} << 20U;
inline constexpr std::size_t kLargeFile = std::size_t{60} << 20U;  ///< journals, results
/// Fails for a larger text, because parsing needs several times its size.
Status check_size(std::string_view text, std::size_t limit, const std::string& where);
/// Reads the whole file without a byte-order mark; a path ending in .gz is decompressed. A FIFO
/// silent for 30 s is an error.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = kUsualFile);
/// Writes a new file and renames it, so that readers see the old or the new content. A path ending
/// in .gz is compressed. Symbolic links are followed and permissions are kept. A path that is no
/// regular file, such as /dev/stdout, is written in place. Files that killed writers left are
/// removed.
Status replace_file(const std::filesystem::path& path, std::string_view content);
/// Checks that replace_file() can write there, before work whose result would be lost.
Status check_replaceable(const std::filesystem::path& path);
/// Syncs the folder of a renamed or new file, where the file system supports this, against power
/// cuts.
void sync_folder(const std::filesystem::path& file);
Status make_directories(const std::filesystem::path& path);

/// Returns this program's own file, to start workers; empty without /proc.
std::filesystem::path executable_path();

}  // namespace fatune
