// gzip.hpp: Compresses bytes to gzip and decompresses them within limits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/file.hpp"
#include "core/result.hpp"

namespace fatune {

std::string gzip(std::string_view bytes);
/// Returns the input unchanged if it is not gzip.
Result<std::string> gunzip(std::string_view bytes, const std::string& where,
                           std::size_t limit = kLargeFile);

}  // namespace fatune
