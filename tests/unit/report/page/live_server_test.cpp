// live_server_test.cpp: Tests the live server's answers over the loopback.
#include "report/page/live_server.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <arpa/inet.h>
#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include "core/descriptor.hpp"
#include "page_sample.hpp"

namespace fatune {
namespace {

/// A server that lingers longer than a test may take.
std::unique_ptr<LiveServer> start(const std::filesystem::path& folder) {
  auto server = LiveServer::start(0, folder, std::chrono::hours(24));
  REQUIRE(server);
  return std::move(*server);
}

Json data_of(httplib::Client& client) {
  const auto answer = client.Get("/data.json");
  REQUIRE(answer);
  return *parse_json(answer->body, "data.json");
}

int port_of(const LiveServer& server) {
  const std::string& url = server.url();
  return std::stoi(url.substr(url.rfind(':') + 1));
}

TEST_CASE("the page and its data, with how far the sweep is") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  SweepProgress progress;
  progress.phase = "search";
  progress.done = 6;
  progress.all = 150;
  server->show(progress);
  httplib::Client client("127.0.0.1", port_of(*server));
  const auto page = client.Get("/");
  REQUIRE(page);
  CHECK(page->status == 200);
  CHECK(page->get_header_value("Content-Type") == "text/html; charset=utf-8");
  const auto answer = client.Get("/data.json");
  REQUIRE(answer);
  const auto data = parse_json(answer->body, "data.json");
  REQUIRE(data);
  CHECK((*data)["live"]["done"] == 6);
  CHECK((*data)["live"]["finished"] == false);
  const Json& groups = (*data)["runs"][0]["problems"][0]["groups"];
  CHECK(groups[0]["candidates"]["count"] == 4);
  CHECK(groups[1]["candidates"]["count"] == 2);
  const auto again =
      client.Get("/data.json", {{"If-None-Match", answer->get_header_value("ETag")}});
  REQUIRE(again);
  CHECK(again->status == 304);
  CHECK(again->body.empty());
}

TEST_CASE("before the journal exists there are no runs") {
  const test::TemporaryFolder folder;
  const auto server = start(folder.path());
  httplib::Client client("127.0.0.1", port_of(*server));
  const auto answer = client.Get("/data.json");
  REQUIRE(answer);
  CHECK((*parse_json(answer->body, "data.json"))["runs"].empty());
}

TEST_CASE("another host name, another method and another path are refused") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  httplib::Client client("127.0.0.1", port_of(*server));
  const auto elsewhere =
      client.Get("/data.json", {{"Host", "evil.example:" + std::to_string(port_of(*server))}});
  REQUIRE(elsewhere);
  CHECK(elsewhere->status == 403);
  CHECK(elsewhere->body.find("NVIDIA") == std::string::npos);
  const auto posted = client.Post("/data.json", "x", "text/plain");
  REQUIRE(posted);
  CHECK(posted->status == 405);
  const auto lost = client.Get("/../etc/passwd");
  REQUIRE(lost);
  CHECK(lost->status == 404);
}

TEST_CASE("a port in use is an error that names it") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  const auto second = LiveServer::start(port_of(*server), sample.path());
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == ErrorKind::kEnvironment);
  CHECK(second.error().message.starts_with("--serve: port " + std::to_string(port_of(*server))));
}

TEST_CASE("without an open page the end is not waited for") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  server->finish();
  httplib::Client client("127.0.0.1", port_of(*server));
  CHECK(data_of(client)["live"]["finished"] == true);
}

TEST_CASE("the end waits until an open page has it") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  httplib::Client client("127.0.0.1", port_of(*server));
  REQUIRE(data_of(client)["live"]["finished"] == false);
  const auto end = std::async(std::launch::async, [&] { server->finish(); });
  while (data_of(client)["live"]["finished"] == false) {
    REQUIRE(end.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  }
  end.wait();
}

/// A client that says what a test wants, and hears what comes.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_.raw(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  bool say(std::string_view text) const {
    return ::send(socket_.raw(), text.data(), text.size(), MSG_NOSIGNAL) > 0;
  }
  /// Until the server closes.
  std::string hear() const {
    std::string all;
    std::array<char, 4096> part;
    for (;;) {
      const ssize_t count = ::recv(socket_.raw(), part.data(), part.size(), 0);
      if (count <= 0) return all;
      all.append(part.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  Descriptor socket_;
};

std::string get(int port, const std::string& headers) {
  return fmt::format("GET /data.json HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n", port, headers);
}

TEST_CASE("the end of the server waits for no client") {
  const test::SampleRun sample;
  auto server = start(sample.path());
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 8; ++i) {
    slow.push_back(std::make_unique<RawClient>(port_of(*server)));
    slow.back()->say("GET / HT");
  }
  // One byte now and then from another thread, as long as somebody listens.
  std::atomic<bool> listening = true;
  const auto dribble = std::async(std::launch::async, [&] {
    while (listening && slow.back()->say("T"))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto began = std::chrono::steady_clock::now();
  server.reset();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(2));
  listening = false;
}

TEST_CASE("a request that is too long, has too many headers or makes no sense is refused") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  const int port = port_of(*server);
  const auto answer = [&](const std::string& request) {
    const RawClient client(port);
    client.say(request);
    return client.hear().substr(0, 12);
  };
  CHECK(answer(get(port, "")) == "HTTP/1.1 200");
  CHECK(answer("GET /" + std::string(40'000, 'a')) == "HTTP/1.1 431");
  std::string many;
  for (int i = 0; i < 100; ++i) many += fmt::format("X-{}: y\r\n", i);
  CHECK(answer(get(port, many)) == "HTTP/1.1 431");
  CHECK(answer(get(port, "Host: evil.example\r\n")) == "HTTP/1.1 400");
  CHECK(answer("hello\r\n\r\n") == "HTTP/1.1 400");
  CHECK(answer("GET /\r\nHost\r\n\r\n") == "HTTP/1.1 400");
  CHECK(answer(get(port, "X: a\rb\r\n")) == "HTTP/1.1 400");
}

TEST_CASE("a client that is answered and goes on sending is not listened to for long") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  const RawClient client(port_of(*server));
  const std::string part(1 << 16, 'x');
  std::size_t parts = 0;
  client.say(get(port_of(*server), ""));
  while (parts < 512 && client.say(part)) ++parts;  // the system itself takes some megabytes
  CHECK(parts < 512);
}

TEST_CASE("ranges are not served: the answer is whole, once") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  const int port = port_of(*server);
  const auto heard = [&](const std::string& headers) {
    const RawClient client(port);
    client.say(get(port, headers));
    return client.hear();
  };
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 2600; ++i) ranges += ",0-";
  CHECK(heard(ranges + "\r\n").size() == heard("").size());
}

TEST_CASE("many slow clients do not keep the page from others") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 100; ++i) slow.push_back(std::make_unique<RawClient>(port_of(*server)));
  httplib::Client client("127.0.0.1", port_of(*server));
  CHECK(data_of(client).contains("runs"));
}

TEST_CASE("a client that does not ask in time is dropped") {
  const test::SampleRun sample;
  const auto server = start(sample.path());
  const RawClient client(port_of(*server));
  client.say("GET / HTTP/1.1\r\n");
  const auto began = std::chrono::steady_clock::now();
  CHECK(client.hear().empty());
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
}

}  // namespace
}  // namespace fatune
