// formats.hpp - what `fatune export --to` can write: one table of names, and the writers.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// Writes the kernels into the folder, which exists, or into the one file that the format's
/// extension says `target` to be. Returns the files written.
using ExportWriter = Result<std::vector<std::filesystem::path>> (*)(
    std::span<const ExportedKernel> kernels, const std::filesystem::path& target);

struct ExportFormat {
  std::string_view name;     ///< as in --to
  std::string_view summary;  ///< for --help
  ExportWriter write;
  std::string_view extension = "";  ///< ".py": a target that ends so is a file; empty: a folder
};
std::span<const ExportFormat> export_formats();
/// A usage error that names the formats there are.
Result<const ExportFormat*> find_format(std::string_view name);
/// Makes the folder that the formats write into: the target, or the one that is to hold it when it
/// is a file. A usage error when the target is a file and they are more or other than its format.
Status make_target(std::span<const ExportFormat* const> formats,
                   const std::filesystem::path& target);

/// One KEY.wisdom for each kernel and what its template is compiled for besides sizes:
/// "fa_wgmma-d64-f16-causal-g4-lse" (g: query heads of a key head). A line is a config with its
/// problem size, [seq_q, seq_kv, batch * heads], its time in milliseconds and its device. Kernels
/// that were not measured have no line; the log says so. None at all is an error.
/// docs/export.md has the limits.
Result<std::vector<std::filesystem::path>> write_kernel_launcher(
    std::span<const ExportedKernel> kernels, const std::filesystem::path& folder);

/// The file's text: the torch_*.py of this folder that attention or custom operations need, one
/// after the other, with the kernels' facts and machine code. A usage error when kernels are of
/// both, or an element type is none that PyTorch's attention takes.
Result<std::string> torch_module(std::span<const ExportedKernel> kernels);
/// Writes `target` if it ends in .py, else sdpa.py, of custom operations custom.py, in the
/// folder `target`. Returns that file.
Result<std::vector<std::filesystem::path>> write_torch(std::span<const ExportedKernel> kernels,
                                                       const std::filesystem::path& target);

/// index.json (fatune.wisdom/1) and cubins/. A folder that holds wisdom already gets the kernels
/// added: of two for one problem, scale and architecture the verified one stays, then the faster as
/// measured, then the new one; the log says which. Readers see the old index or the new one, never
/// half; one export at a time may write. An index that was tampered with is an error.
Result<std::vector<std::filesystem::path>> write_wisdom(std::span<const ExportedKernel> kernels,
                                                        const std::filesystem::path& folder);

/// Base64 of the zlib stream (RFC 1950) of the bytes, in lines of `columns` characters, each ended;
/// the last may be shorter. `columns` is at least 4.
std::string packed_text(std::string_view bytes, std::size_t columns);

/// C99 and C++, needs <cuda.h> and -lcuda alone. Declarations everywhere; the file that defines
/// NAME_IMPLEMENTATION before it includes the header gets the code.
std::string c_header(const ExportedKernel& kernel);

/// Helpers, load, unload and launch. `@name@` stands for the kernel's name.
std::string c_functions(const KernelFacts& facts);
/// Names of the launch's parameters: q, k, v, out, lse, or "d_" and a declared tensor's name, which
/// may be a word of C.
std::vector<std::string> tensor_parameters(const KernelFacts& facts);
/// Of all scratch buffers of a launch in one piece, each on 256 bytes.
std::int64_t scratch_bytes(const KernelFacts& facts);

}  // namespace fatune
