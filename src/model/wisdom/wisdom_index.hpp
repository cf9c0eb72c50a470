// wisdom_index.hpp - launch facts of many kernels to the sealed text of fatune.wisdom/1, and back.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

/// Of a folder of wisdom: the index, and the folder of the cubins that it names.
std::filesystem::path wisdom_index_path(const std::filesystem::path& folder);
std::filesystem::path wisdom_cubin_path(const std::filesystem::path& folder,
                                        const KernelFacts& facts);

/// fatune.wisdom/1
struct WisdomFile {
  std::string fatune, sha256;
  std::vector<KernelFacts> kernels;
};
void fields(WisdomFile& x, FieldList& f);

/// The text of an index. Its `sha256` is that of `kernels` written on one line, hence of all facts,
/// and through them of all cubins.
std::string write_wisdom_index(std::span<const KernelFacts> kernels, const std::string& fatune);

struct WisdomIndex {
  bool intact = false;  ///< the facts are those that were exported; if not, they are not read
  std::vector<KernelFacts> kernels;
};
/// Text that is no JSON, cut short, or of another schema, and facts that no launch could rely on,
/// are errors that name `where`.
Result<WisdomIndex> read_wisdom_index(std::string_view text, const std::string& where);

}  // namespace fatune
