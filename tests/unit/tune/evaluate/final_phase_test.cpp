// final_phase_test.cpp: Checks final phases with fakes: edge problems, failures, intervals.
#include "tune/evaluate/final_phase.hpp"

#include <set>

#include <catch2/catch_test_macros.hpp>

#include "support/evaluate_fakes.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

const std::vector<PassedGate> kLaunched = {{GateId::kLaunch}};
std::vector<PassedGate> with_edges(std::int64_t passed, std::int64_t of) {
  return {{GateId::kLaunch}, {GateId::kEdgeProblems, passed, of}};
}

struct Hall {
  KernelRef kernel = tiled_kernel("k");
  KernelRef naive = tiled_kernel("naive", "reference");
  FakeCompiler compiler;
  FakeLink* link = new FakeLink;
  DeviceWorker worker{std::unique_ptr<WorkerLink>(link)};
  Attention problem{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
  std::function<RunReply(const Json& order, const Json& begun)> run = [](const Json&, const Json&) {
    return measured(10);
  };
  Json begun;
  int finalist_tile = 1;
  double drift = 0.001;      ///< relative, between rounds
  bool tells_gates = false;  ///< reports gates of timed launches, and the order's seed
  int wrong_again = 0;       ///< number of second rounds that refuse their first contestant

  Hall() {
    link->answer = [this](const Json& order) -> std::vector<Json> {
      if (message_type(order) == "begin") begun = order;
      return answer_as_worker(order, [&](const Json& other) -> std::vector<Json> {
        if (message_type(other) == "run") return {to_json(run(other, begun))};
        return {to_json(ProgressNote{"final 0/40"}), to_json(rounds(other))};
      });
    };
  }

  RoundsReply rounds(const Json& order) {
    RoundsReply reply;
    for (std::size_t i = 0; i < order["contestants"].size(); ++i) {
      RoundsRow row;
      for (int round = 0; round < order["rounds"]; ++round) {
        row.hot_us.push_back(10.0 * static_cast<double>(i + 1) * (1 + drift * round));
        row.cold_us.push_back(20.0 * static_cast<double>(i + 1));
      }
      row.hot_launches = 20;
      if (tells_gates && order["verify"]) row.gates = {{GateId::kTimedOutput}};
      if (tells_gates) row.not_run = {"seed " + order["seed"].dump()};
      if (i == 0 && order["seed"] != 42 && wrong_again-- > 0) row.outcome = Outcome::kWrongResult;
      reply.rows.push_back(row);
    }
    return reply;
  }

  Implementation elsewhere(const std::string& impl) const {
    return {
        impl, RowRole::kBaseline, {nullptr, {}, problem}, OutsideProgram{impl, {{"what", impl}}}};
  }

  std::vector<FinalRecord> finals(const FinalPlan& plan = {},
                                  const std::vector<Implementation>& more = {}) {
    const FinalSetting setting{compiler,
                               worker,
                               {naive, *typical_limits(Arch{90, 'a'}), 10},
                               {},
                               [](const Candidate& each) { return candidate_id(each, "options"); },
                               nullptr};
    std::vector<Implementation> contestants = {
        {"fatune:k", RowRole::kFinalist, make_candidate(kernel, finalist_tile, problem)},
        {"fatune:k", RowRole::kDefault, make_candidate(kernel, 2, problem)},
        {"naive", RowRole::kBaseline, make_candidate(naive, 2, problem)}};
    contestants.insert(contestants.end(), more.begin(), more.end());
    auto records = run_final_phase(setting, problem, plan, contestants);
    FATUNE_CHECK(records, "the fake final phase runs");
    return *records;
  }
};

/// Returns a wrong result for the finalist, which has tile 1, on the edge problem of length 17.
RunReply first_wrong_at_17(const Json& order, const Json& begun) {
  RunReply reply = measured(10);
  if (tile_of_run(order) == 1 && begun["problem"]["seq_q"] == 17)
    reply.outcome = Outcome::kWrongResult;
  return reply;
}

std::string first_that_is_right(const std::vector<FinalRecord>& records) {
  const auto first = std::ranges::find_if(
      records, [](const FinalRecord& record) { return record.is_candidate(); });
  return first == records.end() ? std::string() : first->id;
}

}  // namespace

