// space_test.cpp: Checks enumerated spaces and their lookups against brute force.
#include "model/space/space.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/text.hpp"
#include "model/space/rules.hpp"
#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

/// A manifest with these axes (lists of numbers) and constraints.
std::string manifest_of(const std::vector<std::string>& axes, const std::vector<std::string>& rules,
                        const std::string& shared = "0") {
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string first = axes[i].substr(0, axes[i].find(','));
    parameters.push_back(fmt::format(
        R"({{"name": "P{}", "values": [{}], "default": {}, "meaning": "m"}})", i, axes[i], first));
  }
  std::vector<std::string> constraints;
  for (const std::string& rule : rules) {
    constraints.push_back(fmt::format(R"({{"require": "{}", "why": "w"}})", rule));
  }
  return fmt::format(R"({{"schema": "fatune.kernel/1", "name": "sample", "summary": "s",
    "source": "sample.cu", "supports": {{"dtypes": ["f16"], "masks": ["none"]}},
    "parameters": [{}], "constraints": [{}],
    "stages": [{{"entry": "e", "grid": ["1","1","1"], "block": ["32","1","1"],
                 "shared_bytes": "{}", "arguments": ["out"]}}]}})",
                     join(parameters, ","), join(constraints, ","), shared);
}

Result<Space> build(const std::string& manifest, const Attention& problem = kMission,
                    std::string_view arch = "80") {
  return Space::build(sample_kernel(manifest), problem, limits_of(arch));
}

/// Every raw point that infeasible_reason() lets pass, in order.
std::vector<Point> brute_force(const Kernel& kernel, const Attention& problem,
                               const DeviceLimits& limits) {
  const auto& parameters = kernel.manifest.parameters;
  const KernelRef shared = std::make_shared<const Kernel>(kernel);
  std::vector<Point> valid;
  Point point(parameters.size(), 0);
  while (true) {
    Candidate candidate{shared, {}, problem};
    for (std::size_t i = 0; i < point.size(); ++i) {
      candidate.config.settings.push_back({parameters[i].name, parameters[i].values[point[i]]});
    }
    const auto reason = infeasible_reason(candidate, limits);
    REQUIRE(reason);
    if (reason->empty()) valid.push_back(point);
    std::size_t axis = point.size();
    while (axis > 0 && ++point[axis - 1] == parameters[axis - 1].values.size()) point[--axis] = 0;
    if (axis == 0) return valid;
  }
}

void check_against_brute_force(const std::string& manifest, const Attention& problem,
                               std::string_view arch) {
  const KernelRef kernel = sample_kernel(manifest);
  const auto space = Space::build(kernel, problem, limits_of(arch));
  INFO((space ? "" : space.error().message));
  REQUIRE(space);
  const std::vector<Point> expected = brute_force(*kernel, problem, limits_of(arch));
  REQUIRE(space->size() == expected.size());
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    REQUIRE(space->point(i) == expected[i]);
    REQUIRE(space->index_of(expected[i]) == i);
  }
  std::uint64_t ruled_out = 0;
  for (const RuledOut& rule : space->ruled_out()) ruled_out += rule.points;
  CHECK(ruled_out + space->size() == space->raw_size());
}

TEST_CASE("the sample's space equals brute force on several devices") {
  for (const char* arch : {"80", "86", "89", "90a", "120"}) {
    check_against_brute_force(std::string(kSampleManifest), kMission, arch);
  }
}

TEST_CASE("random spaces equal brute force") {
  std::mt19937 random(1);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 30; ++round) {
    std::vector<std::string> axes;
    for (int i = 0; i < 5; ++i) {
      axes.push_back(std::vector<std::string>{"1,2,3", "4,8,16,32", "1,2", "5",
                                              "0,1"}[static_cast<std::size_t>(pick(5))]);
    }
    std::vector<std::string> rules;
    for (int i = pick(5); i > 0; --i) {
      switch (pick(4)) {
        case 0:
          rules.push_back(fmt::format("P{} * P{} <= {}", pick(5), pick(5), pick(40)));
          break;
        case 1:
          rules.push_back(
              fmt::format("(P{} + P{} + P{}) % 3 != {}", pick(5), pick(5), pick(5), pick(3)));
          break;
        case 2:
          rules.push_back(fmt::format("P{} >= {}", pick(5), pick(4)));
          break;
        default:
          rules.push_back(fmt::format("HEAD_DIM == 64 || P{} > 1", pick(5)));
      }
    }
    const std::string manifest = manifest_of(axes, rules, "P0 * P1 * 6000");
    INFO(manifest);
    check_against_brute_force(manifest, kMission, "86");
  }
}

