// file.hpp - reads and replaces files; errors carry the path and the system's reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace fatune {

/// Limits of files, packed or not, so that no file takes the machine; chosen.
inline constexpr std::size_t kUsualFile = std::size_t{16} << 20U;
inline constexpr std::size_t kLargeFile = std::size_t{60} << 20U;  ///< journals, results
/// Fails when there is more: what reads a text needs several times its size.
Status check_size(std::string_view text, std::size_t limit, const std::string& where);
/// Whole file; a path ending in .gz is decompressed. A FIFO that is silent for 30 s is an error.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = kUsualFile);
/// Writes beside and renames, so a reader sees the old or the new content, never half. `.gz` is
/// compressed. A symbolic link is followed, the permissions of what is there stay; what is no
/// regular file, say /dev/stdout, is written to. What killed writers of this file have left beside
/// it is removed.
Status replace_file(const std::filesystem::path& path, std::string_view content);
/// Whether replace_file could write there: to be asked before work whose result it would lose.
Status check_replaceable(const std::filesystem::path& path);
/// After a rename or a new file: the folder's entry survives a power cut. Some file systems know no
/// such thing.
void sync_folder(const std::filesystem::path& file);
Status make_directories(const std::filesystem::path& path);

/// This program's own file, to start it again as a worker; empty without /proc.
std::filesystem::path executable_path();

}  // namespace fatune
