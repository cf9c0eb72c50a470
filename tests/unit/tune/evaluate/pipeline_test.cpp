// pipeline_test.cpp: Checks order, duplicates, failures and restarts of the event loop.
#include "tune/evaluate/pipeline.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/interrupt.hpp"
#include "support/evaluate_fakes.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

struct Bench {
  KernelRef kernel = tiled_kernel("k");
  FakeCompiler compiler;
  FakeLink* link = new FakeLink;
  DeviceTeam team{devices_of({link})};
  std::vector<std::string> started;
  std::vector<CandidateRecord> early;
  Pipeline pipeline{compiler,
                    team,
                    *typical_limits(Arch{90, 'a'}),
                    [](const Candidate& each) { return candidate_id(each, "options"); },
                    {[this](const StartedRecord& record) {
                       started.push_back(record.id);
                       return Status();
                     },
                     nullptr,
                     [this](const CandidateRecord& record) {
                       early.push_back(record);
                       return Status();
                     }}};

  Bench() {
    run = [](const Json& order) -> std::vector<Json> {
      return {to_json(measured(10.0 + tile_of_run(order)))};
    };
    link->answer = [this](const Json& order) { return answer_as_worker(order, run); };
    BeginOrder begin;
    FATUNE_CHECK(team.begin(begin, nullptr), "the fake worker gets ready");
    pipeline.begin({});
  }
  void submit(std::initializer_list<int> tiles) {
    for (const int tile : tiles)
      FATUNE_CHECK(pipeline.submit(make_candidate(kernel, tile)), "submitted");
  }
  void prepare(std::initializer_list<int> tiles) {
    std::vector<Candidate> likely;
    for (const int tile : tiles) likely.push_back(make_candidate(kernel, tile));
    pipeline.prepare(std::move(likely));
  }
  std::vector<int> requested() const {
    std::vector<int> tiles;
    for (const CompileRequest& request : compiler.requests) tiles.push_back(tile_of(request));
    return tiles;
  }
  CandidateRecord collect() {
    auto record = pipeline.collect();
    FATUNE_CHECK(record, "collected");
    return *record;
  }
  std::size_t runs() const {
    return static_cast<std::size_t>(
        std::count_if(link->orders.begin(), link->orders.end(),
                      [](const Json& order) { return message_type(order) == "run"; }));
  }

  std::function<std::vector<Json>(const Json&)> run;
};

}  // namespace

TEST_CASE("records come in the order of submission, also when compilations do not") {
  Bench bench;
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 1 ? 5 : 0;
  };
  bench.submit({1, 2, 3});
  for (const int tile : {1, 2, 3}) {
    const CandidateRecord record = bench.collect();
    CHECK(record.outcome == Outcome::kMeasured);
    CHECK(record.config["TILE"] == tile);
    REQUIRE(record.hot);
    CHECK(record.hot->median_us == 10.0 + tile);
    CHECK(record.resources->registers == 64);
    CHECK(record.spent.compile_s == 0.5);
  }
  CHECK(bench.started.size() == 3);
  CHECK(bench.pipeline.in_flight() == 0);
}

TEST_CASE("a submitted candidate is with a compiler before anybody waits") {
  Bench bench;
  bench.submit({1});
  CHECK(bench.compiler.dispatched == 1);
  bench.submit({2, 3});
  CHECK(bench.compiler.dispatched == 3);
}

TEST_CASE("an infeasible candidate is told why, without compiler or device") {
  Bench bench;
  bench.submit({7});
  CHECK(bench.compiler.requests.empty());
  const CandidateRecord record = bench.collect();
  CHECK(record.outcome == Outcome::kInfeasible);
  CHECK(record.reason.find("seven is no good here") != std::string::npos);
  CHECK(bench.started.empty());
}

TEST_CASE("a compile error carries the compiler's first line") {
  Bench bench;
  bench.compiler.compile = [](const CompileRequest&) {
    Compiled compiled;
    compiled.problem = "k.cu(1): error: no such thing";
    return compiled;
  };
  bench.submit({1});
  const CandidateRecord record = bench.collect();
  CHECK(record.outcome == Outcome::kCompileError);
  CHECK(record.reason == "k.cu(1): error: no such thing");
  CHECK(record.cubin.empty());
  CHECK(bench.runs() == 0);
}

TEST_CASE("equal machine code and launch is a duplicate, with the first one's times") {
  Bench bench;
  auto compile = bench.compiler.compile;
  bench.compiler.compile = [compile](const CompileRequest& request) {
    Compiled compiled = compile(request);
    if (tile_of(request) != 3) compiled.cubin_hash = "same";
    return compiled;
  };
  bench.submit({1, 2, 3});
  const CandidateRecord first = bench.collect(), second = bench.collect(), third = bench.collect();
  CHECK(first.outcome == Outcome::kMeasured);
  CHECK(second.outcome == Outcome::kDuplicate);
  CHECK(second.duplicate_of == first.id);
  CHECK(second.hot->median_us == first.hot->median_us);
  CHECK(third.outcome == Outcome::kMeasured);
  CHECK(bench.runs() == 2);
}

