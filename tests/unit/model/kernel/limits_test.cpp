// limits_test.cpp: Checks architecture names and the table of typical devices.
#include "model/kernel/limits.hpp"

#include <catch2/catch_test_macros.hpp>

namespace fatune {
namespace {

TEST_CASE("architectures are read with and without sm_") {
  CHECK(*parse_arch("sm_90a") == Arch{90, 'a'});
  CHECK(*parse_arch("90a") == Arch{90, 'a'});
  CHECK(*parse_arch("sm_120") == Arch{120, 0});
  CHECK(*parse_arch("100f") == Arch{100, 'f'});
  CHECK(name(Arch{90, 'a'}) == "sm_90a");
  CHECK(name(Arch{86, 0}) == "sm_86");
}

TEST_CASE("what is no architecture is refused") {
  for (const char* text : {"", "sm_", "sm_9x", "sm_90b", "a", "sm80", "compute_80", "sm_-80",
                           "sm_08", "sm_12345", "8.0", "sm_ 80"}) {
    INFO(text);
    CHECK_FALSE(parse_arch(text));
  }
  CHECK(parse_arch("sm80").error().message ==
        "'sm80' is not an architecture such as sm_80, sm_90a or sm_120");
}

TEST_CASE("devices get the target with their special instructions") {
  CHECK(name(best_arch(9, 0)) == "sm_90a");
  CHECK(name(best_arch(10, 0)) == "sm_100a");
  CHECK(name(best_arch(8, 6)) == "sm_86");
  CHECK(name(best_arch(12, 0)) == "sm_120");
}

TEST_CASE("typical devices are known for the architectures of the tests") {
  for (const char* text : {"75", "80", "86", "87", "89", "90a", "100a", "103a", "120"}) {
    const auto limits = typical_limits(*parse_arch(text));
    INFO(text);
    REQUIRE(limits);
    CHECK(limits->max_shared_block <= limits->max_shared_sm);
    CHECK(limits->sm_count > 0);
    CHECK(limits->memory_bytes == 0);
  }
  const auto hopper = typical_limits(*parse_arch("sm_90a"));
  CHECK(hopper->max_shared_block == 232448);
  CHECK(hopper->sm_count == 132);
  CHECK(name(hopper->arch) == "sm_90a");
  CHECK(typical_limits(*parse_arch("86"))->max_shared_block == 101376);
  CHECK(typical_limits(*parse_arch("80"))->max_shared_block == 166912);
  CHECK(typical_limits(*parse_arch("42"))
            .error()
            .message.starts_with("no device limits are known for sm_42; known are sm_75, sm_80"));
}

}  // namespace
}  // namespace fatune
