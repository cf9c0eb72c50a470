// hash.cpp: Computes SHA-256 by OpenSSL and CRC-32 by zlib.
#include "core/hash.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <zlib.h>

#include "core/result.hpp"

namespace fatune {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  FATUNE_CHECK(done == 1 && length == 32, "SHA-256 is part of every OpenSSL 3 default provider");
  return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + length, ""));
}

std::string crc32_hex(std::string_view bytes) {
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  return fmt::format("{:08x}", ::crc32_z(0, data, bytes.size()));
}

Hasher& Hasher::add(std::string_view field) {
  collected_ += fmt::format("{}:{}", field.size(), field);
  return *this;
}

std::string Hasher::hex() const { return sha256_hex(collected_); }

}  // namespace fatune
