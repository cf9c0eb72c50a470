// choice_test.cpp: Tests the order in which kernels are chosen, and the reasons for none.
#include "runtime/choice.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "wisdom_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;
using test::problem;

namespace {

const rt::DeviceFacts kH200{"NVIDIA H200", 9, 0};

rt::StoredKernel kernel(const char* text, double us = 10) {
  KernelFacts facts = test::facts_of(problem(text));
  facts.measured->hot_us = us;
  return test::stored(std::move(facts));
}

rt::Wish wish(const char* text) {
  return {.problem = problem(text), .scale = 0.125, .max_launches = 16};
}

rt::Failure refused(const std::vector<rt::StoredKernel>& kernels, const rt::Wish& wanted,
                    const rt::DeviceFacts& device = kH200) {
  const auto choice = rt::choose(kernels, wanted, device);
  REQUIRE_FALSE(choice);
  return choice.error();
}

}  // namespace

TEST_CASE("of equals the fastest in a layer comes first, and before those with hot times alone") {
  std::vector<rt::StoredKernel> kernels = {kernel("4,8,512,64", 5), kernel("4,8,512,64", 6),
                                           kernel("4,8,512,64", 7)};
  const auto in_layer = [&](std::size_t place, double us) {
    kernels[place].facts.measured->time = Time::kInLayer;
    kernels[place].facts.measured->us = us;
  };
  in_layer(1, 9);
  in_layer(2, 8);
  CHECK((*rt::choose(kernels, wish("4,8,512,64"), kH200)).kernel == 2);
}

TEST_CASE("the exact problem comes first, then one launch, then few, then the fastest") {
  std::vector<rt::StoredKernel> kernels = {kernel("1,1,512,64", 1),  kernel("2,8,512,64", 5),
                                           kernel("8,2,512,64", 4),  kernel("16,2,512,64", 8),
                                           kernel("2,16,512,64", 7), kernel("4,8,512,64", 9)};
  const auto chosen = [&] { return (*rt::choose(kernels, wish("4,8,512,64"), kH200)).kernel; };
  CHECK(chosen() == 5);
  kernels.pop_back();
  CHECK(chosen() == 4);  // regrouped, the faster of two
  kernels.resize(3);
  CHECK(chosen() == 2);  // twice, the faster of two
  kernels.resize(1);
  CHECK_THAT(refused(kernels, wish("4,8,512,64")).message, ContainsSubstring("more than 16 times"));
  rt::Wish patient = wish("4,8,512,64");
  patient.max_launches = 32;
  CHECK((*rt::choose(kernels, patient, kH200)).fit.launches == 32);
}

TEST_CASE("a kernel that was not measured comes after those that were") {
  std::vector<rt::StoredKernel> kernels = {kernel("4,8,512,64"), kernel("4,8,512,64", 1e6)};
  kernels[0].facts.measured.reset();
  CHECK((*rt::choose(kernels, wish("4,8,512,64"), kH200)).kernel == 1);
}

TEST_CASE("a kernel that takes more shared memory than the device has is left alone") {
  std::vector<rt::StoredKernel> kernels = {kernel("4,8,512,64", 5), kernel("32,1,512,64", 9)};
  kernels[0].facts.arch = kernels[1].facts.arch = "sm_80";
  for (rt::StoredKernel& each : kernels) {
    each.facts.compute_major = 8;
    each.facts.exact_compute = false;
  }
  kernels[0].facts.stages[0].shared_bytes = 100 << 10;
  kernels[0].facts.stages[0].static_shared_bytes = 1;
  rt::DeviceFacts device{"NVIDIA A10", 8, 6, 100 << 10};
  CHECK((*rt::choose(kernels, wish("4,8,512,64"), device)).kernel == 1);
  kernels.pop_back();
  const rt::Failure failure = refused(kernels, wish("4,8,512,64"), device);
  CHECK(failure.status == FATUNE_RT_OTHER_DEVICE);
  CHECK_THAT(failure.message, ContainsSubstring("takes 102401 bytes of shared memory a block, and "
                                                "NVIDIA A10 has 102400"));
  ++device.most_shared_bytes;
  CHECK(rt::choose(kernels, wish("4,8,512,64"), device));
}

