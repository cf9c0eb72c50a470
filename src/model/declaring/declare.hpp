// declare.hpp: Makes a folder with manifests of a CUDA file and statements about it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "model/declaring/statement.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune {

/// A folder for --kernel-dir that is not yet written.
struct Declared {
  std::vector<SourceFile> files;   ///< source, headers and manifests
  std::string kernel;              ///< the manifest to tune
  std::vector<std::string> sizes;  ///< values of --size, a problem each
};

/// Declares a kernel of a CUDA file by its lines `//@ word text` and by typed statements, which
/// replace lines of the same word and name. The text of the file is kept. Errors name all
/// independent faults.
Result<Declared> declare_source(const std::filesystem::path& file,
                                std::span<const Statement> typed);
/// Reads the same statements from a text file, whose line `file: NAME` names the CUDA file.
Result<Declared> declare_text(const std::filesystem::path& file, std::span<const Statement> typed);

}  // namespace fatune
