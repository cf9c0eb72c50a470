// error_regions_test.cpp: Checks that wrong elements are counted in the regions that contain them.
#include "worker/verify/error_regions.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

/// One batch, two heads, 192 rows, 4 columns in fp32: right everywhere but where `spoil` says.
std::vector<ErrorRegion> regions(const std::function<void(std::vector<float>&)>& spoil) {
  TensorPlan tensor;
  tensor.name = "out";
  tensor.shape = {1, 2, 192, 4};
  tensor.output = true;
  tensor.axes = {"batch", "head", "row", "column"};
  tensor.noun = "outputs";
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()), 1.0F);
  TensorReference reference = make_reference(tensor, values);
  reference.limits.max_abs = 0.5;
  spoil(values);
  return error_regions(reference, std::as_bytes(std::span(values)));
}

std::int64_t wrong_in(const std::vector<ErrorRegion>& regions, const std::string& where) {
  const auto found = std::ranges::find(regions, where, &ErrorRegion::where);
  REQUIRE(found != regions.end());
  return found->wrong;
}

constexpr std::size_t kHead = 192 * 4;

}  // namespace

TEST_CASE("a last tile that is wrong in one head shows there and nowhere else") {
  const auto found = regions([](std::vector<float>& out) {
    for (std::size_t i = kHead + 128 * 4; i < 2 * kHead; ++i) out[i] = 3;
  });
  CHECK(wrong_in(found, "all of out") == 64 * 4);
  CHECK(wrong_in(found, "rows 0 to 63") == 0);
  CHECK(wrong_in(found, "rows 64 to 127") == 0);
  CHECK(wrong_in(found, "rows 128 to 191") == 64 * 4);
  CHECK(wrong_in(found, "columns 0 to 1") == 64 * 2);
  CHECK(wrong_in(found, "batch 0, head 1") == 64 * 4);
  CHECK(found.front().largest == 2);
  CHECK(found.front().limit == 0.5);
  CHECK(found.front().elements == 2 * static_cast<std::int64_t>(kHead));
}

TEST_CASE("what is not finite is wrong, and no distance") {
  const auto found = regions([](std::vector<float>& out) {
    out[0] = std::numeric_limits<float>::quiet_NaN();
    out[1] = -std::numeric_limits<float>::infinity();
    out[2] = 1.25F;
  });
  CHECK(found.front().wrong == 2);
  CHECK(found.front().not_finite == 2);
  CHECK(found.front().largest == 0.25);
  CHECK(wrong_in(found, "columns 2 to 3") == 0);
}
