// formats.hpp: Declares the table of formats of `fatune export --to` and the writers.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "export/exported_kernel.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

/// Writes the kernels into the existing folder `target`, or into the file `target` if it has the
/// format's extension. Returns the files written.
using ExportWriter = Result<std::vector<std::filesystem::path>> (*)(
    std::span<const ExportedKernel> kernels, const std::filesystem::path& target);

struct ExportFormat {
  std::string_view name;     ///< name in --to
  std::string_view summary;  ///< help text
  ExportWriter write;
  std::string_view extension = "";  ///< ".py": extension of a target file; may be empty
};
std::span<const ExportFormat> export_formats();
/// Finds a format; the usage error lists the formats.
Result<const ExportFormat*> find_format(std::string_view name);
/// Makes the target folder, or the parent folder of a target file. Fails with a usage error if the
/// target is a file and `formats` are more or other than its format.
Status make_target(std::span<const ExportFormat* const> formats,
                   const std::filesystem::path& target);

/// Writes one KEY.wisdom per kernel and compile-time property other than sizes:
/// "fa_wgmma-d64-f16-causal-g4-lse" (g: query heads per key head). A line has a config, its problem
/// size [seq_q, seq_kv, batch * heads], its time in milliseconds and its device. Kernels without a
/// measurement are logged and have no line. Fails if no kernel was measured. docs/export.md lists
/// the limits.
Result<std::vector<std::filesystem::path>> write_kernel_launcher(
    std::span<const ExportedKernel> kernels, const std::filesystem::path& folder);

/// Joins the torch_*.py of this folder that attention or custom operations need with the kernels'
/// facts and machine code. Usage errors: kernels of both kinds, an element type that PyTorch's
/// attention does not take.
Result<std::string> torch_module(std::span<const ExportedKernel> kernels);
/// Writes `target` if it ends in .py, else sdpa.py or custom.py in the folder `target`.
Result<std::vector<std::filesystem::path>> write_torch(std::span<const ExportedKernel> kernels,
                                                       const std::filesystem::path& target);

/// Writes index.json (fatune.wisdom/1) and cubins/, merging with existing wisdom. For one problem,
/// scale and architecture the order is: verified, faster, newer; the log names the choice. Readers
/// see the old or the new index. Only one export may write at a time. A damaged index is an error.
Result<std::vector<std::filesystem::path>> write_wisdom(std::span<const ExportedKernel> kernels,
                                                        const std::filesystem::path& folder);

/// Returns Base64 of the zlib stream (RFC 1950) in lines of `columns` characters, each ended by a
/// line break. The last line may be shorter. `columns` is at least 4.
std::string packed_text(std::string_view bytes, std::size_t columns);

/// Returns a C99 and C++ header that needs only <cuda.h> and -lcuda. The file that defines
/// NAME_IMPLEMENTATION before the include gets the code; other files get declarations.
std::string c_header(const ExportedKernel& kernel);

/// Returns helpers, load, unload and launch. `@name@` is a placeholder for the kernel's name.
std::string c_functions(const KernelFacts& facts);
/// Returns the names of the launch's parameters: q, k, v, out, lse, or "d_" and a declared tensor's
/// name, because a plain tensor name may be a keyword of C. Run-time sizes follow as size_NAME.
std::vector<std::string> tensor_parameters(const KernelFacts& facts);

}  // namespace fatune
