// gate_table_test.cpp: Checks that every gate has its texts, and that a refusal leads to its row.
#include "model/kernel/gate_table.hpp"

#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "model/results/measurement.hpp"

using namespace fatune;

TEST_CASE("every gate has a name of its own, a statement, a reason and a usual cause") {
  std::set<std::string_view> names;
  for (const GateText& gate : gate_table()) {
    INFO(gate.name);
    CHECK(gate.id == static_cast<GateId>(names.size()));
    CHECK(names.insert(gate.name).second);
    CHECK_FALSE(gate.statement.empty());
    CHECK_FALSE(gate.why.empty());
    CHECK_FALSE(gate.usual_cause.empty());
    CHECK(name(gate.id) == gate.name);
    CHECK(find_gate(gate.name) == &gate);
  }
  CHECK(names.contains("edge_problems"));
  CHECK(find_gate("no_such_gate") == nullptr);
}

TEST_CASE("the gate of every outcome is in the table") {
  for (const Outcome outcome : {Outcome::kInfeasible, Outcome::kCompileError, Outcome::kLaunchError,
                                Outcome::kTimeout, Outcome::kCrashed})
    CHECK(find_gate(gate_of(outcome, "a reason: with a colon")) != nullptr);
  for (const GateText& gate : gate_table()) {
    const std::string reason = std::string(gate.name) + ": something was wrong";
    CHECK(find_gate(gate_of(Outcome::kWrongResult, reason)) == &gate);
  }
}
