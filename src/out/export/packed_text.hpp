// packed_text.hpp - machine code to lines of text for a source file: zlib, then base64.
#pragma once

#include <string>
#include <string_view>

namespace fatune {

/// Base64 of the zlib stream (RFC 1950) of the bytes, in lines of `columns` characters, each ended;
/// the last may be shorter. `columns` is at least 4.
std::string packed_text(std::string_view bytes, std::size_t columns);

}  // namespace fatune
