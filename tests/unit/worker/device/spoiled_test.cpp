// spoiled_test.cpp: Checks which gate refuses each cheat made of an operation's reference. The
// texts of the cheats run on the host.
#include <algorithm>
#include <map>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "support/custom_operation.hpp"
#include "support/fake_device.hpp"
#include "tune/evaluate/selftest.hpp"

namespace {

// A grid of one thread.
constexpr struct { int x = 0; } blockIdx, threadIdx;
constexpr struct { int x = 1; } blockDim, gridDim;
void __syncthreads() {}
void atomicMax(unsigned long long* largest, unsigned long long value) {
  *largest = std::max(*largest, value);
}
#define __device__ [[maybe_unused]]
#define __shared__ static
#include "../kernels/faults/spoiled.cuh"
#undef __device__
#undef __shared__

using namespace fatune;
using namespace fatune::test;

/// The words between two others.
std::string between(const std::string& text, const std::string& left, const std::string& right) {
  const std::size_t begin = text.rfind(left);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = text.find(right, begin + left.size());
  return text.substr(begin + left.size(), end - begin - left.size());
}

const std::map<std::string, spoiled::How> kHows = {{"kNothing", spoiled::kNothing},
                                                   {"kZeros", spoiled::kZeros},
                                                   {"kNan", spoiled::kNan},
                                                   {"kWrongSign", spoiled::kWrongSign},
                                                   {"kLastUnwritten", spoiled::kLastUnwritten},
                                                   {"kOnePast", spoiled::kOnePast},
                                                   {"kVaries", spoiled::kVaries},
                                                   {"kStops", spoiled::kStops},
                                                   {"kKeepsOld", spoiled::kKeepsOld},
                                                   {"kChanged", spoiled::kChanged}};

/// A fake device whose problem is that of custom_test_problem(), and the reference's launches.
class CustomDevice {
 public:
  explicit CustomDevice(std::string_view declaration = kCustomReference)
      : reference((*load_custom(declaration)).back()) {
    if (declaration.find("c_w") != std::string_view::npos)
      device.driver.constants["c_w"].resize(24 * sizeof(float));
    if (declaration.find("u8") == std::string_view::npos) {
      define_scale<float>("reference", false);
      define_scale<std::uint16_t>("low_precision", true);
      define_scale<std::uint16_t>("scale_reference", false);
    } else {
      for (const char* entry : {"reference", "low_precision", "scale_reference"})
        define_sums(entry);
    }
    device.order.problem = problem;
    device.order.custom = *reference->manifest.operation->plan(problem);
    device.order.reference = program_of(*reference, "reference");
    device.order.low_precision = program_of(*reference, "low_precision");
  }

  RunReply run(const Kernel& kernel) {
    if (kernel.source.text.find("fatune_spoil") != std::string::npos) define_spoiling(kernel);
    device.driver.entries.at("scale_reference").waits = false;
    return device.run(program_of(kernel, "scale_reference"));
  }

  FakeDevice device;
  const KernelRef reference;
  const Problem problem = custom_test_problem(16, 24);

 private:
  /// The same of integers, with the sums in f64.
  void define_sums(const char* entry) {
    const auto scale = [](const std::uint8_t* x, const std::int32_t* w, std::int64_t* y,
                          double* sums) {
      for (int row = 0; row < 16; ++row) {
        sums[row] = 0;
        for (int column = 0; column < 24; ++column) {
          const int at = row * 24 + column;
          y[at] = std::int64_t{x[at]} * w[column];
          sums[row] += static_cast<double>(y[at]) / 3;
        }
      }
    };
    using Scale = void(const std::uint8_t*, const std::int32_t*, std::int64_t*, double*);
    device.driver.define(entry, std::function<Scale>(scale)).us = FakeDevice::kUs;
  }

  /// y = x * w and the sums of its rows; `round`: from rounded products.
  template <typename Out>
  void define_scale(const char* entry, bool round) {
    const auto constant = device.driver.constants.find("c_w");
    const auto* const c_w = constant == device.driver.constants.end()
                                ? nullptr
                                : reinterpret_cast<const float*>(constant->second.data());
    const auto scale = [=](const std::uint16_t* x, const float* w, Out* y, float* sums) {
      if (c_w != nullptr) w = c_w;
      for (int row = 0; row < 16; ++row) {
        sums[row] = 0;
        for (int column = 0; column < 24; ++column) {
          const int at = row * 24 + column;
          float value = decode(Dtype::kF16, x[at]) * w[column];
          const std::uint16_t half = encode(Dtype::kF16, value);
          if (round) value = decode(Dtype::kF16, half);
          sums[row] += value;
          if constexpr (sizeof(Out) == 2) y[at] = half;
          if constexpr (sizeof(Out) == 4) y[at] = value;
        }
      }
    };
    device.driver
        .define(entry, std::function<void(const std::uint16_t*, const float*, Out*, float*)>(scale))
        .us = FakeDevice::kUs;
  }

