// objects_test.cpp: Tests that a handle destroys only its object, and only once.
#include "gpu/objects.hpp"

#include <type_traits>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

std::vector<int> destroyed;  // in order

void destroy(int raw) noexcept { destroyed.push_back(raw); }
using Number = gpu::Handle<int, destroy>;

static_assert(!std::is_copy_constructible_v<Number> && !std::is_copy_assignable_v<Number>);
static_assert(std::is_nothrow_move_constructible_v<Number>);

}  // namespace

TEST_CASE("a handle destroys its object once, whatever moves happen") {
  destroyed.clear();
  {
    Number first(1);
    Number second(2);
    CHECK(first);
    CHECK(first.raw() == 1);
    Number moved(std::move(first));
    CHECK(destroyed.empty());
    moved = std::move(second);
    CHECK(destroyed == std::vector{1});
    Number& same = moved;
    moved = std::move(same);
    CHECK(moved.raw() == 2);
  }
  CHECK(destroyed == std::vector{1, 2});
}

TEST_CASE("an empty handle destroys nothing") {
  destroyed.clear();
  {
    Number none;
    CHECK_FALSE(none);
    Number reset(3);
    reset.reset();
    reset.reset();
    CHECK_FALSE(reset);
  }
  CHECK(destroyed == std::vector{3});
}
