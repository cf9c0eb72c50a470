// rank_worker_test.cpp: Runs rank workers and the pool of rank 0 over an in-process network.
#include "tune/fleet/rank_worker.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "support/captured_stderr.hpp"
#include "support/fake_evaluator.hpp"
#include "support/in_process_transport.hpp"
#include "tune/fleet/rank_pool.hpp"

namespace fatune {
namespace {

class QuickClock final : public FleetClock {
 public:
  void pause() override { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
};

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Stands in for a sweep: adds lines to a journal.
using Script =
    std::function<Status(std::ofstream& journal, const std::function<bool()>& cancelled)>;

void write_line(std::ofstream& journal, const char* line) { journal << line << std::endl; }

/// Runs a rank worker in a thread.
class WorkerThread {
 public:
  WorkerThread(test::InProcessNetwork& network, int rank, Script script, double silence_s = 30)
      : transport_(network, rank) {
    options_.silence_s = silence_s;
    options_.hello = [] {
      Environment toy;
      toy.limits.arch = {90, 'a'};
      return HelloMessage{.pid = 1, .fatune = "0.1.0", .devices = {{"toy", toy}}};
    };
    options_.open = [](const HelloMessage&, std::size_t) -> Result<std::unique_ptr<Evaluator>> {
      return std::unique_ptr<Evaluator>(std::make_unique<test::FakeEvaluator>(test::FakeDevice()));
    };
    options_.sweep = [script](const std::filesystem::path& folder, Evaluator&,
                              const std::function<bool()>& cancelled, const Say& say) {
      say("at work");
      std::ofstream journal(folder / "journal.jsonl", std::ios::app);
      return script(journal, cancelled);
    };
    thread_ = std::thread([this] { end = run_rank_worker(transport_, clock_, options_); });
  }
  ~WorkerThread() { join(); }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  std::optional<Result<RankWorkerEnd>> end;

 private:
  test::InProcessTransport transport_;
  QuickClock clock_;
  RankWorkerOptions options_;
  std::thread thread_;
};

struct Lead {
  test::InProcessNetwork network;
  test::InProcessTransport transport{network, 0};
  QuickClock clock;
  std::map<std::size_t, std::string> journals;  ///< by part

  explicit Lead(int size) : network(size) {}

  FleetResult run(std::size_t parts, double silence_s = 30) {
    RankPoolOptions options;
    options.silence_s = silence_s;
    options.own.fatune = "0.1.0";
    FleetWork work;
    work.journal_of = [this](std::size_t part, const Environment&) -> Result<std::string> {
      return journals[part];
    };
    work.take_lines = [this](std::size_t part, const FleetExecutor&, const std::string& lines) {
      journals[part] += lines;
      return Status();
    };
    RankPool pool(transport, clock, work, std::move(options));
    FleetOptions fleet{.costs = std::vector<double>(parts, 1), .on_event = on_event};
    auto result = run_fleet(fleet, pool);
    pool.stop();
    REQUIRE(result);
    return *std::move(result);
  }

  std::function<void(const FleetEvent&)> on_event = [](const FleetEvent&) {};
};

Status two_lines(std::ofstream& journal, const std::function<bool()>&) {
  write_line(journal, "one");
  sleep_ms(50);
  write_line(journal, "two");
  return {};
}

TEST_CASE("rank workers sweep the parts of rank 0 and send what comes of them") {
  Lead lead(3);
  WorkerThread first(lead.network, 1, two_lines), second(lead.network, 2, two_lines);
  const FleetResult result = lead.run(6);
  CHECK(result.failed.empty());
  REQUIRE(result.members.size() == 2);
  CHECK(result.members[0].parts > 0);
  CHECK(result.members[1].parts > 0);
  for (std::size_t part = 0; part < 6; ++part) CHECK(lead.journals[part] == "one\ntwo\n");
  first.join();
  CHECK(**first.end == RankWorkerEnd::kTogether);
}

TEST_CASE("a sweep that fails costs an attempt, and the next one goes on with its journal") {
  Lead lead(2);
  std::atomic<int> attempts = 0;
  WorkerThread worker(lead.network, 1, [&](std::ofstream& journal, const auto&) -> Status {
    write_line(journal, attempts == 0 ? "one" : "again");
    return ++attempts == 1 ? Status(device_error("the device is lost")) : Status();
  });
  const FleetResult result = lead.run(1);
  CHECK(result.failed.empty());
  CHECK(lead.journals[0] == "one\nagain\n");
}

TEST_CASE("the part of a rank whose network is silent ends on another, and nothing is repeated") {
  Lead lead(3);
  std::atomic<int> attempts = 0, cancellations = 0;
  const Script script = [&](std::ofstream& journal, const std::function<bool()>& cancelled) {
    if (++attempts > 1) {
      write_line(journal, "again");
      return Status();
    }
    write_line(journal, "one");
    for (int i = 0; i < 12000 && !cancelled(); ++i) sleep_ms(5);
    cancellations += cancelled() ? 1 : 0;
    return Status();
  };
  WorkerThread first(lead.network, 1, script), second(lead.network, 2, script);
  int cut = 0;
  lead.on_event = [&](const FleetEvent& event) {
    if (event.kind != FleetEvent::Kind::kBegins || cut > 0) return;
    cut = event.member->name.starts_with("rank 1") ? 1 : 2;
    sleep_ms(800);
    lead.network.cut(cut);
  };
  std::optional<FleetResult> result;
  const std::string said = test::captured_stderr([&] { result = lead.run(1, 2); });
  CHECK(result->failed.empty());
  CHECK(said.find("was silent for 2 s") != std::string::npos);
  CHECK(lead.journals[0] == "one\nagain\n");
  lead.network.mend(cut);
  first.join();
  second.join();
  CHECK(cancellations == 1);
}

TEST_CASE("a part of which a message was changed is done again, whichever message and byte") {
  for (int changed = 0; changed < 6; ++changed) {
    CAPTURE(changed);
    Lead lead(2);
    int leases = 0;  // messages that name a lease
    lead.network.change = [&](std::string& bytes) {
      if (bytes.find("\"lease\"") != std::string::npos && leases++ == changed)
        bytes[bytes.size() * static_cast<std::size_t>(changed + 1) / 7] ^= 1;
    };
    WorkerThread worker(lead.network, 1, two_lines);
    std::optional<FleetResult> result;
    const std::string said = test::captured_stderr([&] { result = lead.run(2); });
    CHECK(leases > changed);
    CHECK(result->failed.empty());
    for (std::size_t part = 0; part < 2; ++part) {
      CAPTURE(lead.journals[part]);
      CHECK(lead.journals[part].ends_with("one\ntwo\n"));
      CHECK(lead.journals[part].find_first_not_of("enotw\n") == std::string::npos);
    }
    worker.join();
  }
}

TEST_CASE("a rank worker whose rank 0 is gone ends") {
  test::InProcessNetwork network(2);
  WorkerThread worker(network, 1, two_lines, 0.05);
  worker.join();
  REQUIRE_FALSE(*worker.end);
  CHECK(worker.end->error().message.starts_with("rank 0 on host-a was silent for"));
}

}  // namespace
}  // namespace fatune
