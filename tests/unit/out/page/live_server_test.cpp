// live_server_test.cpp - answers over the loopback: to whom, what, and until when.
#include "out/page/live_server.hpp"

#include <future>

#include <catch2/catch_test_macros.hpp>
#include <httplib.h>

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
  CHECK((*data)["schema"] == "fatune.page/2");
  CHECK((*data)["live"]["done"] == 6);
  CHECK((*data)["live"]["finished"] == false);
  CHECK((*data)["runs"][0]["problems"][0]["candidates"]["id"].size() == 6);
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

}  // namespace
}  // namespace fatune
