// launch_test.cpp: Tests that invalid tensor maps are refused with the reason.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "gpu/objects.hpp"

using namespace fatune;

namespace {

TensorMapFacts usual() {
  return {.name = "map_q",
          .tensor = "q",
          .element = MapElement::kF16,
          .sizes = {64, 512, 8, 4},
          .strides_bytes = {128, 65536, 524288},
          .box = {64, 128, 1, 1},
          .swizzle_bytes = 128};
}

std::string problem(const TensorMapFacts& shape) {
  const auto map = gpu::make_tensor_map(0, shape);
  REQUIRE_FALSE(map);
  return map.error().message;
}

}  // namespace

TEST_CASE("a tensor map's shape is checked before the driver is asked") {
  auto shape = usual();
  shape.swizzle_bytes = 48;
  CHECK(problem(shape) == "cannot make a tensor map: swizzle 48 is not 0, 32, 64 or 128");
  shape = usual();
  shape.box[0] = 128;
  CHECK(problem(shape) ==
        "cannot make a tensor map: box rows of 256 bytes are wider than the swizzle of 128");
  shape = usual();
  shape.box[1] = 257;
  CHECK(problem(shape) == "cannot make a tensor map: box edge 257 is not within 1 and 256");
  shape = usual();
  shape.sizes[0] = 60;
  CHECK(problem(shape) == "cannot make a tensor map: rows of 120 bytes are no multiple of 16");
  shape = usual();
  shape.sizes[3] = 0;
  CHECK(problem(shape) == "cannot make a tensor map: size 0 is not within 1 and 2^32");
  shape = usual();
  shape.element = MapElement::kByte;
  shape.box[0] = 8;
  CHECK(problem(shape) == "cannot make a tensor map: box rows of 8 bytes are no multiple of 16");
}
