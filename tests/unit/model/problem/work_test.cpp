// work_test.cpp: Checks operations and bytes of problems against numbers computed by hand.
#include <catch2/catch_test_macros.hpp>

#include "model/problem/problem.hpp"

using namespace fatune;

TEST_CASE("the mission's work") {
  Attention p = *parse_shape("4,8,512,64");
  CHECK(flops(p).value == 2147483648.0);
  CHECK(query_bytes(p) == Bytes(2097152));
  CHECK(least_bytes(p) == Bytes(8388608));
  p.mask = Mask::kCausal;
  CHECK(flops(p).value == 1073741824.0);
  CHECK(lse_bytes(p) == Bytes(0));
  p.lse = true;
  CHECK(lse_bytes(p) == Bytes(4 * 8 * 512 * 4));
  CHECK(least_bytes(p) == Bytes(8388608 + 65536));
}

TEST_CASE("fewer key heads and other lengths change bytes and operations") {
  const Attention p{.batch = 1,
                    .heads = 8,
                    .kv_heads = 2,
                    .seq_q = 1,
                    .seq_kv = 1000,
                    .head_dim = 128,
                    .dtype = Dtype::kE4m3,
                    .out_dtype = Dtype::kF16};
  CHECK(flops(p).value == 4.0 * 8 * 1 * 1000 * 128);
  CHECK(query_bytes(p) == Bytes(1024));
  CHECK(key_bytes(p) == Bytes(256000));
  CHECK(least_bytes(p) == Bytes(3 * 1024 + 2 * 256000 + 3 * 2 * 4));
}

TEST_CASE("v of another head dim changes bytes and operations of v and out alone") {
  const Attention p{.heads = 8, .kv_heads = 2, .seq_kv = 1000, .head_dim = 192, .value_dim = 128};
  CHECK(flops(p).value == 2.0 * 8 * 1000 * (192 + 128));
  CHECK(query_bytes(p) == Bytes(2 * 8 * 192));
  CHECK(key_bytes(p) == Bytes(2 * 2000 * 192));
  CHECK(value_bytes(p) == Bytes(2 * 2000 * 128));
  CHECK(out_bytes(p) == Bytes(2 * 8 * 128));
  CHECK(least_bytes(p) == Bytes(2 * (8 + 2000) * (192 + 128)));
}

TEST_CASE("the largest valid problem does not overflow") {
  const Attention p = *parse_shape("1,1,2147418112,256");
  CHECK(flops(p).value > 4.7e21);
  CHECK(least_bytes(p) == Bytes(4ULL * 2147418112 * 256 * 2));
}
