// device_checks_test.cpp: Checks the messages about findings in guard bands.
#include <catch2/catch_test_macros.hpp>

#include "worker/verify/guarded_buffer.hpp"

using namespace fatune;

TEST_CASE("a finding says where, relative to the buffer") {
  CHECK(describe(BandFinding{"out", false, 8, 12}) ==
        "8 bytes behind out were written, the first at +12");
  CHECK(describe(BandFinding{"out", true, 2, GuardedBuffer::kBandBytes - 2}) ==
        "2 bytes before out were written, the first at -2");
}
