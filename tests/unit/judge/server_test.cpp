// server_test.cpp: Tests lines from a pipe, and whole sessions of JSON lines and MCP.
#include "judge/protocol/server.hpp"

#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "core/interrupt.hpp"
#include "judge_fakes.hpp"

using namespace fatune;

namespace {

/// A session whose client has put its lines, at most 64 KiB, into a pipe and closed it.
struct Session {
  Services tools = test::fake_services();
  ServerLimits limits = {};
  std::chrono::seconds between{0};  ///< that pass from one admission to the next
  Status ended = {};

  std::vector<std::string> run(const std::string& lines, bool mcp = false) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const Descriptor input(ends[0]);
    CHECK(write_all(Descriptor(ends[1]), lines) == 0);
    std::vector<std::string> sent;
    const auto dialect = mcp ? make_mcp(tools) : make_json_lines(tools);
    Server server(
        *dialect, input.raw(),
        [&sent](std::string_view line) {
          sent.emplace_back(line);
          return Status();
        },
        limits);
    Server::Clock::time_point time{};
    server.now = [&] { return time += between; };
    ended = server.run();
    return sent;
  }
};

constexpr std::chrono::milliseconds kPatience{2000};

/// All lines of a text that arrives through a pipe; a line over the limit is "(long)".
std::vector<std::string> lines_of(const std::string& text, std::size_t limit) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Descriptor read_end(ends[0]);
  std::thread writer([end = ends[1], &text] {
    const Descriptor write_end(end);
    CHECK(write_all(write_end, text) == 0);
  });
  LineReader reader(read_end.raw(), limit);
  std::vector<std::string> lines;
  while (!reader.ended()) {
    CHECK(reader.wait(kPatience));
    while (const auto line = reader.next()) {
      CHECK((!line->too_long || line->text.empty()));
      lines.push_back(line->too_long ? "(long)" : line->text);
    }
  }
  writer.join();
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("calls are answered in their order and the end of the client ends the session") {
  Session session;
  CHECK(session.run("{\"id\":1,\"tool\":\"echo\",\"arguments\":{\"a\":1}}\n\n"
                    "{\"tool\":\"fail\"}\n{\"id\":\"x\",\"tool\":\"ecko\"}\n"
                    "{\"id\":2,\"tool\":\"echo\"}") ==
        Lines{R"({"id":"x","error":{"kind":"usage","message":)"
              R"("there is no tool 'ecko'; did you mean echo?"}})",
              R"({"id":1,"tool":"echo","result":{"a":1}})",
              R"({"tool":"fail","error":{"kind":"usage","message":)"
              R"("arguments: field 'x' is missing"}})",
              R"({"id":2,"tool":"echo","result":{}})"});
  CHECK(session.ended);
}

TEST_CASE("progress is told once a phase to who asks for it") {
  CHECK(Session().run("{\"id\":1,\"tool\":\"work\",\"progress\":true}\n{\"tool\":\"work\"}\n") ==
        Lines{R"({"id":1,"tool":"work","progress":{"step":1,"phase":"compiling"}})",
              R"({"id":1,"tool":"work","progress":{"step":2,"phase":"verifying"}})",
              R"({"id":1,"tool":"work","result":{"worked":true}})",
              R"({"tool":"work","result":{"worked":true}})"});
}

TEST_CASE("a waiting call is cancelled before it begins") {
  CHECK(Session().run("{\"id\":1,\"tool\":\"echo\"}\n{\"id\":2,\"tool\":\"echo\"}\n"
                      "{\"cancel\":2}\n{\"cancel\":3}\n") ==
        Lines{R"({"id":2,"tool":"echo","error":{"kind":"interrupted","message":"cancelled"}})",
              R"({"id":1,"tool":"echo","result":{}})"});
}

TEST_CASE("a running call hears of its cancellation at its next beat") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Descriptor input(ends[0]);
  Descriptor client(ends[1]);
  bool ended_early = false;
  Services tools;
  tools.tools = {
      test::fake_tool("endless", [&](const Json&, const Heartbeat& beat) -> Result<Json> {
        CHECK(write_all(client, R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                                "\"params\":{\"requestId\":1}}\n"
                                R"({"jsonrpc":"2.0","id":2,"method":"ping"})"
                                "\n") == 0);
        client = Descriptor();
        while (true) {
          const Status status = beat("");
          if (!status) {
            ended_early = status.error().kind == ErrorKind::kInterrupted;
            return status.error();
          }
        }
      })};
  CHECK(write_all(client, R"({"jsonrpc":"2.0","id":0,"method":"initialize",)"
                          R"("params":{"protocolVersion":"2025-11-25"}})"
                          "\n"
                          R"({"jsonrpc":"2.0","id":1,"method":"tools/call",)"
                          R"("params":{"name":"endless"}})"
                          "\n") == 0);
  const auto mcp = make_mcp(tools);
  std::vector<std::string> sent;
  Server server(*mcp, input.raw(), [&](std::string_view line) {
    sent.emplace_back(line);
    return Status();
  });
  CHECK(server.run());
  CHECK(ended_early);
  REQUIRE(sent.size() == 2);  // of initialize and ping; none of what was cancelled
  CHECK(sent[1] == R"({"jsonrpc":"2.0","id":2,"result":{}})");
}