TEST_CASE("results of an earlier run make duplicates and set the best without a run") {
  Bench first, second;
  first.submit({4});
  const CandidateRecord known = first.collect();
  second.compiler.compile = [compile = second.compiler.compile,
                             known](const CompileRequest& request) {
    Compiled compiled = compile(request);
    if (tile_of(request) == 4) compiled.cubin_hash = known.cubin;
    return compiled;
  };
  second.pipeline.remember(make_candidate(second.kernel, 4), known);
  second.submit({4, 5});
  const CandidateRecord repeated = second.collect(), other = second.collect();
  CHECK(repeated.outcome == Outcome::kDuplicate);
  CHECK(repeated.duplicate_of == known.id);
  CHECK(other.outcome == Outcome::kMeasured);
  CHECK(second.runs() == 1);
}

TEST_CASE("the best so far reaches the device as the mark for giving up") {
  Bench bench;
  bench.submit({4, 2, 3});
  for (int i = 0; i < 3; ++i) bench.collect();
  std::vector<Json> runs;
  for (const Json& order : bench.link->orders) {
    if (message_type(order) == "run") runs.push_back(order);
  }
  REQUIRE(runs.size() == 3);
  CHECK_FALSE(runs[0].contains("best_hot_us"));
  CHECK(runs[1]["best_hot_us"] == 14.0);
  CHECK(runs[2]["best_hot_us"] == 12.0);
}

TEST_CASE("a fatal answer replaces the worker, which is told the problem again") {
  Bench bench;
  bench.run = [](const Json& order) -> std::vector<Json> {
    RunReply reply = measured(10);
    if (tile_of_run(order) == 2) {
      reply = {};
      reply.outcome = Outcome::kCrashed;
      reply.reason = "CUDA_ERROR_ILLEGAL_ADDRESS";
      reply.fatal = true;
    }
    return {to_json(ProgressNote{"verifying"}), to_json(reply)};
  };
  bench.submit({1, 2, 3});
  CHECK(bench.collect().outcome == Outcome::kMeasured);
  const CandidateRecord crashed = bench.collect();
  CHECK(crashed.outcome == Outcome::kCrashed);
  CHECK(crashed.reason == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(bench.collect().outcome == Outcome::kMeasured);
  CHECK(bench.link->starts == 2);
}

TEST_CASE(
    "a worker that dies without a word costs its candidate, and too many in a row end the run") {
  Bench bench;
  bench.run = [](const Json&) -> std::vector<Json> { return {}; };
  bench.submit({1});
  const CandidateRecord record = bench.collect();
  CHECK(record.outcome == Outcome::kCrashed);
  CHECK(record.reason == "the device worker died: signal SIGKILL");
  for (int i = 1; i < DeviceWorker::kMostDeaths; ++i) {
    // The machine code differs each time, because a crash is not run twice.
    const auto tile = bench.compiler.requests.size();
    bench.compiler.compile = [tile](const CompileRequest&) {
      Compiled compiled;
      compiled.ok = true;
      compiled.cubin_hash = std::to_string(tile);
      return compiled;
    };
    bench.submit({2});
    CHECK(bench.collect().outcome == Outcome::kCrashed);
  }
  bench.compiler.compile = [](const CompileRequest&) {
    Compiled compiled;
    compiled.ok = true;
    compiled.cubin_hash = "one more";
    return compiled;
  };
  const Status submitted = bench.pipeline.submit(make_candidate(bench.kernel, 3));
  REQUIRE_FALSE(submitted);
  CHECK(submitted.error().kind == ErrorKind::kDevice);
  CHECK(submitted.error().message.find("10 times in a row") != std::string::npos);
}

TEST_CASE("an interrupt launches nothing new") {
  Bench bench;
  request_interrupt();
  bench.submit({1});
  const auto record = bench.pipeline.collect();
  clear_interrupt();
  REQUIRE_FALSE(record);
  CHECK(record.error().kind == ErrorKind::kInterrupted);
  CHECK(bench.runs() == 0);
}

TEST_CASE("a long compilation holds up neither the device nor those behind it") {
  Bench bench;
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 1 ? 5 : 0;
  };
  bench.submit({1, 2, 3});
  for (const int tile : {1, 2, 3}) CHECK(bench.collect().config["TILE"] == tile);
  std::vector<int> ran;
  for (const Json& order : bench.link->orders) {
    if (message_type(order) == "run") ran.push_back(tile_of_run(order));
  }
  CHECK(ran == std::vector<int>{2, 3, 1});
  REQUIRE(bench.early.size() == 2);
  CHECK(bench.early[0].config["TILE"] == 2);
  CHECK(bench.early[0].outcome == Outcome::kMeasured);
  CHECK(bench.early[0].hot->median_us == 12.0);
}