TEST_CASE("finals verify everywhere, then time everybody in aligned rounds") {
  Hall hall;
  const auto records = hall.finals();
  REQUIRE(records.size() == 3);
  for (const FinalRecord& record : records) {
    CHECK(record.outcome == Outcome::kMeasured);
    CHECK(record.hot_rounds_us.size() == 40);
    CHECK(record.cold_rounds_us.size() == 40);
    REQUIRE((record.hot && record.cold));
    CHECK(record.hot->samples == 40);
    CHECK(*record.hot->ci95_low_us <= record.hot->median_us);
    CHECK(*record.hot->ci95_high_us >= record.hot->median_us);
  }
  CHECK(records[0].hot->launches_per_sample == 20);
  CHECK(records[0].verification->gates == with_edges(7, 7));
  CHECK(records[2].verification->gates == kLaunched);
  CHECK(records[0].id.size() == 16);
}

TEST_CASE("a finalist that is wrong on an edge problem stays in the list without times") {
  Hall hall;
  hall.run = [](const Json& order, const Json& begun) {
    RunReply reply = measured(10);
    if (tile_of_run(order) == 1 && begun["problem"]["seq_q"] == 17) {
      reply.outcome = Outcome::kWrongResult;
      reply.reason = "accuracy: max";
    }
    return reply;
  };
  const auto records = hall.finals();
  CHECK(records[0].outcome == Outcome::kWrongResult);
  CHECK(records[0].reason.starts_with("edge problem 2,3,17,64 f16: accuracy"));
  CHECK_FALSE(records[0].hot);
  CHECK(records[0].hot_rounds_us.empty());
  CHECK(records[1].outcome == Outcome::kMeasured);
  // Second in the rounds, after a contestant that was timed, too.
  CHECK(records[1].hot->median_us > 20);
}

TEST_CASE("reserves take part where every finalist is refused, and only there") {
  Hall hall;
  FinalPlan plan;
  plan.winner = first_that_is_right;
  plan.reserves = {{"fatune:k", RowRole::kFinalist, make_candidate(hall.kernel, 3, hall.problem)}};
  REQUIRE(hall.finals(plan).size() == 3);

  hall.run = [](const Json& order, const Json&) {
    RunReply reply = measured(10);
    if (tile_of_run(order) == 1) reply.outcome = Outcome::kWrongResult;
    return reply;
  };
  plan.winner = [](const auto& records) { return records.back().id; };
  const auto records = hall.finals(plan);
  REQUIRE(records.size() == 4);
  CHECK(records[0].outcome == Outcome::kWrongResult);
  CHECK(records[3].role == RowRole::kFinalist);
  CHECK(records[3].outcome == Outcome::kMeasured);
  CHECK(records[3].hot);
  CHECK(records[3].verification->gates == with_edges(7, 7));
}

TEST_CASE("with a winner, edge problems are checked for it alone") {
  Hall hall;
  FinalPlan plan;
  plan.winner = [](const auto& records) { return records[1].id; };
  const auto records = hall.finals(plan);
  CHECK(records[0].verification->gates == kLaunched);
  CHECK(records[0].verification->not_run ==
        std::vector<std::string>{"edge_problems: checked for the winner alone"});
  CHECK(records[1].verification->gates == with_edges(7, 7));
  CHECK(records[1].verification->not_run.empty());
  CHECK(records[2].verification->not_run.empty());
  // The first contestant no longer wins, so its early compilations of edge problems are cancelled.
  CHECK(hall.compiler.cancelled == std::vector<int>(7, 1));
}

