// fleet_test.cpp: Checks that free devices get parts and that failed parts are retried elsewhere.
#include "tune/fleet/fleet.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include "core/interrupt.hpp"

namespace fatune {
namespace {

/// A clock that advances only in pauses.
class PausedClock final : public FleetClock {
 public:
  double now_s() const override { return time_s_; }
  void pause() override { time_s_ += 0.02; }

 private:
  double time_s_ = 0;
};

/// A device that sweeps a part by a command: "sleep 0.6" ends after 0.6 s, "exit 5" fails at once.
class ScriptedExecutor final : public FleetExecutor {
 public:
  using Script = std::function<std::string(std::size_t part)>;
  ScriptedExecutor(std::string name, const FleetClock& clock, Script script)
      : name_(std::move(name)), clock_(clock), script_(std::move(script)) {}

  const std::string& name() const override { return name_; }
  std::string said() const override { return ""; }
  const Environment* environment() const override { return &environment_; }
  Status begin(std::size_t part) override {
    word_ = script_(part);
    begin_s_ = clock_.now_s();
    return {};
  }
  Result<PartReport> look() override {
    if (word_ == "exit 5") return PartReport{PartReport::State::kFailed, "exit 5"};
    const double ends_s = word_.starts_with("sleep ") ? std::stod(word_.substr(6)) : 0;
    if (clock_.now_s() - begin_s_ < ends_s) return PartReport{};
    return PartReport{PartReport::State::kEnded, ""};
  }

 private:
  std::string name_;
  const FleetClock& clock_;
  Script script_;
  Environment environment_;
  std::string word_;
  double begin_s_ = 0;
};

struct Harness {
  FleetOptions options;
  PausedClock clock;
  ExecutorPool pool{clock};
  std::vector<std::string> told;
  std::map<std::size_t, std::size_t> starts;  ///< by part

  Harness(std::vector<std::string> devices, std::vector<double> costs,
          const std::function<std::string(std::size_t part, const std::string& device)>& script) {
    options.costs = std::move(costs);
    for (const std::string& device : devices) {
      pool.executors.push_back(std::make_unique<ScriptedExecutor>(
          device, clock, [this, script, device](std::size_t part) {
            ++starts[part];
            return script(part, device);
          }));
    }
    options.on_event = [this](const FleetEvent& event) {
      constexpr const char* kWords[] = {"begins", "runs", "ends", "fails"};
      told.push_back(fmt::format("{} {} {}", event.member->name,
                                 kWords[static_cast<std::size_t>(event.kind)], event.part));
    };
  }

  FleetResult run() {
    auto result = run_fleet(options, pool);
    REQUIRE(result);
    return *std::move(result);
  }
};

TEST_CASE("the dearest part begins first, and whoever is free takes the next") {
  Harness harness({"a", "b"}, {1, 9, 5, 2}, [](std::size_t part, const std::string&) {
    return part == 1 ? "sleep 0.6" : "exit 0";
  });
  const FleetResult result = harness.run();
  CHECK(result.failed.empty());
  CHECK(harness.told[0] == "a begins 1");
  CHECK(harness.told[1] == "b begins 2");
  CHECK(result.members[0].parts == 1);
  CHECK(result.members[1].parts == 3);
  CHECK(result.members[0].work[0].end_s - result.members[0].work[0].begin_s >= 0.6);
  REQUIRE(result.members[1].work.size() == 3);
  CHECK(result.members[1].work[0].part == 2);
  CHECK(result.members[1].work[2].ended);
  CHECK(result.members[1].work[2].begin_s >= result.members[1].work[1].end_s);
  CHECK(result.members[0].work[0].end_s <= result.seconds);
  CHECK(result.seconds >= 0.6);
}

TEST_CASE("a part that fails is tried once more, on another device") {
  Harness harness({"a", "b"}, {1}, [](std::size_t, const std::string& device) {
    return device == "a" ? "exit 5" : "exit 0";
  });
  const FleetResult result = harness.run();
  CHECK(result.failed.empty());
  CHECK(harness.told ==
        std::vector<std::string>{"a begins 0", "a fails 0", "b begins 0", "b ends 0"});
  CHECK_FALSE(result.members[0].left_out);
  CHECK_FALSE(result.members[0].work[0].ended);
}

TEST_CASE("a part that fails twice is named, and the others go on") {
  Harness harness({"a", "b"}, {3, 2, 1}, [](std::size_t part, const std::string&) {
    return part == 0 ? "exit 5" : "exit 0";
  });
  const FleetResult result = harness.run();
  REQUIRE(result.failed.size() == 1);
  CHECK(result.failed[0].part == 0);
  CHECK(harness.starts[0] == 2);
  CHECK(result.members[0].parts + result.members[1].parts == 2);
}

TEST_CASE("a device on which two parts in a row fail takes no more") {
  Harness harness({"a", "b"}, {6, 5, 4, 3, 2, 1}, [](std::size_t, const std::string& device) {
    return device == "a" ? "exit 5" : "sleep 0.2";
  });
  const FleetResult result = harness.run();
  CHECK(result.failed.empty());
  CHECK(result.members[0].left_out);
  CHECK(result.members[1].parts == 6);
}

TEST_CASE("parts that fail on every device take none of them out") {
  Harness harness({"a", "b"}, {9, 8, 7, 6, 3, 2, 1}, [](std::size_t part, const std::string&) {
    return part < 4 ? "exit 5" : "exit 0";
  });
  const FleetResult result = harness.run();
  CHECK(result.failed.size() == 4);
  for (const FailedPart& each : result.failed) {
    CHECK(each.part < 4);
    CHECK(harness.starts[each.part] == 2);
  }
  CHECK(result.members[0].parts + result.members[1].parts == 3);
  CHECK_FALSE(result.members[0].left_out);
  CHECK_FALSE(result.members[1].left_out);
}

TEST_CASE("a device that is left out works again once its parts fail on another, too") {
  Harness harness({"a", "b"}, {9, 8, 7, 1, 1, 1, 1, 1},
                  [](std::size_t part, const std::string& device) -> std::string {
                    if (part == 1) return "sleep 0.3";
                    if (part == 0 || part == 2) return "exit 5";
                    return device == "a" ? "exit 0" : "sleep 0.1";
                  });
  const FleetResult result = harness.run();
  CHECK(harness.told[1] == "b begins 1");
  CHECK(result.failed.size() == 2);
  CHECK(result.members[0].work.size() > 2);
  CHECK_FALSE(result.members[0].left_out);
}

TEST_CASE("two broken devices spoil no part that a sound one can sweep") {
  Harness harness({"a", "b", "c"}, {7, 6, 5, 4, 3, 2, 1},
                  [](std::size_t, const std::string& device) {
                    return device == "c" ? "sleep 0.2" : "exit 5";
                  });
  const FleetResult result = harness.run();
  CHECK(result.failed.empty());
  CHECK(result.members[0].left_out);
  CHECK(result.members[1].left_out);
  CHECK(result.members[2].parts == 7);
}

TEST_CASE("with no device left every part is named") {
  Harness harness({"a"}, {3, 2, 1}, [](std::size_t, const std::string&) { return "exit 5"; });
  const FleetResult result = harness.run();
  CHECK(result.failed.size() == 3);
  CHECK(result.members[0].left_out);
}

TEST_CASE("Ctrl-C ends a fleet") {
  Harness harness({"a"}, {1}, [](std::size_t, const std::string&) { return "sleep 60"; });
  harness.options.on_event = [](const FleetEvent&) { request_interrupt(); };
  const auto result = run_fleet(harness.options, harness.pool);
  clear_interrupt();
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace fatune
