// rank_crew_test.cpp - what rank 0 makes of the words and the silence of other ranks.
#include "tune/fleet/rank_crew.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "support/captured_stderr.hpp"
#include "support/in_process_transport.hpp"
#include "support/temporary_folder.hpp"

namespace fatune {
namespace {

using State = HandReport::State;

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

/// Rank 0 with the others as mailboxes, which tests fill and empty.
struct Ranks {
  test::TemporaryFolder folder;
  test::InProcessNetwork network;
  test::InProcessTransport transport{network, 0};
  SetClock clock;
  RankCrew crew;

  explicit Ranks(int size, HelloMessage own = {.fatune = "0.1.0"})
      : network(size), crew(transport, clock, options(std::move(own))) {}

  RankCrewOptions options(HelloMessage own) {
    RankCrewOptions made;
    made.own = std::move(own);
    made.order = [this](std::size_t part) {
      const auto place = folder / std::to_string(part);
      return PartOrder{place, place.string() + ".log", {"new"}, {"resumed"}};
    };
    return made;
  }

  void pump() { REQUIRE(crew.pump()); }
  void say(int rank, const RankMessage& message, std::string_view body = {}) {
    network.send(rank, 0, to_bytes(message, body));
    pump();
  }
  void greet(int rank, const Environment& environment, const std::string& compiler = "nvrtc 13") {
    say(rank, HelloMessage{.pid = 7,
                           .fatune = "0.1.0",
                           .devices = {{"cuda:0", environment}},
                           .compiler = compiler});
  }
  void greet_without_gpu(int rank, const std::string& compiler) {
    say(rank, HelloMessage{.pid = 7,
                           .fatune = "0.1.0",
                           .devices = {},
                           .problem = "no driver here",
                           .compiler = compiler,
                           .jobs = 3});
  }
  /// The last message of that kind that was sent to a rank, with all before it.
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
  /// Begins a part; its lease.
  std::int64_t begin(std::size_t hand, std::size_t part, int rank) {
    REQUIRE(crew.hands[hand]->begin(part));
    const auto order = heard<OrderMessage>(rank);
    REQUIRE(order);
    return std::get<OrderMessage>(order->message).lease;
  }
  HandReport look(std::size_t hand) {
    auto report = crew.hands[hand]->look();
    REQUIRE(report);
    return *std::move(report);
  }
  std::string text(const std::string& file) const {
    const auto read = read_file(folder / file);
    return read ? *read : "";
  }
};

TEST_CASE("a rank's lines become the part's journal, and at its end best.json is there") {
  Ranks ranks(2);
  CHECK(ranks.crew.expects_more());
  ranks.greet(1, gpu("A"));
  CHECK_FALSE(ranks.crew.expects_more());
  REQUIRE(ranks.crew.hands.size() == 1);
  CHECK(ranks.crew.hands[0]->name() == "rank 1 on host-b, cuda:0");
  const auto lease = ranks.begin(0, 4, 1);
  ranks.say(1, LinesMessage{lease}, "one\ntwo\n");
  CHECK(ranks.text("4/journal.jsonl") == "one\ntwo\n");
  CHECK(ranks.look(0).state == State::kRuns);
  ranks.say(1, BeatMessage{{{lease, 0, "at work"}}});
  CHECK(ranks.crew.hands[0]->said() == "at work");
  ranks.say(1, EndMessage{.lease = lease, .best = "{}", .log = "words"}, "three\n");
  CHECK(ranks.look(0).state == State::kEnded);
  CHECK(ranks.text("4/journal.jsonl") == "one\ntwo\nthree\n");
  CHECK(ranks.text("4/best.json") == "{}");
  CHECK(ranks.text("4.log") == "words");
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
  const HandReport report = ranks.look(0);
  CHECK(report.state == State::kLost);
  CHECK(report.reason == "rank 1 on host-b was silent for 30 s");
  CHECK_FALSE(ranks.crew.hands[0]->able());

  REQUIRE(ranks.crew.hands[1]->begin(0));
  const auto order = ranks.heard<OrderMessage>(2);
  REQUIRE(order);
  CHECK(order->body == "one\n");
  CHECK(std::get<OrderMessage>(order->message).words == std::vector<std::string>{"resumed"});

  ranks.network.mend(1);
  CHECK(test::captured_stderr([&] { ranks.pump(); }).find("rank 1 on host-b is heard again") !=
        std::string::npos);
  CHECK(ranks.text("0/journal.jsonl") == "one\n");
  CHECK_FALSE(ranks.crew.hands[0]->able());  // it may still be at work
  ranks.say(1, BeatMessage{{{lease, 0, ""}}});
  const auto drop = ranks.heard<DropMessage>(1);
  REQUIRE(drop);
  CHECK(std::get<DropMessage>(drop->message).lease == lease);
  CHECK_FALSE(ranks.crew.hands[0]->able());
  ranks.say(1, EndMessage{.lease = lease, .best = "stale"});
  CHECK(ranks.text("0/best.json").empty());
  ranks.say(1, BeatMessage{});
  CHECK(ranks.crew.hands[0]->able());
}

TEST_CASE("a line that rank 0 did not finish when it was killed is cut off") {
  Ranks ranks(2);
  ranks.greet(1, gpu("A"));
  REQUIRE(make_directories(ranks.folder / "0"));
  REQUIRE(replace_file(ranks.folder / "0" / "journal.jsonl", "one\ntw"));
  REQUIRE(ranks.crew.hands[0]->begin(0));
  CHECK(ranks.heard<OrderMessage>(1)->body == "one\n");
  CHECK(ranks.text("0/journal.jsonl") == "one\n");
}

TEST_CASE("a failed part has the reason of its rank") {
  Ranks ranks(2);
  ranks.greet(1, gpu("A"));
  const auto lease = ranks.begin(0, 0, 1);
  ranks.say(1, EndMessage{.lease = lease, .reason = "no space left"});
  const HandReport report = ranks.look(0);
  CHECK(report.state == State::kFailed);
  CHECK(report.reason == "no space left");
  CHECK(ranks.crew.hands[0]->able());
}

std::string said_to(Ranks& ranks, int rank, const Environment& environment) {
  return test::captured_stderr([&] { ranks.greet(rank, environment); });
}

TEST_CASE("of two ranks on one GPU the second only compiles") {
  Ranks ranks(
      3, {.pid = 1, .fatune = "0.1.0", .devices = {{"cuda:1", gpu("A")}}, .compiler = "nvrtc 13"});
  CHECK(said_to(ranks, 1, gpu("A"))
            .find("rank 1 on host-b, cuda:0 is refused: rank 0 on host-a, "
                  "cuda:1 has the same GPU (A)") != std::string::npos);
  CHECK(ranks.crew.hands.empty());
  CHECK(ranks.crew.remote_jobs() == 1);
  ranks.greet(2, gpu("B"));
  CHECK(ranks.crew.hands.size() == 1);
  const std::string said = test::captured_stderr([&] { CHECK(ranks.crew.ready()); });
  CHECK(said.find("2 ranks with a GPU, 1 compile rank, 3 hosts") != std::string::npos);
  CHECK(
      said.find("1 rank without a GPU to measure: rank 0 on host-a, cuda:1 has the same GPU (A)") !=
      std::string::npos);
}

TEST_CASE("ranks without a GPU compile by the compiler of those that measure, or are refused") {
  Ranks ranks(4);
  const std::string said = test::captured_stderr([&] {
    ranks.greet_without_gpu(1, "nvrtc 13");
    ranks.greet_without_gpu(2, "nvrtc 12");
    CHECK(ranks.crew.remote_jobs() == 0);  // nobody measures yet
    CHECK_FALSE(ranks.crew.ready());
    ranks.greet(3, gpu("A"));
  });
  CHECK(said.find("rank 2 on host-c is refused: its compiler is nvrtc 12, that of rank 3 on host-d "
                  "is nvrtc 13") != std::string::npos);
  CHECK(ranks.crew.remote_jobs() == 3);
  const RankCensus census = ranks.crew.census();
  CHECK((census.gpu == 1 && census.compile == 1));
  REQUIRE(ranks.crew.hands.at(0)->begin(0));
  CHECK(std::get<OrderMessage>(ranks.heard<OrderMessage>(3)->message).remote_jobs == 3);
}

TEST_CASE("parts begin without a rank that has said nothing for a while") {
  Ranks ranks(3);
  ranks.greet(1, gpu("A"));
  CHECK_FALSE(ranks.crew.ready());
  ranks.clock.time_s += 11;
  CHECK(ranks.crew.ready());
}

TEST_CASE("a host of another driver, kind of GPU or NVRTC is named, and measures nothing") {
  Ranks ranks(3);
  ranks.greet(1, gpu("A"));
  CHECK(said_to(ranks, 2, gpu("B", "570.9"))
            .find("rank 2 on host-c, cuda:0 is refused: its driver is 570.9, that of rank 1 on "
                  "host-b, cuda:0 is 580.1") != std::string::npos);
  CHECK(ranks.crew.hands.size() == 1);
}

TEST_CASE("a refused rank that cannot compile either says why it measures nothing") {
  Ranks ranks(3);
  ranks.greet(1, gpu("A"));
  const std::string said = test::captured_stderr([&] { ranks.greet(2, gpu("B", "570.9"), ""); });
  CHECK(said.find("rank 2 on host-c measures nothing: its driver is 570.9, that of rank 1 on "
                  "host-b, cuda:0 is 580.1") != std::string::npos);
}

TEST_CASE("ranks that may share a GPU are counted, not named") {
  Ranks ranks(2, {.pid = 1, .fatune = "0.1.0", .devices = {{"cuda:0", gpu("A")}}});
  ranks.clock.time_s = 0;
  RankCrewOptions options = ranks.options({.fatune = "0.1.0", .devices = {{"cuda:0", gpu("A")}}});
  options.warn_of_shared = false;
  RankCrew crew(ranks.transport, ranks.clock, std::move(options));
  const std::string said = test::captured_stderr([&] {
    ranks.network.send(1, 0,
                       to_bytes(HelloMessage{.pid = 7,
                                             .fatune = "0.1.0",
                                             .devices = {{"cuda:0", gpu("A")}},
                                             .compiler = "nvrtc 13"}));
    CHECK(crew.pump());
    CHECK(crew.ready());
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
  CHECK(ranks.crew.hands.empty());
}

TEST_CASE("a rank that dies before it said anything is named with its host") {
  Ranks ranks(2);
  const std::string said = test::captured_stderr([&] {
    ranks.clock.time_s += 119;
    ranks.pump();
    CHECK(ranks.crew.expects_more());
    ranks.clock.time_s += 2;
    ranks.pump();
  });
  CHECK(said.find("rank 1 on host-b has said nothing for 120 s") != std::string::npos);
  CHECK_FALSE(ranks.crew.expects_more());
}

TEST_CASE("ranks leave together only if all are there") {
  Ranks ranks(2);
  ranks.greet(1, gpu("A"));
  CHECK(ranks.crew.stop());
  REQUIRE(ranks.heard<StopMessage>(1));
  ranks.clock.time_s += 31;
  static_cast<void>(test::captured_stderr([&] { ranks.pump(); }));
  CHECK_FALSE(ranks.crew.stop());
  const auto stop = ranks.heard<StopMessage>(1);
  REQUIRE(stop);
  CHECK_FALSE(std::get<StopMessage>(stop->message).together);
}

}  // namespace
}  // namespace fatune