TEST_CASE("what goes beyond a limit is refused in words") {
  Session session;
  session.limits.line_bytes = 100;
  CHECK(session.run(std::string(5000, 'x') + "\n{\"tool\":\"echo\"}\n") ==
        Lines{R"({"error":{"kind":"usage","message":"a line of more than 100 bytes is not read"}})",
              R"({"tool":"echo","result":{}})"});

  session.limits = {.waiting = 1};
  CHECK(session.run("{\"id\":1,\"tool\":\"echo\"}\n{\"id\":2,\"tool\":\"echo\"}\n").front() ==
        R"({"id":2,"tool":"echo","error":{"kind":"usage","message":)"
        R"("1 calls are waiting; ask again when some are answered"}})");

  session.limits = {.calls_a_minute = 1};
  const std::string two = "{\"id\":1,\"tool\":\"echo\"}\n{\"id\":2,\"tool\":\"echo\"}\n";
  CHECK(session.run(two).front() == R"({"id":2,"tool":"echo","error":{"kind":"usage","message":)"
                                    R"("more than 1 calls in a minute; ask again later"}})");
  session.between = std::chrono::seconds(60);
  CHECK(session.run(two).front() == R"({"id":1,"tool":"echo","result":{}})");

  session.limits = {};
  CHECK(session.run("{\"id\":1,\"tool\":\"echo\"}\n{\"id\":1,\"tool\":\"echo\"}\n").front() ==
        R"({"id":1,"tool":"echo","error":{"kind":"usage","message":)"
        R"("id 1 is that of a call which is not answered yet"}})");
}

TEST_CASE("JSON lines that ask for nothing known are answered") {
  CHECK(
      Session().run("{}\n[]\n{\"tool\":1}\n{\"tool\":\"echo\",\"argumens\":{}}\n"
                    "{\"tool\":\"echo\",\"arguments\":[]}\n{\"tool\"\n"
                    "{\"tool\":\"echo\",\"cancel\":5}\n") ==
      Lines{
          R"({"error":{"kind":"usage","message":"line: names no 'tool', 'resource' or 'prompt'"}})",
          R"({"error":{"kind":"usage","message":"line: must be an object, but is array"}})",
          R"({"error":{"kind":"usage","message":)"
          R"("line: field 'tool' must be a string, but is number"}})",
          R"({"error":{"kind":"usage","message":)"
          R"("line: field 'argumens' is unknown; did you mean 'arguments'?"}})",
          R"({"error":{"kind":"usage","message":)"
          R"("line: field 'arguments' must be an object, but is array"}})",
          R"({"error":{"kind":"usage","message":"line: not valid JSON at column 8: )"
          R"(syntax error while parsing object separator - unexpected end of input; )"
          R"(expected ':'"}})",
          R"({"error":{"kind":"usage","message":)"
          R"("line: names several of 'tool', 'resource', 'prompt' and 'cancel'"}})"});
}

TEST_CASE("an interrupt ends the session") {
  request_interrupt();
  Session session;
  CHECK(session.run("{\"tool\":\"echo\"}\n").empty());
  clear_interrupt();
  REQUIRE_FALSE(session.ended);
  CHECK(session.ended.error().kind == ErrorKind::kInterrupted);
}

TEST_CASE("lines end at line breaks and at the end") {
  CHECK(lines_of("", 10) == Lines{});
  CHECK(lines_of("a\nbc\n", 10) == Lines{"a", "bc"});
  CHECK(lines_of("a\n\nbc", 10) == Lines{"a", "", "bc"});
  CHECK(lines_of(std::string("a\0b\n", 4), 10) == Lines{std::string("a\0b", 3)});
}

TEST_CASE("a long line is dropped and the next one is read") {
  const std::string ten(10, 'x');
  CHECK(lines_of(ten + "\na\n", 10) == Lines{ten, "a"});
  CHECK(lines_of(ten + "x\na\n", 10) == Lines{"(long)", "a"});
  CHECK(lines_of(ten + "x", 10) == Lines{"(long)"});
  const std::string much(20'000'000, 'x');
  CHECK(lines_of(much + "\na\n" + much, 1000) == Lines{"(long)", "a", "(long)"});
}