/// A kernel whose config of tile 1 supports one number of rows only; other tiles support all.
KernelRef fills_waves(int least = 16384) {
  std::string text = manifest_text("k", "attention");
  const std::string constraints = R"("constraints":[)";
  text.replace(text.find(constraints), constraints.size(),
               constraints + R"({"require": "TILE > 1 || BATCH * HEADS * SEQ_Q > )" +
                   std::to_string(least) + R"(", "why": "it fills whole waves"}, )");
  const auto kernels =
      load_kernels({{"k.cu", "extern \"C\" __global__ void main_entry() {}"}, {"k.json", text}});
  FATUNE_CHECK(kernels && kernels->size() == 1, "the test kernel is well formed");
  return kernels->front();
}

TEST_CASE("who can do no other edge problem meets the last resort, and nobody else does") {
  Hall hall;
  hall.kernel = fills_waves();
  hall.problem.seq_q = 1024;
  std::set<std::int64_t> lengths_of_first;
  hall.run = [&](const Json& order, const Json& begun) {
    if (tile_of_run(order) == 1)
      lengths_of_first.insert(begun["problem"]["seq_q"].get<std::int64_t>());
    return measured(10);
  };
  for (const bool winner_alone : {false, true}) {
    FinalPlan plan;
    if (winner_alone) plan.winner = first_that_is_right;
    const auto records = hall.finals(plan);
    CHECK(records[0].verification->gates == with_edges(1, 8));
    CHECK(lengths_of_first == std::set<std::int64_t>{257, 1024});
    if (winner_alone) continue;
    CHECK(records[1].verification->gates == with_edges(7, 7));
  }
}

TEST_CASE("CTAs that take work tiles one after the other meet the last resort, too") {
  Hall hall;
  std::string text = manifest_text("k", "attention");
  const std::string grid = R"(["BATCH * HEADS",)";
  text.replace(text.find(grid), grid.size(), R"(["TILE > 1 ? BATCH * HEADS : 132",)");
  const auto kernels =
      load_kernels({{"k.cu", "extern \"C\" __global__ void main_entry() {}"}, {"k.json", text}});
  REQUIRE(kernels);
  hall.kernel = kernels->front();
  hall.run = [](const Json&, const Json&) { return measured(10); };
  const auto records = hall.finals();
  CHECK(records[0].verification->gates == with_edges(8, 8));
  CHECK(records[1].verification->gates == with_edges(7, 7));
}

