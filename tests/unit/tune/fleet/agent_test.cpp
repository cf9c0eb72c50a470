// agent_test.cpp: Lets agents of ranks and the crew of rank 0 talk over a network of one process.
#include "tune/fleet/agent.hpp"

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
#include "tune/fleet/rank_crew.hpp"

namespace fatune {
namespace {

class QuickClock final : public FleetClock {
 public:
  void pause() override { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
};

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// What stands in place of a sweep: it adds lines to a journal.
using Script =
    std::function<Status(std::ofstream& journal, const std::function<bool()>& cancelled)>;

void write_line(std::ofstream& journal, const char* line) { journal << line << std::endl; }

/// An agent in a thread of its own.
class AgentThread {
 public:
  AgentThread(test::InProcessNetwork& network, int rank, Script script, double silence_s = 30)
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
    thread_ = std::thread([this] { end = run_agent(transport_, clock_, options_); });
  }
  ~AgentThread() { join(); }
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  std::optional<Result<AgentEnd>> end;

 private:
  test::InProcessTransport transport_;
  QuickClock clock_;
  AgentOptions options_;
  std::thread thread_;
};

struct Lead {
  test::InProcessNetwork network;
  test::InProcessTransport transport{network, 0};
  QuickClock clock;
  std::map<std::size_t, std::string> journals;  ///< of parts

  explicit Lead(int size) : network(size) {}

  FleetResult run(std::size_t parts, double silence_s = 30) {
    RankCrewOptions options;
    options.silence_s = silence_s;
    options.own.fatune = "0.1.0";
    FleetWork work;
    work.journal_of = [this](std::size_t part, const Environment&) -> Result<std::string> {
      return journals[part];
    };
    work.take_lines = [this](std::size_t part, const FleetHand&, const std::string& lines) {
      journals[part] += lines;
      return Status();
    };
    RankCrew crew(transport, clock, work, std::move(options));
    FleetOptions fleet{.costs = std::vector<double>(parts, 1), .on_event = on_event};
    auto result = run_fleet(fleet, crew);
    crew.stop();
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

TEST_CASE("agents sweep the parts of rank 0 and send what comes of them") {
  Lead lead(3);
  AgentThread first(lead.network, 1, two_lines), second(lead.network, 2, two_lines);
  const FleetResult result = lead.run(6);
  CHECK(result.failed.empty());
  REQUIRE(result.members.size() == 2);
  CHECK(result.members[0].parts > 0);
  CHECK(result.members[1].parts > 0);
  for (std::size_t part = 0; part < 6; ++part) CHECK(lead.journals[part] == "one\ntwo\n");
  first.join();
  CHECK(**first.end == AgentEnd::kTogether);
}

TEST_CASE("a sweep that fails costs an attempt, and the next one goes on with its journal") {
  Lead lead(2);
  std::atomic<int> attempts = 0;
  AgentThread agent(lead.network, 1, [&](std::ofstream& journal, const auto&) -> Status {
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
  AgentThread first(lead.network, 1, script), second(lead.network, 2, script);
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

TEST_CASE("an agent whose rank 0 is gone ends") {
  test::InProcessNetwork network(2);
  AgentThread agent(network, 1, two_lines, 0.05);
  agent.join();
  REQUIRE_FALSE(*agent.end);
  CHECK(agent.end->error().message.starts_with("rank 0 on host-a was silent for"));
}

}  // namespace
}  // namespace fatune
