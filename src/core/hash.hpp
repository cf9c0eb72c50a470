// hash.hpp - SHA-256 as hex, for the identity of content; CRC-32 for accidents.
#pragma once

#include <string>
#include <string_view>

namespace fatune {

std::string sha256_hex(std::string_view bytes);  ///< 64 characters
std::string crc32_hex(std::string_view bytes);   ///< 8 characters; finds accidents, no forger

/// Hashes several fields without ambiguity: each is preceded by its length.
class Hasher {
 public:
  Hasher& add(std::string_view field);
  std::string hex() const;  ///< 64 characters

 private:
  std::string collected_;
};

}  // namespace fatune
