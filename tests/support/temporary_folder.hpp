// temporary_folder.hpp: Provides a fresh folder that is removed after the test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <stdlib.h>

#include "core/result.hpp"

namespace fatune::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fatune-test-XXXXXX").string();
    FATUNE_CHECK(::mkdtemp(pattern.data()) != nullptr, "tests need a folder for temporary files");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace fatune::test