TEST_CASE("of equal machine code the one submitted first is measured, whichever compiles first") {
  Bench bench;
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 1 ? 5 : 0;
  };
  bench.compiler.compile = [compile = bench.compiler.compile](const CompileRequest& request) {
    Compiled compiled = compile(request);
    compiled.cubin_hash = "same";
    return compiled;
  };
  bench.submit({1, 2});
  const CandidateRecord first = bench.collect(), second = bench.collect();
  CHECK(first.config["TILE"] == 1);
  CHECK(first.outcome == Outcome::kMeasured);
  CHECK(first.hot->median_us == 12.0);
  CHECK(second.outcome == Outcome::kDuplicate);
  CHECK(second.duplicate_of == first.id);
  CHECK(bench.runs() == 1);
  CHECK(bench.early.at(0).outcome == Outcome::kMeasured);
}

TEST_CASE("an interrupt waits for those older than one that has been on the device") {
  Bench bench;
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 2 ? 0 : 5;
  };
  bench.submit({1, 2, 3});
  request_interrupt();
  const CandidateRecord first = bench.collect(), second = bench.collect();
  const auto third = bench.pipeline.collect();
  clear_interrupt();
  CHECK(first.outcome == Outcome::kMeasured);
  CHECK(second.outcome == Outcome::kMeasured);
  REQUIRE_FALSE(third);
  CHECK(third.error().kind == ErrorKind::kInterrupted);
  CHECK(bench.runs() == 2);
}

TEST_CASE("machine code that spills too much or has serial wgmma is not launched") {
  Bench bench;
  bench.compiler.compile = [compile = bench.compiler.compile](const CompileRequest& request) {
    Compiled compiled = compile(request);
    Resources& used = compiled.entries["main_entry"];
    used.registers = 255;
    if (tile_of(request) == 1) used.spill_store_bytes = 300;
    if (tile_of(request) == 3) used.stack_bytes = 300;
    if (tile_of(request) == 4)
      used.warnings = {
          "(C7510) Potential Performance Loss: wgmma.mma_async instructions are "
          "serialized due to the presence of Extern calls"};
    // The default config is always measured, because others are compared with it.
    if (tile_of(request) == 2) used.spill_store_bytes = 300;
    if (tile_of(request) == 5) used.spill_store_bytes = 64;
    return compiled;
  };
  bench.submit({1, 3, 4, 2, 5});
  const CandidateRecord spills = bench.collect(), stack = bench.collect(), serial = bench.collect();
  for (const CandidateRecord* record : {&spills, &stack, &serial}) {
    CHECK(record->outcome == Outcome::kPruned);
    CHECK_FALSE(record->hot);
    CHECK(record->resources->registers == 255);
  }
  CHECK(spills.reason == "main_entry spills 300 bytes a thread, more than 256: not launched");
  CHECK(stack.reason.starts_with("main_entry has a stack frame of 300 bytes a thread"));
  CHECK(serial.reason.starts_with("main_entry: (C7510)"));
  CHECK(bench.collect().outcome == Outcome::kMeasured);
  CHECK(bench.collect().outcome == Outcome::kMeasured);
  CHECK(bench.runs() == 2);
}

TEST_CASE("a record tells which process compiled it, and how long before its result") {
  Bench bench;
  const auto compile = bench.compiler.compile;
  bench.compiler.compile = [&](const CompileRequest& request) {
    Compiled compiled = compile(request);
    compiled.ok = tile_of(request) != 3;
    if (tile_of(request) == 2) return compiled;  // a cache hit
    compiled.process = 5;
    compiled.ended = std::chrono::steady_clock::now() - std::chrono::seconds(10);
    return compiled;
  };
  bench.submit({1, 2, 3});
  const CandidateRecord measured = bench.collect(), cached = bench.collect(),
                        refused = bench.collect();
  CHECK(measured.spent.compiler == 5);
  CHECK(measured.spent.ready_s >= 10);
  CHECK(measured.spent.gpu_wait_s == 0);
  CHECK_FALSE(cached.spent.compiler);
  CHECK(cached.spent.ready_s < 10);
  CHECK(refused.outcome == Outcome::kCompileError);
  CHECK(refused.spent.ready_s >= 10);
}

