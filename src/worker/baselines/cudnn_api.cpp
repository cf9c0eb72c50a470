// cudnn_api.cpp - versions and statuses of cuDNN to text and errors.
#include "worker/baselines/cudnn_api.hpp"

#include <array>
#include <vector>

#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune {

std::string cudnn_version_text(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string cudnn_last_error(const CudnnFunctions& functions) {
  std::array<char, 1024> text{};
  functions.last_error(text.data(), text.size());
  text.back() = '\0';
  std::vector<std::string> lines;
  for (const std::string& line : split(text.data(), '\n')) {
    if (const auto words = trim(line); !words.empty()) lines.emplace_back(words);
  }
  return join(lines, "; ");
}

Error cudnn_error(const CudnnFunctions& functions, int status, const std::string& doing) {
  const char* name = functions.status_text(status);
  std::string text = "cannot " + doing + ": " + (name == nullptr ? "cuDNN status" : name) + " (" +
                     std::to_string(status) + ")";
  if (const std::string detail = cudnn_last_error(functions); !detail.empty())
    text += ": " + detail;
  log::debug(text);
  return device_error(text);
}

Status cudnn_check(const CudnnFunctions& functions, int status, const std::string& doing) {
  if (status == 0) return {};
  return cudnn_error(functions, status, doing);
}

}  // namespace fatune
