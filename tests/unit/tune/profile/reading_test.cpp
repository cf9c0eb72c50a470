// reading_test.cpp: Checks the explanation of counters: thresholds, exceptions, bottleneck.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "tune/profile/profile.hpp"

using namespace fatune;

namespace {

/// Unremarkable counters of a full device.
Counters quiet() {
  Counters c;
  c.tensor_pct = 55;
  c.dram_pct = 20;
  c.l2_pct = 30;
  c.warps_pct = 60;
  c.conflicts_load = c.conflicts_store = 0;
  c.wavefronts_load = c.wavefronts_store = 1000;
  c.stall_barrier = c.stall_long_scoreboard = c.stall_short_scoreboard = 1;
  c.spill_loads = c.spill_stores = 0;
  return c;
}

LaunchFacts full() {
  LaunchFacts facts;
  facts.blocks = 528;
  facts.sm_count = 132;
  facts.resources.blocks_per_sm = 2;
  return facts;
}

Finding finding(const Reading& reading, const std::string& what) {
  const auto found = std::find_if(reading.findings.begin(), reading.findings.end(),
                                  [&](const Finding& each) { return each.what == what; });
  REQUIRE(found != reading.findings.end());
  return *found;
}

std::string bound(const Counters& counters, const LaunchFacts& facts = full()) {
  return read_counters(counters, facts).bound_by;
}

}  // namespace

TEST_CASE("the limits are the targets") {
  Counters c = quiet();
  const auto mark = [&](const char* what) { return finding(read_counters(c, full()), what).mark; };
  CHECK(mark("tensor active") == Mark::kGood);
  c.tensor_pct = 50;
  CHECK(mark("tensor active") == Mark::kBad);
  CHECK(mark("DRAM") == Mark::kGood);
  c.dram_pct = 70;
  CHECK(mark("DRAM") == Mark::kBad);
  CHECK(mark("warps active") == Mark::kGood);
  c.warps_pct = 40;
  CHECK(mark("warps active") == Mark::kBad);
  CHECK(mark("bank conflicts") == Mark::kGood);
  c.conflicts_load = 100;  // of 2000 passes
  CHECK(mark("bank conflicts") == Mark::kBad);
  CHECK(mark("spills") == Mark::kGood);
  c.spill_stores = 1;
  CHECK(mark("spills") == Mark::kBad);
}

TEST_CASE("few warps of a wgmma kernel are not judged, and it is said") {
  Counters c = quiet();
  c.tensor_pct = 45;
  c.warps_pct = 18;
  c.limit_registers = 1;
  c.limit_shared = 2;
  CHECK(finding(read_counters(c, full()), "warps active").mark == Mark::kBad);
  c.wgmma_instructions = 4096;
  const Finding warps = finding(read_counters(c, full()), "warps active");
  CHECK(warps.mark == Mark::kNote);
  CHECK(warps.sentence ==
        "low by design, not judged: few warps with many registers feed the tensor cores (warp "
        "specialisation, wgmma); registers allow 1 blocks a multiprocessor");
}

TEST_CASE("what was not counted is absent, never zero") {
  const Reading reading = read_counters(Counters{}, LaunchFacts{});
  CHECK(reading.bound_by == "unknown");
  for (const Finding& each : reading.findings) {
    INFO(each.what);
    CHECK(each.mark == Mark::kAbsent);
    CHECK_FALSE(each.value);
  }
  CHECK_FALSE(to_json(reading)["findings"][0].contains("value"));
}

TEST_CASE("roofs bind first") {
  Counters c = quiet();
  c.stall_barrier = 60;
  CHECK(bound(c) == "barrier");
  c.l2_pct = 75;
  CHECK(bound(c) == "l2");
  c.dram_pct = 80;
  CHECK(bound(c) == "dram");
  c.tensor_pct = 75;
  CHECK(bound(c) == "tensor");
}

TEST_CASE("the stall furthest above its limit binds, and its cause is named") {
  Counters c = quiet();
  c.stall_wait = 33;
  CHECK(bound(c) == "wait");
  c.stall_short_scoreboard = 20;
  CHECK(bound(c) == "short_scoreboard");
  c.conflicts_load = 500;
  CHECK(bound(c) == "bank_conflicts");
  c.stall_long_scoreboard = 60;
  CHECK(bound(c) == "long_scoreboard");
  c.spill_loads = 10;
  CHECK(bound(c) == "spills");
}

TEST_CASE("an empty device binds before stalls, a ragged last wave after them") {
  Counters c = quiet();
  LaunchFacts facts = full();
  facts.blocks = 300;  // 1.14 waves
  CHECK(bound(c, facts) == "waves");
  c.stall_barrier = 40;
  CHECK(bound(c, facts) == "barrier");
  facts.blocks = 32;
  CHECK(bound(c, facts) == "waves");
}

TEST_CASE("without a stall the tensor cores set the pace, or latency does") {
  Counters c = quiet();
  CHECK(bound(c) == "tensor");
  c.tensor_pct = 30;
  CHECK(bound(c) == "latency");
}

TEST_CASE("a kernel without tensor cores is told so") {
  Counters c = quiet();
  c.tensor_pct = 0;
  CHECK(finding(read_counters(c, full()), "tensor active").sentence ==
        "no tensor-core instruction ran: the kernel multiplies on ordinary cores");
}

TEST_CASE("waiting for the math pipes is told, not judged") {
  Counters c = quiet();
  c.stall_math = 50;
  CHECK(finding(read_counters(c, full()), "stall: math pipe").mark == Mark::kNote);
  CHECK(bound(c) == "tensor");
}