/// The raw points at which no parameter's 'when' is broken, one by one.
std::uint64_t count_raw(const Kernel& kernel, const Attention& problem,
                        const DeviceLimits& limits) {
  auto rules = compile_rules(kernel.manifest, problem, limits);
  REQUIRE(rules);
  const auto& parameters = kernel.manifest.parameters;
  std::uint64_t count = 0;
  Point point(parameters.size(), 0);
  while (true) {
    count += std::all_of(rules->begin(), rules->end(), [&](CompiledRule& rule) {
      return !rule.is_choice() || *rule.holds(point);
    });
    std::size_t axis = point.size();
    while (axis > 0 && ++point[axis - 1] == parameters[axis - 1].values.size()) point[--axis] = 0;
    if (axis == 0) return count;
  }
}

TEST_CASE("random spaces of conditional parameters equal brute force, and so do their counts") {
  std::mt19937 random(2);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> axes;
    for (int i = 0; i < 6; ++i) {
      axes.push_back(std::vector<std::string>{"1,2,3", "4,8,16,32", "1,2",
                                              "0,1"}[static_cast<std::size_t>(pick(4))]);
    }
    std::vector<std::string> rules;
    for (int i = pick(4); i > 0; --i)
      rules.push_back(fmt::format("(P{} + P{}) % 3 != {}", pick(6), pick(6), pick(3)));
    std::string manifest = manifest_of(axes, rules, "P0 * P1 * 6000");
    for (int i = 1; i < 6; ++i) {
      if (pick(2) == 0) continue;
      const std::string when = pick(2) == 0
                                   ? fmt::format("P{} > 1", pick(i))
                                   : fmt::format("P{} + P{} < {}", pick(i), pick(i), pick(30));
      const std::string name = fmt::format(R"("name": "P{}", )", i);
      manifest.replace(manifest.find(name), name.size(),
                       fmt::format(R"({}"when": "{}", )", name, when));
    }
    INFO(manifest);
    check_against_brute_force(manifest, kMission, "86");
    const KernelRef kernel = sample_kernel(manifest);
    const auto space = Space::build(kernel, kMission, limits_of("86"));
    CHECK(space->raw_size() == count_raw(*kernel, kMission, limits_of("86")));
  }
}

TEST_CASE("a large space with conditions is counted, not multiplied out") {
  std::vector<std::string> axes(9, "0,1,2,3,4,5,6,7");
  axes.emplace_back("0,1,2,3");
  std::string manifest = manifest_of(axes, {"P0 == 1", "P5 == 2"});
  for (const char* name : {"P3", "P8"}) {
    const std::string field = fmt::format(R"("name": "{}", )", name);
    manifest.replace(manifest.find(field), field.size(),
                     fmt::format(R"({}"when": "P0 + P2 == 9", )", field));
  }
  const auto space = build(manifest);
  REQUIRE(space);
  // Six of the 64 pairs of P0 and P2 have the sum 9.
  const std::uint64_t others = 8U * 8U * 8U * 8U * 8U * 4U;  // P1, P4 to P7, P9
  CHECK(space->raw_size() == others * (6U * 64U + 58U));
  CHECK(space->size() == 8U * 8U * 8U * 8U * 4U * 8U);  // P1, P4, P6, P7, P9, P2; no pair has P0 1
  for (const RuledOut& rule : space->ruled_out()) CHECK(rule.points < space->raw_size());
}

