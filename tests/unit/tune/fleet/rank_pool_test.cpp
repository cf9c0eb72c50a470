// rank_pool_test.cpp: Checks how rank 0 handles messages and silence of other ranks.
#include "tune/fleet/rank_pool.hpp"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "support/captured_stderr.hpp"
#include "support/in_process_transport.hpp"

namespace fatune {
namespace {

using State = PartReport::State;

class SetClock final : public FleetClock {
 public:
  double now_s() const override { return time_s; }
  void pause() override { time_s += 0.5; }
  double time_s = 100;
};

Environment gpu(const std::string& uuid, const std::string& driver = "580.1") {
  Environment environment;
  environment.fatune = "0.1.0";
  environment.device_name = "NVIDIA H200";
  environment.device_uuid = uuid;
  environment.driver = driver;
  environment.nvrtc = "13.0";
  environment.limits.arch = {90, 'a'};
  return environment;
}

/// Rank 0 with a mailbox for each other rank, which tests fill and empty.
struct Ranks {
  std::map<std::size_t, std::string> journals;  ///< by part
  test::InProcessNetwork network;
  test::InProcessTransport transport{network, 0};
  SetClock clock;
  FleetWork work;
  RankPool pool;

  explicit Ranks(int size, HelloMessage own = {.fatune = "0.1.0"})
      : network(size), pool(transport, clock, work, options(std::move(own))) {
    work.journal_of = [this](std::size_t part, const Environment&) -> Result<std::string> {
      return journals[part];
    };
    work.take_lines = [this](std::size_t part, const FleetExecutor&, const std::string& lines) {
      journals[part] += lines;
      return Status();
    };
  }

  RankPoolOptions options(HelloMessage own) {
    RankPoolOptions made;
    made.own = std::move(own);
    return made;
  }

