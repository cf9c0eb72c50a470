// hash.cpp - bytes to SHA-256, computed by OpenSSL.
#include "core/hash.hpp"

#include <array>

#include <openssl/evp.h>

#include "core/check.hpp"

namespace fatune {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  FATUNE_CHECK(done == 1 && length == 32, "SHA-256 is part of every OpenSSL 3 default provider");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(64);
  for (std::size_t i = 0; i < length; ++i) {
    hex += kDigits[digest[i] >> 4U];
    hex += kDigits[digest[i] & 15U];
  }
  return hex;
}

std::string short_hash(std::string_view bytes) { return sha256_hex(bytes).substr(0, 16); }

Hasher& Hasher::add(std::string_view field) {
  collected_ += std::to_string(field.size());
  collected_ += ':';
  collected_ += field;
  return *this;
}

std::string Hasher::hex() const { return sha256_hex(collected_); }

}  // namespace fatune
