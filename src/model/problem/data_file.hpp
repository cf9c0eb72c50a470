// data_file.hpp: Reads the elements of a tensor from a file: .npy of numpy, or bytes alone.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "core/result.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {

/// Returns the offset of the elements in a file. A file that begins as numpy's do must have the
/// tensor's type and number of elements, in C order. Any other has the tensor's bytes alone,
/// little-endian. The error says what the file has.
Result<std::size_t> data_offset(const std::filesystem::path& file, const TensorPlan& tensor);

/// Returns the elements in order. Fails as data_offset() does.
Result<std::vector<std::byte>> read_data(const std::filesystem::path& file,
                                         const TensorPlan& tensor);

}  // namespace fatune
