// messages_test.cpp: Checks that every message read back equals the message written.
#include "worker/protocol/messages.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "support/evaluate_fakes.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

Program a_program() {
  Program program{"/tmp/a.cubin", {}};
  StagePlan stage;
  stage.entry = "main";
  stage.grid[0] = 32;
  stage.block[0] = 128;
  stage.arguments = {"q", "k", "v", "out", "scratch"};
  program.plan.stages.push_back(stage);
  program.plan.scratch.push_back({"scratch", 4096});
  return program;
}

}  // namespace

TEST_CASE("a begin order survives the journey") {
  BeginOrder order;
  order.problem = Attention{
      .batch = 4, .heads = 8, .kv_heads = 2, .seq_q = 512, .seq_kv = 300, .mask = Mask::kCausal};
  order.checks_cubin = "/tmp/checks.cubin";
  order.reference = order.low_precision = a_program();
  order.cases = {{Distribution::kNormal, 42}, {Distribution::kOutliers, 0xffffffffffffffffULL}};
  order.kernel_deadline_s = 2.5;
  const Json message = sent(to_json(order));
  CHECK(message_type(message) == "begin");
  const auto read = read_message<BeginOrder>(message);
  REQUIRE(read);
  CHECK(read->problem == order.problem);
  CHECK(read->cases == order.cases);
  CHECK(read->kernel_deadline_s == 2.5);
  CHECK(dump(to_json(*read)) == dump(message));
}

TEST_CASE("a run order and its answer survive the journey") {
  RunOrder order;
  order.id = "0123456789abcdef";
  order.program = a_program();
  order.cold = true;
  order.best_hot_us = 9.81;
  const auto read = read_message<RunOrder>(sent(to_json(order)));
  REQUIRE(read);
  CHECK(read->cold);
  CHECK(read->best_hot_us == 9.81);
  CHECK_FALSE(read->best_cold_us);
  CHECK(dump(to_json(*read)) == dump(to_json(order)));

  RunReply reply = measured(12.5);
  reply.outcome = Outcome::kPruned;
  reply.reason = "slow";
  reply.conditions = Conditions{.sm_clock_mhz_max = 1980};
  reply.verify_s = 0.25;
  reply.fatal = true;
  const auto answer = read_message<RunReply>(sent(to_json(reply)));
  REQUIRE(answer);
  CHECK(answer->outcome == Outcome::kPruned);
  CHECK(answer->hot->median_us == 12.5);
  CHECK_FALSE(answer->cold);
  CHECK(answer->verification->margin == 0.5);
  CHECK(answer->conditions->sm_clock_mhz_max == 1980);
  CHECK(answer->fatal);
}

TEST_CASE("rounds survive the journey") {
  RoundsOrder order;
  order.contestants = {a_program(), {"", {}, OutsideProgram{"torch:flash", {{"python", "py"}}}}};
  order.seed = 7;
  order.verify = false;
  const auto read = read_message<RoundsOrder>(sent(to_json(order)));
  REQUIRE(read);
  REQUIRE(read->contestants.size() == 2);
  CHECK_FALSE(read->contestants[0].outside);
  REQUIRE(read->contestants[1].outside);
  CHECK(read->contestants[1].outside->impl == "torch:flash");
  CHECK(read->contestants[1].outside->settings["python"] == "py");
  CHECK(read->rounds == 40);
  CHECK(read->seed == 7);
  CHECK_FALSE(read->verify);
}

TEST_CASE("the answer of the rounds survives the journey") {
  RoundsRow row;
  row.hot_us = {1.5, 2.5};
  row.cold_us = {3, 4};
  row.hot_launches = 20;
  row.conditions = Conditions{.power_w = 400};
  row.detail = "cuDNN 9";
  row.in_layer_us = {0.5};
  row.gates = {{GateId::kPhysics}, {GateId::kTimedOutput}};
  row.not_run = {"persisting_l2: no such limit"};
  RoundsRow failed;
  failed.outcome = Outcome::kUnavailable;
  failed.reason = "no python3";
  const auto answer =
      read_message<RoundsReply>(sent(to_json(RoundsReply{{row, failed}, "16 layers"})));
  REQUIRE(answer);
  CHECK(answer->layer_note == "16 layers");
  CHECK(answer->rows[0].in_layer_us == std::vector<double>{0.5});
  CHECK(answer->rows[0].hot_us == std::vector<double>{1.5, 2.5});
  CHECK(answer->rows[0].hot_launches == 20);
  CHECK(answer->rows[0].conditions->power_w == 400);
  CHECK(answer->rows[0].detail == "cuDNN 9");
  CHECK(answer->rows[0].gates == row.gates);
  CHECK(answer->rows[0].not_run == row.not_run);
  CHECK(answer->rows[1].outcome == Outcome::kUnavailable);
  CHECK(answer->rows[1].reason == "no python3");
}

TEST_CASE("short messages have a type and their content") {
  CHECK(message_type(sent(to_json(HelloOrder{}))) == "hello");
  CHECK(message_type(sent(to_json(ListOrder{}))) == "list");
  CHECK(message_type(Json::array()) == "");
  CHECK(read_message<ReadyReply>(sent(to_json(ReadyReply{12.5})))->reference_us == 12.5);
  CHECK(read_message<ProgressNote>(sent(to_json(ProgressNote{"final 4/40"})))->phase ==
        "final 4/40");
  const auto error =
      read_message<ErrorReply>(sent(to_json(ErrorReply{environment_error("no driver")})));
  REQUIRE(error);
  CHECK(error->error.kind == ErrorKind::kEnvironment);
  CHECK(error->error.message == "no driver");
  Environment environment;
  environment.device_name = "NVIDIA H200";
  environment.limits = *typical_limits(Arch{90, 'a'});
  CHECK(
      read_message<DeviceReply>(sent(to_json(DeviceReply{environment})))->environment.device_name ==
      "NVIDIA H200");
  const DevicesReply two{{{environment, ""}, {environment, "MIG is on"}}};
  const auto listed = read_message<DevicesReply>(sent(to_json(two)));
  REQUIRE(listed->devices.size() == 2);
  CHECK(listed->devices[1].device_name == "NVIDIA H200");
  CHECK(listed->devices[1].unfit == "MIG is on");
  CHECK(read_message<DevicesReply>(sent(to_json(DevicesReply{})))->devices.empty());
}

TEST_CASE("a message with a missing field says which") {
  Json message = to_json(RunOrder{});
  message.erase("program");
  const auto read = read_message<RunOrder>(message);
  REQUIRE_FALSE(read);
  CHECK(read.error().message.find("program") != std::string::npos);
}
