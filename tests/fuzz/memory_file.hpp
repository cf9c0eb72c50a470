// memory_file.hpp: Gives a text a path, for readers that take a path.
#pragma once

#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "core/file.hpp"
#include "core/result.hpp"

namespace fatune::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    const auto size = static_cast<ssize_t>(text.size());
    FATUNE_CHECK(::write(file_.raw(), text.data(), text.size()) == size, "memory takes it all");
  }
  std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", file_.raw()); }

 private:
  Descriptor file_;
};

}  // namespace fatune::fuzz