TEST_CASE(
    "elsewhere a parameter has the value of 'otherwise', and breaks its 'when' with another") {
  const std::string manifest =
      sample_with(R"("default": true, "meaning": "exp2 or exp")",
                  R"("default": true, "otherwise": false, "meaning": "exp2 or exp",
         "when": [{"require": "BLOCK_M > 32", "why": "few rows"},
                  {"prunes": true, "require": "REDUCE == REDUCE_WARP", "why": "no gain"}])");
  const KernelRef kernel = sample_kernel(manifest);
  const auto space = Space::build(kernel, kMission, limits_of("80"));
  REQUIRE(space);
  for (std::uint64_t i = 0; i < space->size(); ++i) {
    const Config config = space->config(space->point(i));
    const bool choice = config.find("BLOCK_M")->number > 32 && config.find("REDUCE")->number == 0;
    CHECK((choice || config.find("EXP2")->number == 0));
  }
  Config config = default_config(kernel->manifest);
  const auto broken = [&](Strictness strictness) {
    return *infeasible_reason({kernel, config, kMission}, limits_of("80"), strictness);
  };
  config.settings[2].value = kernel->manifest.parameters[2].values[1];
  CHECK(broken(Strictness::kAll) == "breaks EXP2 == 0 || (REDUCE == REDUCE_WARP): no gain");
  CHECK(broken(Strictness::kNecessary).empty());
  config.settings[0].value = kernel->manifest.parameters[0].values[0];
  config.settings[1].value = kernel->manifest.parameters[1].values[0];
  CHECK(broken(Strictness::kNecessary) == "breaks EXP2 == 0 || (BLOCK_M > 32): few rows");
}

TEST_CASE("a large space is walked in an order of its own and still comes out sorted") {
  std::vector<std::string> axes(9, "0,1,2,3,4,5,6,7");
  axes.emplace_back("0,1,2,3");
  const auto space = build(manifest_of(
      axes, {"P9 == 3", "P8 == P0", "P7 + P6 == 1", "P5 == 2 && P4 == 3", "P1 + P2 + P3 <= 4"}));
  INFO((space ? "" : space.error().message));
  REQUIRE(space);
  CHECK(space->raw_size() == (std::uint64_t{1} << 29U));
  CHECK(space->size() == 8 * 2 * 35);
  for (std::uint64_t i = 0; i < space->size(); ++i) {
    const Point point = space->point(i);
    REQUIRE(space->index_of(point) == i);
    REQUIRE(point[8] == point[0]);
    REQUIRE(point[9] == 3);
    if (i > 0) REQUIRE(space->point(i - 1) < point);
  }
  std::uint64_t ruled_out = 0;
  for (const RuledOut& rule : space->ruled_out()) ruled_out += rule.points;
  CHECK(ruled_out + space->size() == space->raw_size());
}

/// The values 1 to 10 of eight axes, each tied to the one before: P1 by rule 0, and so on.
bool chained(std::size_t rule, int a, int b) {
  switch (rule) {
    case 0:
      return b % a == 0;
    case 1:
      return a + b <= 12;
    case 2:
      return a * b <= 40;
    case 3:
      return b % a == 0 || a > b;
    case 4:
      return a + b != 10;
    case 5:
      return a * b <= 50;
    default:
      return (a + b) % 3 != 1;
  }
}

TEST_CASE("a hundred million raw points with chained rules are walked along valid prefixes alone") {
  // How many valid points end in each value, axis after axis.
  std::vector<std::uint64_t> ending(11, 1);
  std::uint64_t prefixes = 1 + 10;
  for (std::size_t rule = 0; rule < 7; ++rule) {
    std::vector<std::uint64_t> next(11, 0);
    for (int b = 1; b <= 10; ++b) {
      for (int a = 1; a <= 10; ++a) {
        if (chained(rule, a, b))
          next[static_cast<std::size_t>(b)] += ending[static_cast<std::size_t>(a)];
      }
    }
    ending = next;
    prefixes += std::accumulate(ending.begin() + 1, ending.end(), std::uint64_t{0});
  }
  const std::uint64_t expected =
      std::accumulate(ending.begin() + 1, ending.end(), std::uint64_t{0});
  const std::string manifest =
      manifest_of(std::vector<std::string>(8, "1,2,3,4,5,6,7,8,9,10"),
                  {"P1 % P0 == 0", "P1 + P2 <= 12", "P2 * P3 <= 40", "P4 % P3 == 0 || P3 > P4",
                   "P4 + P5 != 10", "P5 * P6 <= 50", "(P6 + P7) % 3 != 1"});
  const auto space = build(manifest);
  REQUIRE(space);
  CHECK(space->raw_size() == 100'000'000);
  CHECK(space->size() == expected);
  CHECK(space->size() > 4'000'000);
  // Ten values below each valid prefix, and once ten a level to count the raw points.
  CHECK(space->steps() == 10 * (prefixes - expected) + 10 * 8);
}

