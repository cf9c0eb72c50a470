// agent_test.cpp - a rank's agent and rank 0's crew over a network of one process, with shells in
// place of sweeps.
#include "tune/fleet/agent.hpp"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "support/captured_stderr.hpp"
#include "support/evaluate_fakes.hpp"
#include "support/in_process_transport.hpp"
#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"
#include "tune/fleet/part_process.hpp"
#include "tune/fleet/rank_crew.hpp"

namespace fatune {
namespace {

class QuickClock final : public FleetClock {
 public:
  void pause() override { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
};

/// An agent in a thread of its own, whose orders are scripts for a shell.
class AgentThread {
 public:
  using Change = std::function<void(AgentOptions&)>;
  AgentThread(test::InProcessNetwork& network, int rank, const Change& change = nullptr)
      : transport_(network, rank) {
    options_.hello = [] {
      Environment toy;
      toy.limits.arch = {90, 'a'};
      return HelloMessage{.pid = 1, .fatune = "0.1.0", .devices = {{"toy", toy}}};
    };
    options_.jobs = [](const HelloMessage&) { return std::size_t{1}; };
    options_.command = [](const std::vector<std::string>& words, const PartPlace& place) {
      ChildCommand command{
          .program = "/bin/sh",
          .arguments = {"-c", "mkdir -p \"$0\"; cd \"$0\"; " + words.at(0), place.folder.string()}};
      command.stderr_file = place.log;
      return command;
    };
    if (change) change(options_);
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
  test::TemporaryFolder folder;
  test::InProcessNetwork network;
  test::InProcessTransport transport{network, 0};
  QuickClock clock;
  std::string script, resumed = "echo again >> journal.jsonl";

  explicit Lead(int size) : network(size) {}

  FleetResult run(std::size_t parts, double silence_s = 30) {
    RankCrewOptions options;
    options.silence_s = silence_s;
    options.own.fatune = "0.1.0";
    options.order = [this](std::size_t part) {
      const auto place = folder / std::to_string(part);
      return PartOrder{place, place.string() + ".log", {script}, {resumed}};
    };
    RankCrew crew(transport, clock, std::move(options));
    FleetOptions fleet{.costs = std::vector<double>(parts, 1), .on_event = on_event};
    auto result = run_fleet(fleet, crew, clock);
    crew.stop();
    REQUIRE(result);
    return *std::move(result);
  }
  std::string journal(std::size_t part) const {
    const auto text = read_file(folder / std::to_string(part) / "journal.jsonl");
    return text ? *text : "";
  }

  std::function<void(const FleetEvent&)> on_event = [](const FleetEvent&) {};
};

TEST_CASE("agents sweep the parts of rank 0 and send what comes of them") {
  Lead lead(3);
  AgentThread first(lead.network, 1), second(lead.network, 2);
  lead.script =
      "echo one > journal.jsonl; sleep 0.1; echo two >> journal.jsonl; echo {} > best.json";
  const FleetResult result = lead.run(6);
  CHECK(result.failed.empty());
  REQUIRE(result.members.size() == 2);
  CHECK(result.members[0].parts > 0);
  CHECK(result.members[1].parts > 0);
  for (std::size_t part = 0; part < 6; ++part) CHECK(lead.journal(part) == "one\ntwo\n");
  first.join();
  CHECK(**first.end == AgentEnd::kTogether);
}

/// A rank without a GPU, whose compiler writes a file for each request.
void only_compile(AgentOptions& options, const std::filesystem::path& folder) {
  options.hello = [] {
    return HelloMessage{.pid = 1,
                        .fatune = "0.1.0",
                        .devices = {},
                        .problem = "no driver here",
                        .compiler = "nvrtc 13"};
  };
  options.compiler = [folder](std::size_t) -> Result<HostCompiler> {
    auto compiler = std::make_unique<test::FakeCompiler>();
    compiler->compile = [folder](const CompileRequest& request) {
      Compiled compiled;
      compiled.ok = true;
      compiled.cubin_path = folder / "code";
      const std::string code = "code of " + request.label;
      REQUIRE(replace_file(compiled.cubin_path, code));
      compiled.cubin_hash = sha256_hex(code);
      return compiled;
    };
    return HostCompiler{std::move(compiler), [](const CompileRequest&) { return "key"; }};
  };
}

TEST_CASE("an order travels from a sweep of rank 0 to a rank without a GPU, and its code back") {
  test::TemporaryFolder folder;
  test::InProcessNetwork network(2);
  test::InProcessTransport transport(network, 0);
  QuickClock clock;
  AgentThread agent(network, 1,
                    [&](AgentOptions& options) { only_compile(options, folder.path()); });
  RankCrewOptions options;
  options.own = {
      .pid = 1, .fatune = "0.1.0", .devices = {{"cuda:0", Environment()}}, .compiler = "nvrtc 13"};
  RankCrew crew(transport, clock, std::move(options));
  CompileDesk::Guest guest(crew.desk());
  auto ends = make_channel_pair();
  REQUIRE(ends);
  auto& [sweep, rank] = *ends;
  for (const char* key : {"key", "another"}) {
    const std::int64_t number = key == std::string("key") ? 7 : 8;
    CompileOrder order{key, test::request("r", "")};
    REQUIRE(sweep.send(to_json(CompileMessage{number, order})));
    std::optional<Json> answer;
    while (!answer) {
      REQUIRE(crew.pump());
      if (crew.remote_jobs() > 0) REQUIRE(guest.serve(rank));
      const auto message = sweep.receive(std::chrono::milliseconds(5));
      REQUIRE(message);
      answer = *message;
    }
    const auto compiled = from_json<CompiledMessage>(*answer, "test");
    REQUIRE(compiled);
    CHECK(compiled->number == number);
    if (number == 7) CHECK(from_hex(compiled->code) == "code of r");
    CHECK(compiled->refused.empty() == (number == 7));
  }
  crew.stop();
}

/// The frame of a sweep's order, for a shell to send.
std::filesystem::path order_in(const std::filesystem::path& folder) {
  const std::string body = dump(to_json(CompileMessage{7, {"key", test::request("r", "")}}));
  std::string frame(4, 0);
  for (std::size_t i = 0; i < frame.size(); ++i)
    frame[i] = static_cast<char>(body.size() >> (8 * i) & 0xff);
  REQUIRE(replace_file(folder / "order", frame + body));
  return folder / "order";
}

ChildCommand shell(const std::string& words) {
  ChildCommand command{.program = "/bin/sh", .arguments = {"-c", words}};
  command.stderr_file = "/dev/null";
  return command;
}

TEST_CASE("what a process that has ended had asked for is withdrawn at once") {
  test::TemporaryFolder folder;
  std::vector<std::string> told;
  CompileDesk desk([&](const RankMessage& message) {
    told.push_back(std::holds_alternative<CompileMessage>(message) ? "compile" : "withdraw");
    return Status();
  });
  const std::filesystem::path heard = folder / "heard";
  auto process =
      PartProcess::start(shell(fmt::format("cat '{}' >&3; until [ -e '{}' ]; do sleep 0.01; done",
                                           order_in(folder.path()).string(), heard.string())),
                         &desk);
  REQUIRE(process);
  for (auto state = HandReport::State::kRuns; state == HandReport::State::kRuns;) {
    const auto report = process->look();
    REQUIRE(report);
    state = report->state;
    if (!told.empty()) REQUIRE(replace_file(heard, ""));
  }
  CHECK(told == std::vector<std::string>{"compile", "withdraw"});
}

TEST_CASE("nothing follows the word that the sweep is over") {
  test::TemporaryFolder folder;
  test::InProcessNetwork network(2);
  test::InProcessTransport transport(network, 0);
  QuickClock clock;
  RankCrewOptions options;
  options.own = {
      .pid = 1, .fatune = "0.1.0", .devices = {{"cuda:0", Environment()}}, .compiler = "nvrtc 13"};
  auto crew = std::make_unique<RankCrew>(transport, clock, std::move(options));
  network.send(1, 0, to_bytes(HelloMessage{.pid = 2, .fatune = "0.1.0", .compiler = "nvrtc 13"}));
  REQUIRE(crew->pump());
  auto hand = std::make_unique<ProcessHand>(
      "cuda:0",
      [&](std::size_t) {
        return shell("cat '" + order_in(folder.path()).string() + "' >&3; sleep 60");
      },
      &crew->desk());
  REQUIRE(hand->begin(0));
  const auto asked = [&] {
    for (auto parcel = network.poll(1); parcel; parcel = network.poll(1)) {
      const auto read = read_message(parcel->bytes, "test");
      if (read && std::holds_alternative<CompileMessage>(read->message)) return true;
    }
    return false;
  };
  while (!asked()) {
    REQUIRE(hand->look());
    clock.pause();
  }
  crew->hands.push_back(std::move(hand));
  crew->stop();
  crew.reset();
  std::string last;
  while (const auto parcel = network.poll(1)) last = parcel->bytes;
  const auto read = read_message(last, "test");
  REQUIRE(read);
  CHECK(std::holds_alternative<StopMessage>(read->message));
}

TEST_CASE("a process that is killed costs an attempt, and the next one goes on with its journal") {
  Lead lead(2);
  AgentThread agent(lead.network, 1);
  lead.script = "echo one > journal.jsonl; sleep 0.1; kill -9 $$";
  const FleetResult result = lead.run(1);
  CHECK(result.failed.empty());
  CHECK(lead.journal(0) == "one\nagain\n");
}

TEST_CASE("the part of a rank whose network is silent ends on another, and nothing is repeated") {
  Lead lead(3);
  AgentThread first(lead.network, 1), second(lead.network, 2);
  lead.script = "echo one > journal.jsonl; sleep 0.2; echo two >> journal.jsonl; sleep 60";
  int cut = 0;
  lead.on_event = [&](const FleetEvent& event) {
    if (event.kind != FleetEvent::Kind::kBegins || cut > 0) return;
    cut = event.member->name.starts_with("rank 1") ? 1 : 2;
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    lead.network.cut(cut);
  };
  std::optional<FleetResult> result;
  const std::string said = test::captured_stderr([&] { result = lead.run(1, 2); });
  CHECK(result->failed.empty());
  CHECK(said.find("was silent for 2 s") != std::string::npos);
  CHECK(lead.journal(0) == "one\ntwo\nagain\n");
  lead.network.mend(cut);
  first.join();
  second.join();
}

TEST_CASE("an agent whose rank 0 is gone ends") {
  test::InProcessNetwork network(2);
  AgentThread agent(network, 1, [](AgentOptions& options) { options.silence_s = 0.05; });
  agent.join();
  REQUIRE_FALSE(*agent.end);
  CHECK(agent.end->error().message.starts_with("rank 0 on host-a was silent for"));
}

}  // namespace
}  // namespace fatune
