// layout_test.cpp: Checks layouts to and from text, their strides, and invalid layouts.
#include "model/problem/layout.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "model/problem/problem.hpp"
#include "model/problem/suite.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;

namespace {

Attention laid_out(const char* layout) {
  Attention problem{.batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 512, .seq_kv = 512};
  problem.layouts = *parse_layouts(layout);
  return problem;
}

}  // namespace

TEST_CASE("the name of layouts is the shortest text that means them") {
  const char* shortest = GENERATE("bhsd", "bshd", "packed", "packed,out=bhsd", "out=bshd",
                                  "q=524288:64:1024", "bshd,k=524288:64:1024");
  CHECK(name(*parse_layouts(shortest)) == shortest);
  CHECK(name(*parse_layouts("q=packed,k=packed,v=packed,out=bshd")) == "packed");
  CHECK(name(*parse_layouts("bhsd,q = bshd , out=bshd")) == "q=bshd,out=bshd");
}

TEST_CASE("text that means no layouts is refused with what is wrong") {
  const auto refused = [](const char* text, const char* why) {
    const auto layouts = parse_layouts(text);
    REQUIRE_FALSE(layouts);
    CHECK_THAT(layouts.error().message, ContainsSubstring(why));
  };
  refused("bsdh", "'bsdh' is no layout");
  refused("", "'' is no layout");
  refused("1:2:3", "does not say of which tensor: say q=1:2:3");
  refused("q=1:2", "'1:2' is no layout");
  refused("q=0:64:64", "'0:64:64' has a stride of 0; strides are from 1 to 1099511627776 elements");
  refused("lse=bhsd", "'lse' is not one of q, k, v, out");
  refused("q=bshd,q=bhsd", "q has two layouts");
  refused("q=bshd,packed", "'packed' must stand first");
}

TEST_CASE("strides are those of the layout, and packed tensors begin behind each other") {
  CHECK(strides_of(laid_out("bhsd"), "k") == Strides{65536, 32768, 64});
  CHECK(strides_of(laid_out("bshd"), "k") == Strides{65536, 64, 128});
  const Attention packed = laid_out("packed");
  CHECK(strides_of(packed, "q") == Strides{393216, 64, 768});
  CHECK(strides_of(packed, "v") == strides_of(packed, "q"));
  CHECK(strides_of(packed, "out") == Strides{262144, 64, 512});
  CHECK(packed_offset(packed, "q") == 0);
  CHECK(packed_offset(packed, "k") == 512);
  CHECK(packed_offset(packed, "v") == 640);
}

TEST_CASE("words, keys and folders of problems tell layouts other than bhsd") {
  CHECK(describe(laid_out("bhsd")) == "2,8(kv 2),512,64 f16");
  CHECK(key(laid_out("bhsd")) == "b2-h8-kv2-sq512-skv512-d64-f16-none");
  const Attention packed = laid_out("packed,out=bhsd");
  CHECK(describe(packed) == "2,8(kv 2),512,64 f16 packed,out=bhsd");
  CHECK(key(packed) == "b2-h8-kv2-sq512-skv512-d64-f16-none-packed,out=bhsd");
  CHECK(slug(packed) == "2-8-512-64-kv2-f16-packed-out-bhsd");
}

TEST_CASE("tensors that cannot lie so are refused by name") {
  const auto fault = [](const char* layout) {
    const Status valid = validate(laid_out(layout));
    return valid ? std::string() : valid.error().message;
  };
  CHECK(fault("q=393216:64:768,k=393216:64:768,v=393216:64:768") == "");
  CHECK(fault("q=262144:64:448") ==
        "q: rows overlap: a stride of 448 elements is less than the 512 it steps over");
  CHECK(fault("out=264192:64:516") ==
        "out: rows are not 16-byte aligned: a stride of 516 elements is 1032 bytes");
  CHECK(fault("k=1000000000000:64:512") == "k: it would reach over 1 TiB");
  CHECK_THAT(fault("bhsd,out=packed"), ContainsSubstring("out cannot be packed"));
  CHECK_THAT(fault("bhsd,q=packed"), ContainsSubstring("packed together, or none"));
  Attention decode = laid_out("packed");
  decode.seq_q = 1;
  CHECK_THAT(validate(decode).error().message, ContainsSubstring("one sequence length"));
}