TEST_CASE("whole subtrees are credited to the rule that cut them") {
  const auto space = build(manifest_of({"1,2,3,4", "1,2,3", "1,2"}, {"P0 <= 3", "P0 * P2 < 6"}));
  REQUIRE(space);
  REQUIRE(space->ruled_out().size() == 2);
  CHECK(space->ruled_out()[0].rule == "P0 <= 3");
  CHECK(space->ruled_out()[0].why == "w");
  CHECK(space->ruled_out()[0].points == 6);
  CHECK(space->ruled_out()[1].points == 3);
  CHECK(space->size() == 15);
}

TEST_CASE("shared memory is a rule of its own") {
  const auto space = build(manifest_of({"1,2,3"}, {}, "P0 * 50000"), kMission, "86");
  REQUIRE(space);
  CHECK(space->size() == 2);
  REQUIRE(space->ruled_out().size() == 1);
  CHECK(space->ruled_out()[0].rule == "shared memory of e");
  CHECK(space->ruled_out()[0].why == "the device allows 101376 bytes a block");
  CHECK(space->ruled_out()[0].points == 1);
}

TEST_CASE("a rule over the problem alone leaves all or nothing") {
  CHECK(build(manifest_of({"1,2", "3,4"}, {"HEAD_DIM == 64"}))->size() == 4);
  const auto none = build(manifest_of({"1,2", "3,4"}, {"HEAD_DIM == 128"}));
  REQUIRE(none);
  CHECK(none->size() == 0);
  CHECK(none->ruled_out()[0].points == 4);
  CHECK_FALSE(none->default_point());
}

TEST_CASE("a kernel without parameters has one config") {
  const auto space = build(manifest_of({}, {}));
  REQUIRE(space);
  CHECK(space->size() == 1);
  CHECK(space->point(0).empty());
  CHECK(space->default_point() == Point{});
  CHECK(space->neighbours({}).empty());
}

TEST_CASE("a rule that cannot be evaluated is an error with rule and config") {
  const auto space = build(manifest_of({"0,1,2", "4,6"}, {"P1 % P0 == 0"}));
  REQUIRE_FALSE(space);
  CHECK(space.error().message ==
        "sample.json: field 'constraints[0].require': 'P1 % P0 == 0' is not a finite number with "
        "P0=0 P1=4 (division by zero?), in the config P0=0 P1=4");
  const auto fixed = build(manifest_of({"1"}, {"1 / CAUSAL > 2"}));
  REQUIRE_FALSE(fixed);
  CHECK(fixed.error().message.starts_with("sample.json: field 'constraints[0].require': "));
  const auto bytes = build(manifest_of({"1,2"}, {}, "P0 - 2"));
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().message ==
        "sample.json: field 'stages[0].shared_bytes': 'P0 - 2' is -1, which is not a whole number "
        ">= 0 with P0=1, in the config P0=1");
}

TEST_CASE("an earlier rule guards a later one, whatever the order of the axes") {
  CHECK(build(manifest_of({"0,1,2", "4,6"}, {"P0 > 0", "P1 % P0 == 0"}))->size() == 4);
  const auto deeper =
      build(manifest_of({"0,2", "4,5", "0,1"}, {"P0 > 0 || P2 > 5", "P1 % P0 == 0"}));
  INFO((deeper ? "" : deeper.error().message));
  REQUIRE(deeper);
  CHECK(deeper->size() == 2);
  CHECK(deeper->ruled_out()[0].points == 4);
  CHECK_FALSE(build(manifest_of({"0,2", "4,5", "0,1"}, {"P1 % P0 == 0", "P0 > 0 || P2 > 5"})));
}