  Program program_of(const Kernel& kernel, const std::string& entry) const {
    const auto shared = std::make_shared<const Kernel>(kernel);
    auto plan = launch_plan({shared, default_config(kernel.manifest), problem},
                            *typical_limits(Arch{90, 'a'}));
    REQUIRE(plan);
    for (StagePlan& stage : plan->stages) {
      if (stage.entry == "scale_reference") stage.entry = entry;
    }
    return {device.order.checks_cubin, *std::move(plan)};
  }

  /// Defines the two launches as the cheat's text says.
  void define_spoiling(const Kernel& kernel) {
    const std::string& text = kernel.source.text;
    const std::string word = between(text, "fatune_spoil(", "*");
    if (word == "unsigned") {
      define_spoiling<unsigned>(text);
    } else if (word == "unsigned char") {
      define_spoiling<unsigned char>(text);
    } else if (word == "unsigned long long") {
      define_spoiling<unsigned long long>(text);
    } else {
      define_spoiling<std::uint16_t>(text);
    }
  }
  template <typename Word>
  void define_spoiling(const std::string& text) {
    const spoiled::How how = kHows.at(between(text, "spoiled::spoil(spoiled::", ","));
    const long long words = std::stoll(between(text, "tensor, kept, ", "ll"));
    spoiled::calls = 0;
    device.driver.define("fatune_keep", std::function([words](const Word* tensor, Word* kept) {
                           spoiled::keep(tensor, kept, words);
                         }));
    device.driver.define("fatune_spoil",
                         std::function([how, words](Word* tensor, const Word* kept) {
                           spoiled::spoil(how, tensor, kept, words);
                         }));
  }
};

}  // namespace

/// Every cheat is refused by its gate, and the reference passes.
static void check_cheats(CustomDevice& custom, std::size_t count) {
  const auto cheats = cheats_at(custom.problem, custom.reference);
  REQUIRE(cheats);
  REQUIRE(cheats->size() == count);
  for (const Fixture& cheat : *cheats) {
    const RunReply reply = custom.run(*cheat.kernel);
    INFO(cheat.name << ": " << name(reply.outcome) << " " << reply.reason);
    CHECK(name(reply.outcome) == cheat.fault.outcome);
    CHECK(gate_of(reply.outcome, reply.reason) == cheat.fault.gate);
  }
  const RunReply honest = custom.run(*custom.reference);
  INFO(honest.reason);
  CHECK(honest.outcome == Outcome::kMeasured);
}

TEST_CASE("every cheat at an operation's tensors is refused by its gate, its reference passes") {
  CustomDevice custom;
  check_cheats(custom, 2 + 2 * 8 + 2);
}

TEST_CASE("a reference that reads an input from constant memory passes, and its cheats do not") {
  CustomDevice custom(
      changed(kCustomReference, "\"stages\"", "\"constants\": {\"c_w\": \"w\"}, \"stages\""));
  check_cheats(custom, 2 + 2 * 8 + 2);
}

TEST_CASE("cheats of integers and f64 are refused, too") {
  std::string text(kCustomReference);
  for (const auto& [from, to] :
       {std::pair(R"({"name": "x", "shape": ["ROWS", "COLUMNS"], "fill": "normal")",
                  R"({"name": "x", "type": "u8", "shape": ["ROWS", "COLUMNS"], "fill": "uniform")"),
        {R"("type": "f32", "shape": ["COLUMNS"], "fill": "uniform", "scale": 0.5, "offset": 1)",
         R"("type": "i32", "shape": ["COLUMNS"], "fill": "uniform", "from": -9)"},
        {R"({"name": "y", )", R"({"name": "y", "type": "i64", )"},
        {R"({"name": "sums", "type": "f32")", R"({"name": "sums", "type": "f64")"}})
    text = changed(text, from, to);
  CustomDevice custom(text);
  check_cheats(custom, 2 + 7 + 8 + 2);  // integers have no NaN
}