TEST_CASE("a kernel for another generation of devices is refused, with both named") {
  const std::vector<rt::StoredKernel> kernels = {kernel("4,8,512,64")};
  const rt::Failure failure =
      refused(kernels, wish("4,8,512,64"), rt::DeviceFacts{"NVIDIA A100", 8, 0});
  CHECK(failure.status == FATUNE_RT_OTHER_DEVICE);
  CHECK_THAT(failure.message, ContainsSubstring("sm_90a") && ContainsSubstring("NVIDIA A100") &&
                                  ContainsSubstring("8.0"));
}

TEST_CASE("a kernel without an architecture's own instructions runs on later minor versions") {
  std::vector<rt::StoredKernel> kernels = {kernel("4,8,512,64")};
  kernels[0].facts.compute_major = 8;
  kernels[0].facts.exact_compute = false;
  CHECK(rt::choose(kernels, wish("4,8,512,64"), rt::DeviceFacts{"RTX 4090", 8, 9}));
  CHECK_FALSE(rt::choose(kernels, wish("4,8,512,64"), kH200));
}

TEST_CASE("a kernel that passed no gates is chosen only when that is allowed") {
  std::vector<rt::StoredKernel> kernels = {kernel("4,8,512,64")};
  kernels[0].facts.verified = false;
  rt::Wish wanted = wish("4,8,512,64");
  const rt::Failure failure = refused(kernels, wanted);
  CHECK(failure.status == FATUNE_RT_NO_KERNEL);
  CHECK_THAT(failure.message, ContainsSubstring("allow_unverified"));
  wanted.unverified = true;
  CHECK(rt::choose(kernels, wanted, kH200));
}

TEST_CASE("a kernel with another scale compiled in is refused") {
  rt::Wish wanted = wish("4,8,512,64");
  wanted.scale = 1;
  CHECK_THAT(refused({kernel("4,8,512,64")}, wanted).message,
             ContainsSubstring("0.125") && ContainsSubstring("not 1"));
}

TEST_CASE("a problem that nothing computes is told so") {
  const rt::Failure failure = refused({kernel("4,8,512,64")}, wish("4,8,513,64"));
  CHECK(failure.status == FATUNE_RT_NO_KERNEL);
  CHECK_THAT(failure.message, ContainsSubstring("none of the 1 kernels computes 4,8,513,64 f16"));
}

TEST_CASE("a layout without a kernel is told of those that have one") {
  const std::vector<rt::StoredKernel> kernels = {kernel("4,8,512,64"), kernel("4,8,512,64 packed"),
                                                 kernel("4,8,512,128 bshd")};
  CHECK((*rt::choose(kernels, wish("4,8,512,64 packed"), kH200)).kernel == 1);
  const rt::Failure failure = refused(kernels, wish("4,8,512,64 bshd"));
  CHECK(failure.status == FATUNE_RT_NO_KERNEL);
  CHECK(failure.message ==
        "none of the 3 kernels takes 4,8,512,64 f16 bshd; those for its sizes take bhsd; packed: "
        "lay the tensors out so, or tune this layout (`fatune sweep --layout bshd`)");
}

TEST_CASE("the nearest kernel is that of the most similar problem") {
  const std::vector<rt::StoredKernel> kernels = {kernel("4,8,512,64 causal"), kernel("4,8,512,64"),
                                                 kernel("4,8,512,128"), kernel("4,8,4096,64"),
                                                 kernel("4,8,512,64 bf16")};
  CHECK(rt::nearest(kernels, problem("1,8,600,64")) == 1);
  CHECK(rt::nearest(kernels, problem("4,8,3000,64")) == 3);
  CHECK(rt::nearest(kernels, problem("4,8,512,96")) == 2);
  CHECK(rt::nearest(kernels, problem("4,8,700,64 causal")) == 0);
  CHECK(rt::nearest(kernels, problem("4,8,512,64 bf16 causal")) == 4);
  CHECK(rt::nearest({{kernel("4,8,512,64"), kernel("4,8,512,64 bshd")}},
                    problem("4,8,512,64 bshd")) == 1);
  CHECK(rt::nearest({{kernel("4,8,256,64 bshd"), kernel("4,8,512,64")}},
                    problem("4,8,512,64 bshd")) == 1);
  Attention fp8 = problem("4,8,512,64");
  fp8.dtype = Dtype::kE4m3;
  CHECK_FALSE(rt::nearest(kernels, fp8));
}