TEST_CASE("too many valid configs are an error that says what to shorten") {
  std::string values = "0";
  for (int i = 1; i < 300; ++i) values += fmt::format(",{}", i);
  const auto space = build(manifest_of({values, values, values}, {"P0 >= 0"}));
  REQUIRE_FALSE(space);
  CHECK(space.error().message ==
        "kernel sample has more than 8000000 valid configs for 4,8,512,64 f16; fix a parameter or "
        "shorten a list of values in sample.json (the longest is that of P0, with 300)");
  const auto overflow = build(manifest_of(std::vector<std::string>(8, values), {}));
  REQUIRE_FALSE(overflow);
  CHECK(overflow.error().message == "sample.json: field 'parameters' spans more than 2^63 configs");
}

TEST_CASE("a problem the kernel cannot do has no space") {
  Attention problem = kMission;
  problem.dtype = Dtype::kE4m3;
  const auto space = build(std::string(kSampleManifest), problem);
  REQUIRE_FALSE(space);
  CHECK(space.error().message ==
        "kernel sample cannot do 4,8,512,64 e4m3 on sm_80: it handles f16, bf16, not e4m3");
}

TEST_CASE("points, configs and candidates turn into each other") {
  const auto space = build(std::string(kSampleManifest));
  REQUIRE(space);
  for (std::uint64_t i = 0; i < space->size(); ++i) {
    const Point point = space->point(i);
    const auto back = space->point_of(space->config(point));
    REQUIRE(back);
    CHECK(*back == point);
    CHECK(space->candidate(point).config == space->config(point));
  }
  const auto start = space->default_point();
  REQUIRE(start);
  CHECK(space->config(*start) == default_config(space->kernel().manifest));
  CHECK_FALSE(space->contains({0, 2, 0, 0}));
  CHECK_FALSE(space->contains({0, 0}));
  CHECK_FALSE(space->contains({3, 0, 0, 0}));
  Config other = space->config(*start);
  other.settings[0].value.number = 96;
  CHECK_FALSE(space->point_of(other));
}

TEST_CASE("neighbours are the valid points that differ in one axis") {
  const auto space = build(std::string(kSampleManifest));
  REQUIRE(space);
  for (std::uint64_t i = 0; i < space->size(); ++i) {
    const Point point = space->point(i);
    std::set<Point> expected;
    for (std::uint64_t j = 0; j < space->size(); ++j) {
      const Point other = space->point(j);
      int different = 0;
      for (std::size_t a = 0; a < other.size(); ++a) different += other[a] != point[a] ? 1 : 0;
      if (different == 1) expected.insert(other);
    }
    const std::vector<Point> found = space->neighbours(point);
    CHECK(std::set<Point>(found.begin(), found.end()) == expected);
    CHECK(found.size() == expected.size());
  }
}

TEST_CASE("a space that takes too long to list hears an interrupt, and ends by itself") {
  const std::vector<std::string> axes(12, "1,2,3,4,5,6,7,8,9,10");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < axes.size(); ++i) names.push_back(fmt::format("P{}", i));
  const std::string endless = manifest_of(axes, {join(names, " * ") + " == 7"});
  auto ctrl_c = std::async(std::launch::async, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    request_interrupt();
  });
  const auto interrupted_one = build(endless);
  ctrl_c.wait();
  clear_interrupt();
  REQUIRE_FALSE(interrupted_one);
  CHECK(interrupted_one.error().kind == ErrorKind::kInterrupted);

  const auto began = std::chrono::steady_clock::now();
  const auto late = build(endless);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::kUsage);
  CHECK(late.error().message ==
        "while listing the configs of sample: not done within 10 s; fix a parameter, shorten a "
        "list of values, or add a constraint on few parameters");
}

TEST_CASE("an interrupt of before hides no space from a run that keeps what it has") {
  const std::string values = "1,2,3,4,5,6,7,8,9,10";
  request_interrupt();
  const auto space = build(manifest_of({values, values, values, values, values}, {}));
  clear_interrupt();
  REQUIRE(space);
  CHECK(space->size() == 100'000);
}

}  // namespace
}  // namespace fatune