TEST_CASE("edge problems of which a contestant can do none were not run") {
  Hall hall;
  hall.kernel = fills_waves(60'000);
  hall.problem.seq_q = 65'536 / (hall.problem.batch * hall.problem.heads);
  hall.run = [](const Json&, const Json&) { return measured(10); };
  const Verification verification = *hall.finals()[0].verification;
  CHECK(verification.gates == kLaunched);
  CHECK(verification.not_run == std::vector<std::string>{"edge_problems: it can do none of 8"});
}

TEST_CASE("a winner that comes after another can have the last resort, too") {
  Hall hall;
  hall.kernel = fills_waves();
  hall.problem.seq_q = 1024;
  hall.finalist_tile = 3;
  hall.run = [](const Json& order, const Json& begun) {
    RunReply reply = measured(10);
    if (tile_of_run(order) > 1 && begun["problem"]["seq_q"] == 17)
      reply.outcome = Outcome::kWrongResult;
    return reply;
  };
  FinalPlan plan;
  plan.winner = first_that_is_right;
  const auto records = hall.finals(
      plan, {{"fatune:k", RowRole::kFinalist, make_candidate(hall.kernel, 1, hall.problem)}});
  CHECK(records[0].outcome == Outcome::kWrongResult);
  CHECK(records[1].outcome == Outcome::kWrongResult);
  CHECK(records[3].verification->gates == with_edges(1, 8));

  plan.edge_problems = false;
  const auto unasked = hall.finals(plan);
  CHECK(unasked[0].verification->gates == kLaunched);
}

TEST_CASE("the next winner proves itself when the first is wrong on an edge problem") {
  Hall hall;
  hall.run = first_wrong_at_17;
  FinalPlan plan;
  plan.winner = first_that_is_right;
  const auto records = hall.finals(plan);
  CHECK(records[0].outcome == Outcome::kWrongResult);
  CHECK_FALSE(records[0].hot);
  CHECK(records[1].verification->gates == with_edges(7, 7));
}

TEST_CASE("winners that fail one after another share the references of that edge problem") {
  Hall hall;
  std::vector<Json> begun;
  hall.run = [&](const Json& order, const Json& now) {
    if (begun.empty() || begun.back() != now["problem"]) begun.push_back(now["problem"]);
    RunReply reply = measured(10);
    if (tile_of_run(order) != 6 && now["problem"]["seq_q"] == 17)
      reply.outcome = Outcome::kWrongResult;
    return reply;
  };
  std::vector<Implementation> more;
  for (const int tile : {3, 4, 5, 6})
    more.push_back(
        {"fatune:k", RowRole::kFinalist, make_candidate(hall.kernel, tile, hall.problem)});
  FinalPlan plan;
  plan.winner = first_that_is_right;
  const auto records = hall.finals(plan, more);
  CHECK(records[6].verification->gates == with_edges(7, 7));
  for (const std::size_t wrong : {0, 1, 3, 4, 5})
    CHECK(records[wrong].outcome == Outcome::kWrongResult);
  const auto seventeens =
      std::ranges::count_if(begun, [](const Json& each) { return each["seq_q"] == 17; });
  CHECK(seventeens == 1);
  CHECK(begun.size() == 1 + 2 + 6);  // main problem, two for the first, the rest for the last
}

TEST_CASE("where rounds are noisy the winner and the baselines are timed again") {
  Hall hall;
  FinalPlan plan;
  plan.winner = [](const auto& records) { return records[1].id; };
  const auto orders_of = [&] {
    std::vector<Json> orders;
    for (const Json& order : hall.link->orders)
      if (message_type(order) == "rounds") orders.push_back(order);
    return orders;
  };
  hall.drift = 0.0001;
  const auto quiet = hall.finals(plan);
  CHECK(orders_of().size() == 1);
  CHECK_FALSE(quiet[1].timed_again);

  hall.link->orders.clear();
  hall.drift = 0.01;
  hall.tells_gates = true;
  const auto noisy = hall.finals(plan);
  const auto orders = orders_of();
  REQUIRE(orders.size() == 2);
  CHECK(orders[1]["contestants"] ==
        Json({orders[0]["contestants"][1], orders[0]["contestants"][2]}));
  CHECK(orders[1]["seed"] != orders[0]["seed"]);
  CHECK_FALSE(noisy[0].timed_again);
  CHECK(noisy[1].timed_again);
  CHECK(noisy[2].timed_again);
  CHECK(noisy[1].hot_rounds_us.front() == 10);  // the first round of the second order
  // The gates belong to the second rounds, which decide the times.
  CHECK(noisy[1].verification->gates == std::vector<PassedGate>{{GateId::kLaunch},
                                                                {GateId::kTimedOutput},
                                                                {GateId::kEdgeProblems, 7, 7}});
  CHECK(noisy[1].verification->not_run == std::vector<std::string>{"seed 43"});
  CHECK(noisy[2].verification->not_run == std::vector<std::string>{"seed 43"});
}

TEST_CASE("a winner whose second rounds leave wrong outputs gives its place to the next") {
  Hall hall;
  hall.drift = 0.01;
  hall.wrong_again = 1;
  FinalPlan plan;
  plan.winner = [](const auto& records) {
    const auto right = std::ranges::find(records, Outcome::kMeasured, &FinalRecord::outcome);
    return right->id;
  };
  const auto records = hall.finals(plan);
  CHECK(records[0].outcome == Outcome::kWrongResult);
  CHECK_FALSE(records[0].verification->passed);
  CHECK_FALSE(records[0].hot);
  CHECK(records[1].outcome == Outcome::kMeasured);
  CHECK(records[1].timed_again);
}

TEST_CASE(
    "who wins when the first fails at an edge problem is timed again where rounds are noisy") {
  Hall hall;
  hall.drift = 0.01;
  hall.run = first_wrong_at_17;
  FinalPlan plan;
  plan.winner = first_that_is_right;
  const auto records = hall.finals(plan);
  CHECK(records[0].outcome == Outcome::kWrongResult);
  CHECK(records[1].timed_again);
  CHECK(records[2].timed_again);
  std::vector<std::string> types;
  for (const Json& order : hall.link->orders) types.push_back(message_type(order));
  REQUIRE(types.back() == "rounds");  // on the main problem
  CHECK(hall.begun["problem"]["seq_q"] == 512);
  CHECK(hall.link->orders.back()["contestants"].size() == 2);
  CHECK(records[1].verification->gates == with_edges(7, 7));
}

TEST_CASE("whatever fails at an edge problem has not passed, and has no times") {
  Hall hall;
  hall.run = first_wrong_at_17;
  hall.compiler.compile = [compile = hall.compiler.compile](const CompileRequest& request) {
    Compiled compiled = compile(request);
    compiled.ok =
        request.source.path != "k.cu" || tile_of(request) != 2 || !has_macro(request, "SEQ_Q=63");
    return compiled;
  };
  const auto records = hall.finals();
  CHECK(records[0].outcome == Outcome::kWrongResult);
  CHECK(records[1].outcome == Outcome::kCompileError);
  for (const std::size_t failed : {0, 1}) {
    CHECK_FALSE(records[failed].hot);
    CHECK(records[failed].hot_rounds_us.empty());
    CHECK_FALSE(records[failed].verification->passed);
  }
}

TEST_CASE("where nobody is right, the edge problems are not compiled for nobody") {
  Hall hall;
  hall.compiler.delay = [](const CompileRequest& request) {
    return request.macros.empty() || has_macro(request, "SEQ_Q=512") ? 0 : 1000;
  };
  hall.run = [](const Json&, const Json&) {
    RunReply reply = measured(10);
    reply.outcome = Outcome::kWrongResult;
    return reply;
  };
  FinalPlan plan;
  plan.winner = [](const auto&) { return std::string(); };
  hall.finals(plan);
  CHECK(hall.compiler.idle() == hall.compiler.jobs);
}

TEST_CASE("a margin far above that of the default config gets a note") {
  Hall hall;
  hall.run = [](const Json& order, const Json&) {
    RunReply reply = measured(10);
    reply.verification->margin = tile_of_run(order) == 1 ? 0.8 : 0.3;
    return reply;
  };
  const auto records = hall.finals({.edge_problems = false});
  CHECK(records[0].verification->precision_note == "margin 0.80, the default config's is 0.30");
  CHECK(records[1].verification->precision_note.empty());
}

TEST_CASE("without edge problems only the problem itself is begun") {
  Hall hall;
  const auto records = hall.finals({.edge_problems = false});
  CHECK(records[0].verification->gates == kLaunched);
  int begins = 0;
  for (const Json& order : hall.link->orders) begins += message_type(order) == "begin";
  CHECK(begins == 1);
}

TEST_CASE("no rounds: the gates alone") {
  Hall hall;
  const auto records = hall.finals({.rounds = 0});
  CHECK(records[0].verification->gates == with_edges(7, 7));
  CHECK_FALSE(records[0].hot);
  for (const Json& order : hall.link->orders) CHECK(message_type(order) != "rounds");
}

TEST_CASE("secret inputs are drawn anew, once everything is compiled") {
  Hall hall;
  hall.compiler.delay = [](const CompileRequest&) { return 3; };
  std::vector<Json> seeds;
  hall.run = [&](const Json&, const Json& begun) {
    seeds.push_back(begun["cases"]);
    return measured(10);
  };
  FinalPlan plan = examination_plan(Scrutiny::kCheck);
  hall.finals(plan);
  const Json first = seeds.front();
  hall.finals(plan);
  CHECK(first != seeds.back());
  const auto open = hall.finals();
  CHECK(seeds.back() != first);
  CHECK(open.size() == 3);
}

TEST_CASE("of secret inputs nothing is made where nothing compiles") {
  Hall hall;
  hall.compiler.compile = [](const CompileRequest& request) {
    Compiled compiled;
    compiled.problem = "k.cu(1): error";
    compiled.ok = tile_of(request) == 0;
    return compiled;
  };
  const auto records = hall.finals(examination_plan(Scrutiny::kRank));
  for (const FinalRecord& record : records) {
    CHECK(record.outcome == Outcome::kCompileError);
    CHECK(record.reason == "k.cu(1): error");
  }
  CHECK(hall.begun.is_null());
}

TEST_CASE("a config that the problem itself rules out is infeasible, and says why") {
  Hall hall;
  hall.finalist_tile = 7;
  const auto records = hall.finals();
  CHECK(records[0].outcome == Outcome::kInfeasible);
  CHECK(records[0].reason == "breaks TILE != 7: seven is no good here");
  CHECK_FALSE(records[0].hot);
  CHECK(records[1].outcome == Outcome::kMeasured);
}

TEST_CASE("an implementation from elsewhere is verified and timed like everyone") {
  Hall hall;
  hall.run = [](const Json& order, const Json&) {
    RunReply reply = measured(10);
    if (order["program"].contains("impl")) reply.detail = "version 9";
    return reply;
  };
  const auto records = hall.finals({}, {hall.elsewhere("cudnn")});
  REQUIRE(records.size() == 4);
  const FinalRecord& row = records[3];
  CHECK(row.impl == "cudnn");
  CHECK(row.id.empty());
  CHECK(row.kernel.empty());
  CHECK(row.problem == hall.problem);
  CHECK(row.outcome == Outcome::kMeasured);
  CHECK(row.verification->passed);
  CHECK(row.detail == "version 9");
  CHECK(row.hot_rounds_us.size() == 40);
}

TEST_CASE("what is from elsewhere is announced before the device is asked for anything") {
  Hall hall;
  hall.finals({}, {hall.elsewhere("torch:flash"), hall.elsewhere("cudnn")});
  REQUIRE(hall.link->orders.size() > 2);
  CHECK(message_type(hall.link->orders[0]) == "hello");
  const auto expected = read_message<ExpectOrder>(hall.link->orders[1]);
  REQUIRE(expected);
  CHECK(expected->problem == hall.problem);
  REQUIRE(expected->programs.size() == 2);
  CHECK(expected->programs[0].impl == "torch:flash");
  const auto hellos = std::ranges::count_if(
      hall.link->orders, [](const Json& order) { return message_type(order) == "hello"; });
  CHECK(hellos == 1);
}

TEST_CASE("a process that could not open the device beside another is started again") {
  Hall hall;
  const auto answer = hall.link->answer;
  hall.link->answer = [&](const Json& order) -> std::vector<Json> {
    const bool busy = message_type(order) == "hello" && hall.link->starts == 1;
    if (busy) return {to_json(ErrorReply{device_error("the device is busy")})};
    return answer(order);
  };
  const auto records = hall.finals();
  CHECK(hall.link->starts == 2);
  CHECK(records[0].outcome == Outcome::kMeasured);
}

TEST_CASE("a library that is missing costs its row alone") {
  Hall hall;
  hall.run = [](const Json& order, const Json&) {
    RunReply reply = measured(10);
    if (!order["program"].contains("impl")) return reply;
    reply.outcome = Outcome::kUnavailable;
    reply.reason = "libcudnn.so.9 was not found";
    return reply;
  };
  const auto records = hall.finals({}, {hall.elsewhere("cudnn")});
  CHECK(records[0].hot);
  CHECK(records[3].outcome == Outcome::kUnavailable);
  CHECK(records[3].reason == "libcudnn.so.9 was not found");
  CHECK_FALSE(records[3].hot);
  const auto rounds = std::ranges::find_if(
      hall.link->orders, [](const Json& order) { return message_type(order) == "rounds"; });
  REQUIRE(rounds != hall.link->orders.end());
  CHECK((*rounds)["contestants"].size() == 3);
}
