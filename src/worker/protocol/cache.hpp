// cache.hpp - finished compilations on disk, found again by the key of their request.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

/// A folder <2 hex digits>/<key>.json with <key>.cubin beside it. Many processes may share it:
/// files are written aside and renamed, and the machine code is there before the entry that names
/// it.
class CubinCache {
 public:
  explicit CubinCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// No value when there is no entry, or it cannot be read, or its machine code is not the one it
  /// names.
  std::optional<Compiled> find(const std::string& key) const;
  /// Stores the machine code and the entry; returns the compilation with its cubin_path.
  Result<Compiled> store(const std::string& key, Compiled compiled, std::string_view cubin) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path file(const std::string& key, const char* extension) const;
  std::filesystem::path folder_;
};

}  // namespace fatune
