// program_test.cpp: Tests that tensor maps are encoded correctly, once per set of addresses.
#include "runtime/program.hpp"

#include <cstring>

#include <catch2/catch_test_macros.hpp>

#include "support/fake_driver.hpp"
#include "wisdom_folder.hpp"

using namespace fatune;
using test::FakeDriver;

namespace {

rt::Driver table(FakeDriver& fake) { return *rt::load_driver(fake.symbols()); }

rt::Addresses set(CUdeviceptr first) { return {first, first + 1, first + 2, first + 3, 0}; }

}  // namespace

TEST_CASE("maps are encoded as the facts say, in their order") {
  FakeDriver fake;
  const rt::Driver driver = table(fake);
  const KernelFacts facts = test::elaborate_facts(test::problem("2,8(kv 2),512x1024,64 bf16"));
  rt::MapCache cache(driver, facts.tensor_maps);
  alignas(64) rt::Maps maps;
  REQUIRE(cache.fill(set(100), maps));
  REQUIRE(fake.encoded.size() == 4);
  CHECK(fake.encoded[0].address == 100);
  CHECK(fake.encoded[3].address == 103);
  const FakeDriver::Encoded& keys = fake.encoded[1];
  CHECK(keys.element == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  CHECK(keys.sizes == std::vector<cuuint64_t>{64, 1024, 2, 2});
  CHECK(keys.strides == std::vector<cuuint64_t>{128, 131072, 262144});
  CHECK(keys.box == std::vector<cuuint32_t>{64, 16, 1, 1});
  CHECK(keys.swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
  CUdeviceptr covered = 0;
  std::memcpy(&covered, &maps[2], sizeof(covered));
  CHECK(covered == 102);
}

TEST_CASE("a set of addresses is encoded once, until eight others were used after it") {
  FakeDriver fake;
  const rt::Driver driver = table(fake);
  rt::MapCache cache(driver, test::elaborate_facts(test::problem("1,1,64,64")).tensor_maps);
  alignas(64) rt::Maps maps;
  const auto encodes = [&](CUdeviceptr first) {
    const std::size_t before = fake.encoded.size();
    REQUIRE(cache.fill(set(first), maps));
    return fake.encoded.size() - before;
  };
  for (CUdeviceptr i = 1; i <= 8; ++i) CHECK(encodes(i * 100) == 4);
  for (CUdeviceptr i = 1; i <= 8; ++i) CHECK(encodes(i * 100) == 0);
  CHECK(encodes(100) == 0);
  CHECK(encodes(900) == 4);  // in the place of 200, the one not used for the longest time
  CHECK(encodes(100) == 0);
  CHECK(encodes(200) == 4);
}

TEST_CASE("maps that could not be encoded are not kept") {
  FakeDriver fake;
  const rt::Driver driver = table(fake);
  rt::MapCache cache(driver, test::elaborate_facts(test::problem("1,1,64,64")).tensor_maps);
  alignas(64) rt::Maps maps;
  fake.failing["cuTensorMapEncodeTiled"] = CUDA_ERROR_INVALID_VALUE;
  const auto failed = cache.fill(set(100), maps);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().status == FATUNE_RT_DRIVER_FAILED);
  CHECK(failed.error().message.find("map_q") != std::string::npos);
  fake.failing.clear();
  CHECK(cache.fill(set(100), maps));
  CHECK(fake.encoded.size() == 4);
}
