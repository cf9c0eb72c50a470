// channel_test.cpp: Tests message framing: complete and cut messages, wrong lengths, a lost peer.
#include "core/channel.hpp"

#include <csignal>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

using namespace fatune;
using namespace std::chrono_literals;

namespace {

std::string frame_of(std::string_view body) {
  std::string frame;
  for (std::size_t i = 0; i < 4; ++i) frame += static_cast<char>(body.size() >> (8 * i));
  return frame + std::string(body);
}

void write_raw(const Channel& channel, std::string_view bytes) {
  REQUIRE(::send(channel.descriptor(), bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
}

}  // namespace

TEST_CASE("messages arrive whole and in order, both ways") {
  ChannelPair pair = *make_channel_pair();
  REQUIRE(pair.first.send(Json{{"a", 1}}));
  REQUIRE(pair.first.send(Json("two")));
  REQUIRE(pair.second.send(Json()));
  CHECK(*pair.second.receive() == Json{{"a", 1}});
  CHECK(**pair.second.receive(1s) == "two");
  CHECK(pair.first.receive()->is_null());
}

TEST_CASE("a message larger than the socket's buffer goes through") {
  ChannelPair pair = *make_channel_pair();
  const Json large(std::string(8 << 20, 'x'));
  std::thread sender([&] { static_cast<void>(pair.first.send(large)); });
  const auto received = pair.second.receive();
  sender.join();
  REQUIRE(received);
  CHECK(*received == large);
}

TEST_CASE("a message may come byte by byte, with pauses at which receive gives up") {
  ChannelPair pair = *make_channel_pair();
  const std::string frame = frame_of("{\"a\":[1,2]}");
  for (std::size_t i = 0; i + 1 < frame.size(); ++i) {
    write_raw(pair.first, frame.substr(i, 1));
    const auto early = pair.second.receive(0ms);
    REQUIRE(early);
    REQUIRE_FALSE(early->has_value());
  }
  write_raw(pair.first, frame.substr(frame.size() - 1) + frame_of("3").substr(0, 2));
  CHECK(dump(*pair.second.receive()) == "{\"a\":[1,2]}");
  write_raw(pair.first, frame_of("3").substr(2));
  CHECK(*pair.second.receive() == 3);
}

TEST_CASE("receive waits until the deadline, also across signals") {
  ChannelPair pair = *make_channel_pair();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, &before);
  const pthread_t self = ::pthread_self();
  std::thread disturber([&] {
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(5ms);
      ::pthread_kill(self, SIGUSR1);
    }
  });
  const auto start = std::chrono::steady_clock::now();
  const auto nothing = pair.second.receive(60ms);
  const auto waited = std::chrono::steady_clock::now() - start;
  disturber.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  REQUIRE(nothing);
  CHECK_FALSE(nothing->has_value());
  CHECK(waited >= 60ms);
}

TEST_CASE("a peer that is gone is an error on both sides, not a signal") {
  ChannelPair pair = *make_channel_pair();
  REQUIRE(pair.first.send(Json(1)));
  pair.first.close();
  CHECK(*pair.second.receive() == 1);  // what was sent before still counts
  CHECK(pair.second.receive(1s).error().message == "the worker process closed its channel");
  CHECK_FALSE(pair.second.send(Json(2)));
}

TEST_CASE("a message cut by the peer's end is an error") {
  ChannelPair pair = *make_channel_pair();
  write_raw(pair.first, frame_of("[1,2,3]").substr(0, 7));
  pair.first.close();
  CHECK_FALSE(pair.second.receive());
}

TEST_CASE("a length beyond 1 GiB and a body that is no JSON are refused") {
  ChannelPair pair = *make_channel_pair();
  write_raw(pair.first, "\x01\x02\x03\x7f");
  CHECK(pair.second.receive().error().message.find("out of step") != std::string::npos);

  ChannelPair other = *make_channel_pair();
  write_raw(other.first, frame_of("{oops") + frame_of("1"));
  CHECK(other.second.receive().error().message.find("message between processes") !=
        std::string::npos);
  CHECK(*other.second.receive() == 1);  // the stream is still in step
}

TEST_CASE("moving a channel leaves one owner") {
  ChannelPair pair = *make_channel_pair();
  Channel moved = std::move(pair.first);
  REQUIRE(moved.send(Json(1)));
  moved = Channel();
  CHECK(*pair.second.receive() == 1);
  CHECK_FALSE(pair.second.receive());
}
