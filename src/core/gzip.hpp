// gzip.hpp - bytes to gzip and back, within limits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/file.hpp"
#include "core/result.hpp"

namespace fatune {

std::string gzip(std::string_view bytes);
/// Returns the input unchanged when it is not gzip.
Result<std::string> gunzip(std::string_view bytes, const std::string& where,
                           std::size_t limit = kLargeFile);

}  // namespace fatune
