// captured_stderr.hpp: Runs a function and returns its output to file descriptor 2.
#pragma once

#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "core/file.hpp"
#include "core/result.hpp"
#include "support/temporary_folder.hpp"

namespace fatune::test {

template <typename Function>
std::string captured_stderr(Function&& function) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "stderr";
  const int saved = ::dup(STDERR_FILENO);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  FATUNE_CHECK(saved >= 0 && file >= 0, "tests can redirect stderr");
  ::dup2(file, STDERR_FILENO);
  std::forward<Function>(function)();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(file);
  Result<std::string> text = read_file(path);
  FATUNE_CHECK(static_cast<bool>(text), "the file was just written");
  return *std::move(text);
}

}  // namespace fatune::test
