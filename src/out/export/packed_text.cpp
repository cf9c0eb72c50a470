// packed_text.cpp - compresses with zlib, encodes with OpenSSL, breaks into lines.
#include "out/export/packed_text.hpp"

#include <openssl/evp.h>
#include <zlib.h>

#include "core/check.hpp"

namespace fatune {
namespace {

std::string compressed(std::string_view bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int code =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 9);
  FATUNE_CHECK(code == Z_OK, "compressBound is large enough for any bytes");
  packed.resize(size);
  return packed;
}

/// In pieces of a multiple of 3 bytes, as the encoder counts in int.
std::string base64(std::string_view bytes) {
  constexpr std::size_t kPiece = 3 * 1024;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += kPiece) {
    const std::string_view piece = bytes.substr(i, kPiece);
    unsigned char encoded[kPiece / 3 * 4 + 1];
    const int count = EVP_EncodeBlock(encoded, reinterpret_cast<const unsigned char*>(piece.data()),
                                      static_cast<int>(piece.size()));
    text.append(reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

std::string packed_text(std::string_view bytes, std::size_t columns) {
  FATUNE_CHECK(columns >= 4, "a line holds at least one group of base64");
  const std::string text = base64(compressed(bytes));
  std::string lines;
  for (std::size_t i = 0; i < text.size(); i += columns) {
    lines += text.substr(i, columns);
    lines += '\n';
  }
  return lines;
}

}  // namespace fatune
