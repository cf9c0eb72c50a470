// write_wisdom.hpp - exported kernels to a folder of wisdom, which libfatune_rt opens.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// index.json (fatune.wisdom/1) and cubins/. A folder that holds wisdom already gets the kernels
/// added: of two for one problem, scale and architecture the verified one stays, then the faster as
/// measured, then the new one; the log says which. Readers see the old index or the new one, never
/// half; one export at a time may write. An index that was tampered with is an error.
Result<std::vector<std::filesystem::path>> write_wisdom(std::span<const ExportedKernel> kernels,
                                                        const std::filesystem::path& folder);

}  // namespace fatune
