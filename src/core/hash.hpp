// hash.hpp: Declares SHA-256 for the identity of content and CRC-32 against corruption.
#pragma once

#include <string>
#include <string_view>

namespace fatune {

std::string sha256_hex(std::string_view bytes);  ///< 64 characters
std::string crc32_hex(std::string_view bytes);   ///< 8 characters; detects accidents but no forgery

/// Hashes several fields unambiguously: each is preceded by its length.
class Hasher {
 public:
  Hasher& add(std::string_view field);
  std::string hex() const;  ///< 64 characters

 private:
  std::string collected_;
};

}  // namespace fatune