TEST_CASE("what was compiled ahead is not compiled again when it is submitted") {
  Bench bench;
  // Waiting for 1 leaves time to compile 2 and to begin 3.
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 1 ? 4 : tile_of(request) == 3 ? 9 : 0;
  };
  bench.submit({1});
  bench.prepare({2, 3});
  CHECK(bench.requested() == std::vector<int>{1});
  CHECK(bench.collect().config["TILE"] == 1);
  CHECK(bench.requested() == std::vector<int>{1, 2, 3});
  CHECK(bench.started.size() == 1);
  CHECK(bench.pipeline.in_flight() == 0);
  bench.submit({3, 2});
  CHECK(bench.started.size() == 2);
  for (const int tile : {3, 2}) {
    const CandidateRecord record = bench.collect();
    CHECK(record.outcome == Outcome::kMeasured);
    CHECK(record.config["TILE"] == tile);
    CHECK(record.hot->median_us == 10.0 + tile);
    CHECK(record.spent.compile_s == 0.5);
  }
  CHECK(bench.requested() == std::vector<int>{1, 2, 3});
}

TEST_CASE("records are the same with guesses as without, right ones and wrong ones") {
  const auto records = [](const std::vector<int>& guesses) {
    Bench bench;
    bench.compiler.delay = [](const CompileRequest& request) { return tile_of(request); };
    bench.compiler.compile = [compile = bench.compiler.compile](const CompileRequest& request) {
      Compiled compiled = compile(request);
      if (tile_of(request) == 4) {
        compiled = {};
        compiled.problem = "the compiler crashed: signal SIGKILL";
      }
      if (tile_of(request) == 3 || tile_of(request) == 5) compiled.cubin_hash = "same";
      return compiled;
    };
    std::vector<std::string> lines;
    for (const int tile : {1, 5, 4, 3, 7}) {
      bench.submit({tile});
      std::vector<Candidate> likely;
      for (const int guess : guesses) likely.push_back(make_candidate(bench.kernel, guess));
      bench.pipeline.prepare(std::move(likely));
      CandidateRecord record = bench.collect();
      record.spent = {};
      lines.push_back(dump(to_json(record)));
    }
    return lines;
  };
  const auto plain = records({});
  CHECK(plain.at(2).find("the compiler crashed: signal SIGKILL") != std::string::npos);
  CHECK(records({4, 3, 7}) == plain);
  CHECK(records({8, 6, 2}) == plain);
}

TEST_CASE("a compiler stays free for each candidate that may take the place of one in flight") {
  Bench bench;
  bench.compiler.jobs = 2;
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 1 ? 0 : 5;
  };
  // The device runs 1 and a compiler has 2, so the other is free for the next submission.
  bench.submit({1, 2});
  bench.prepare({3});
  CHECK(bench.collect().config["TILE"] == 1);
  bench.submit({4});
  CHECK(bench.collect().config["TILE"] == 2);
  CHECK(bench.requested() == std::vector<int>{1, 2, 4});
}

TEST_CASE("after an interrupt nothing more is compiled ahead") {
  Bench bench;
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 1 ? 5 : 0;
  };
  bench.submit({1, 2});
  bench.prepare({3});
  request_interrupt();
  CHECK(bench.collect().outcome == Outcome::kMeasured);
  clear_interrupt();
  CHECK(bench.requested() == std::vector<int>{1, 2});
}

TEST_CASE("the end of preparations ends what nobody submitted") {
  Bench bench;
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 1 ? 5 : 20;
  };
  bench.submit({1});
  bench.prepare({2, 3});
  bench.collect();
  bench.pipeline.end_preparations();
  CHECK(bench.compiler.cancelled.size() == 2);
  bench.submit({2});
  CHECK(bench.requested() == std::vector<int>{1, 2, 3, 2});
}

TEST_CASE("candidates are compiled before the device knows the problem, and run behind that") {
  Bench bench;
  bench.team.expect({});
  bench.submit({1, 2});
  CHECK(bench.requested() == std::vector<int>{1, 2});
  CHECK(bench.runs() == 0);
  REQUIRE(bench.team.begin({}, nullptr));
  CHECK(bench.collect().hot->median_us == 11);
  CHECK(bench.collect().hot->median_us == 12);
}

TEST_CASE("what was submitted for a problem that cannot begin is forgotten") {
  Bench bench;
  bench.compiler.delay = [](const CompileRequest& request) {
    return tile_of(request) == 1 ? 5 : 0;
  };
  bench.team.expect({});
  bench.submit({1, 2});
  bench.pipeline.abandon();
  CHECK(bench.compiler.cancelled == std::vector<int>{1});
  CHECK(bench.pipeline.in_flight() == 0);
  REQUIRE(bench.team.begin({}, nullptr));
  bench.pipeline.begin({});
  bench.submit({3});
  CHECK(bench.collect().hot->median_us == 13);
  CHECK(bench.runs() == 1);
}