  void pump() { REQUIRE(pool.pump()); }
  void say(int rank, const RankMessage& message, std::string_view body = {}) {
    network.send(rank, 0, to_bytes(message, body));
    pump();
  }
  void greet(int rank, const Environment& environment) {
    say(rank, HelloMessage{.pid = 7, .fatune = "0.1.0", .devices = {{"cuda:0", environment}}});
  }
  void greet_without_gpu(int rank) {
    say(rank,
        HelloMessage{.pid = 7, .fatune = "0.1.0", .devices = {}, .problem = "no driver here"});
  }
  /// Removes messages to a rank up to the last one of the type M, and returns that one.
  template <typename T>
  std::optional<ReadMessage> heard(int rank) {
    std::optional<ReadMessage> last;
    while (const auto parcel = network.poll(rank)) {
      auto message = read_message(parcel->bytes, "test");
      REQUIRE(message);
      if (std::holds_alternative<T>(message->message)) last = *std::move(message);
    }
    return last;
  }
  /// Begins a part and returns its lease.
  std::int64_t begin(std::size_t executor, std::size_t part, int rank) {
    REQUIRE(pool.executors[executor]->begin(part));
    const auto order = heard<OrderMessage>(rank);
    REQUIRE(order);
    return std::get<OrderMessage>(order->message).lease;
  }
  PartReport look(std::size_t executor) {
    auto report = pool.executors[executor]->look();
    REQUIRE(report);
    return *std::move(report);
  }
};

TEST_CASE("the lines of a rank become the journal of its part") {
  Ranks ranks(2);
  CHECK(ranks.pool.expects_more());
  ranks.greet(1, gpu("A"));
  CHECK_FALSE(ranks.pool.expects_more());
  REQUIRE(ranks.pool.executors.size() == 1);
  CHECK(ranks.pool.executors[0]->name() == "rank 1 on host-b, cuda:0");
  const auto lease = ranks.begin(0, 4, 1);
  ranks.say(1, LinesMessage{lease}, "one\ntwo\n");
  CHECK(ranks.journals[4] == "one\ntwo\n");
  CHECK(ranks.look(0).state == State::kRuns);
  ranks.say(1, BeatMessage{{{lease, 0, "at work"}}});
  CHECK(ranks.pool.executors[0]->said() == "at work");
  ranks.say(1, EndMessage{.lease = lease}, "three\n");
  CHECK(ranks.look(0).state == State::kEnded);
  CHECK(ranks.journals[4] == "one\ntwo\nthree\n");
}

TEST_CASE(
    "what a silent rank has goes to others with the journal so far, and its late words count for "
    "nothing") {
  Ranks ranks(3);
  ranks.greet(1, gpu("A"));
  ranks.greet(2, gpu("B"));
  const auto lease = ranks.begin(0, 0, 1);
  ranks.say(1, LinesMessage{lease}, "one\n");
  ranks.network.cut(1);
  ranks.network.send(1, 0, to_bytes(LinesMessage{lease}, "late\n"));
  const std::string said = test::captured_stderr([&] {
    for (int beat = 0; beat < 31; ++beat) {
      ranks.clock.time_s += 1;
      ranks.say(2, BeatMessage{});
    }
  });
  CHECK(said.find("rank 1 on host-b was silent for 30 s") != std::string::npos);
  const PartReport report = ranks.look(0);
  CHECK(report.state == State::kLost);
  CHECK(report.reason == "rank 1 on host-b was silent for 30 s");
  CHECK_FALSE(ranks.pool.executors[0]->able());

  REQUIRE(ranks.pool.executors[1]->begin(0));
  const auto order = ranks.heard<OrderMessage>(2);
  REQUIRE(order);
  CHECK(order->body == "one\n");

  ranks.network.mend(1);
  CHECK(test::captured_stderr([&] { ranks.pump(); }).find("rank 1 on host-b is heard again") !=
        std::string::npos);
  CHECK(ranks.journals[0] == "one\n");
  CHECK_FALSE(ranks.pool.executors[0]->able());  // may still be running
  ranks.say(1, BeatMessage{{{lease, 0, ""}}});
  const auto drop = ranks.heard<DropMessage>(1);
  REQUIRE(drop);
  CHECK(std::get<DropMessage>(drop->message).lease == lease);
  CHECK_FALSE(ranks.pool.executors[0]->able());
  ranks.say(1, EndMessage{.lease = lease}, "stale\n");
  CHECK(ranks.journals[0] == "one\n");
  ranks.say(1, BeatMessage{});
  CHECK(ranks.pool.executors[0]->able());
}

TEST_CASE("a failed part has the reason of its rank") {
  Ranks ranks(2);
  ranks.greet(1, gpu("A"));
  const auto lease = ranks.begin(0, 0, 1);
  ranks.say(1, EndMessage{.lease = lease, .reason = "no space left"});
  const PartReport report = ranks.look(0);
  CHECK(report.state == State::kFailed);
  CHECK(report.reason == "no space left");
  CHECK(ranks.pool.executors[0]->able());
}

std::string said_to(Ranks& ranks, int rank, const Environment& environment) {
  return test::captured_stderr([&] { ranks.greet(rank, environment); });
}

TEST_CASE("of two ranks on one GPU the second measures nothing") {
  Ranks ranks(3, {.pid = 1, .fatune = "0.1.0", .devices = {{"cuda:1", gpu("A")}}});
  CHECK(said_to(ranks, 1, gpu("A"))
            .find("rank 1 on host-b, cuda:0 is refused: rank 0 on host-a, "
                  "cuda:1 has the same GPU (A)") != std::string::npos);
  CHECK(ranks.pool.executors.empty());
  ranks.greet(2, gpu("B"));
  CHECK(ranks.pool.executors.size() == 1);
  const std::string said = test::captured_stderr([&] { CHECK(ranks.pool.ready()); });
  CHECK(said.find("2 ranks with a GPU, 2 hosts") != std::string::npos);
  CHECK(
      said.find("1 rank without a GPU to measure: rank 0 on host-a, cuda:1 has the same GPU (A)") !=
      std::string::npos);
}

TEST_CASE("ranks without a GPU are counted with their reason") {
  Ranks ranks(3);
  ranks.greet_without_gpu(1);
  ranks.greet(2, gpu("A"));
  const std::string said = test::captured_stderr([&] { CHECK(ranks.pool.ready()); });
  CHECK(said.find("1 rank without a GPU to measure: no driver here") != std::string::npos);
  CHECK(ranks.pool.census().gpu == 1);
}

TEST_CASE("parts begin without a rank that has said nothing for a while") {
  Ranks ranks(3);
  ranks.greet(1, gpu("A"));
  CHECK_FALSE(ranks.pool.ready());
  ranks.clock.time_s += 11;
  CHECK(ranks.pool.ready());
}

TEST_CASE("a host of another driver, kind of GPU or NVRTC is named, and measures nothing") {
  Ranks ranks(3);
  ranks.greet(1, gpu("A"));
  CHECK(said_to(ranks, 2, gpu("B", "570.9"))
            .find("rank 2 on host-c, cuda:0 is refused: its driver is 570.9, that of rank 1 on "
                  "host-b, cuda:0 is 580.1") != std::string::npos);
  CHECK(ranks.pool.executors.size() == 1);
}

TEST_CASE("ranks that may share a GPU are counted, not named") {
  Ranks ranks(2, {.pid = 1, .fatune = "0.1.0", .devices = {{"cuda:0", gpu("A")}}});
  ranks.clock.time_s = 0;
  RankPoolOptions options = ranks.options({.fatune = "0.1.0", .devices = {{"cuda:0", gpu("A")}}});
  options.warn_of_shared = false;
  RankPool pool(ranks.transport, ranks.clock, ranks.work, std::move(options));
  const std::string said = test::captured_stderr([&] {
    ranks.network.send(
        1, 0,
        to_bytes(HelloMessage{.pid = 7, .fatune = "0.1.0", .devices = {{"cuda:0", gpu("A")}}}));
    CHECK(pool.pump());
    CHECK(pool.ready());
  });
  CHECK(said.find("is refused") == std::string::npos);
  CHECK(said.find("1 rank without a GPU to measure: rank 0 on host-a, cuda:0 has the same GPU") !=
        std::string::npos);
}

TEST_CASE("a rank of another fatune is named, whether its words are understood or not") {
  Ranks ranks(3);
  const std::string said = test::captured_stderr([&] {
    ranks.say(1, HelloMessage{.pid = 7, .fatune = "0.0.9", .devices = {}});
    ranks.network.send(2, 0, R"({"t":"greeting"})");
    ranks.pump();
  });
  CHECK(said.find("rank 1 on host-b is refused: its fatune is 0.0.9, that of rank 0 on host-a is "
                  "0.1.0") != std::string::npos);
  CHECK(said.find("rank 2 on host-c: ") != std::string::npos);
  CHECK(ranks.pool.executors.empty());
}

TEST_CASE("a message with a changed byte is not kept, and its part is lost") {
  Ranks ranks(2);
  ranks.greet(1, gpu("A"));
  const auto lease = ranks.begin(0, 0, 1);
  std::string bytes = to_bytes(LinesMessage{lease}, "one\n");
  bytes[bytes.find("one")] ^= 1;
  ranks.network.send(1, 0, bytes);
  const std::string said = test::captured_stderr([&] { ranks.pump(); });
  CHECK(said.find("rank 1 on host-b: a message is of another fatune, or was changed on its way") !=
        std::string::npos);
  ranks.say(1, EndMessage{.lease = lease}, "two\n");
  CHECK(ranks.look(0).state == State::kLost);
  CHECK(ranks.journals[0].empty());
  ranks.say(1, LinesMessage{0}, "three\n");  // of no lease
  CHECK(ranks.journals[0].empty());
  ranks.say(1, BeatMessage{});
  CHECK(ranks.pool.executors[0]->able());
}

TEST_CASE("a rank that dies before it said anything is named with its host") {
  Ranks ranks(2);
  const std::string said = test::captured_stderr([&] {
    ranks.clock.time_s += 119;
    ranks.pump();
    CHECK(ranks.pool.expects_more());
    ranks.clock.time_s += 2;
    ranks.pump();
  });
  CHECK(said.find("rank 1 on host-b has said nothing for 120 s") != std::string::npos);
  CHECK_FALSE(ranks.pool.expects_more());
}

TEST_CASE("ranks leave together only if all are there") {
  Ranks ranks(2);
  ranks.greet(1, gpu("A"));
  CHECK(ranks.pool.stop());
  REQUIRE(ranks.heard<StopMessage>(1));
  ranks.clock.time_s += 31;
  static_cast<void>(test::captured_stderr([&] { ranks.pump(); }));
  CHECK_FALSE(ranks.pool.stop());
  const auto stop = ranks.heard<StopMessage>(1);
  REQUIRE(stop);
  CHECK_FALSE(std::get<StopMessage>(stop->message).together);
}

}  // namespace
}  // namespace fatune
