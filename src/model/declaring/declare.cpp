// declare.cpp: Makes a folder with manifests of a CUDA file and statements about it.
#include "model/declaring/declare.hpp"

namespace fatune {

Result<Declared> declare_source(const std::filesystem::path& file, std::span<const Statement>) {
  return usage_error(file.string() + ": is not read yet");
}

Result<Declared> declare_text(const std::filesystem::path& file, std::span<const Statement>) {
  return usage_error(file.string() + ": is not read yet");
}

}  // namespace fatune
