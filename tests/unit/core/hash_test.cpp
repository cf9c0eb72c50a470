// hash_test.cpp: Tests SHA-256 against published digests, and the separation of fields.
#include "core/hash.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

TEST_CASE("sha256 of the examples of FIPS 180") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("the border between fields counts") {
  CHECK(Hasher().add("ab").add("c").hex() != Hasher().add("a").add("bc").hex());
  CHECK(Hasher().add("").add("a").hex() != Hasher().add("a").hex());
  CHECK(Hasher().add("a").hex() == Hasher().add("a").hex());
  CHECK(Hasher().hex().size() == 64);
}
