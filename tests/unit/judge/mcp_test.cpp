// mcp_test.cpp: Tests messages of five MCP revisions and of clients without a revision.
#include <catch2/catch_test_macros.hpp>

#include "judge_fakes.hpp"

using namespace fatune;
using fatune::test::parsed;

namespace {

const Services& tools() {
  static const Services kServices = test::fake_services();
  return kServices;
}

const std::string kMeta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                          R"("io.modelcontextprotocol/clientCapabilities":{}})";

/// A stateless request; `params` begins with a comma when there are any.
std::string stateless(const std::string& method, const std::string& params = "") {
  return R"({"jsonrpc":"2.0","id":7,"method":")" + method + R"(","params":{)" + kMeta + params +
         "}}";
}

Json answer_to(Dialect& mcp, const std::string& line) { return parsed(mcp.parse(line).answer); }

int code_of(const Json& answer) { return answer.at("error").at("code").get<int>(); }

std::string initialize(const std::string& revision) {
  return R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" +
         revision + R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
}

const Json kKnown = {"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

}  // namespace

TEST_CASE("a stateless client needs no handshake") {
  const auto mcp = make_mcp(tools());
  const Json found = answer_to(*mcp, stateless("server/discover"));
  CHECK(found.at("id") == 7);
  const Json& result = found.at("result");
  CHECK(result.at("resultType") == "complete");
  CHECK(result.at("supportedVersions") == kKnown);
  CHECK(result.at("capabilities").contains("tools"));
  CHECK(result.at("cacheScope") == "public");
  CHECK(result.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name") == "fatune");

  const Json listed = answer_to(*mcp, stateless("tools/list")).at("result");
  CHECK(listed.at("tools").size() == 3);
  CHECK(listed.at("tools")[0].at("name") == "echo");
  CHECK(listed.at("ttlMs") >= 0);
  CHECK(code_of(answer_to(*mcp, stateless("ping"))) == -32601);
  CHECK(code_of(answer_to(*mcp, stateless("tools/list", R"(,"cursor":"2")"))) == -32602);
}

TEST_CASE("texts and prompts are listed, read and filled in") {
  const auto mcp = make_mcp(tools());
  const Json texts = answer_to(*mcp, stateless("resources/list")).at("result");
  CHECK(texts.at("resources")[0].at("uri") == "fake://text");
  CHECK(texts.at("cacheScope") == "private");
  const Json any = answer_to(*mcp, stateless("resources/templates/list")).at("result");
  CHECK(any.at("resourceTemplates")[0].at("uriTemplate") == "fake://{name}");
  const Json read = answer_to(*mcp, stateless("resources/read", R"(,"uri":"fake://text")"));
  CHECK(read.at("result").at("contents")[0].at("text") == "hello");
  CHECK(code_of(answer_to(*mcp, stateless("resources/read", R"(,"uri":"fake://no")"))) == -32602);
  CHECK(code_of(answer_to(*mcp, stateless("resources/read"))) == -32602);

  const Json listed = answer_to(*mcp, stateless("prompts/list")).at("result");
  CHECK(listed.at("prompts")[0].at("arguments")[0].at("required") == true);
  const Json greeting =
      answer_to(*mcp, stateless("prompts/get", R"(,"name":"greet","arguments":{"whom":"you"})"));
  CHECK(greeting.at("result").at("messages")[0].at("content").at("text") == "Hello you");
  for (const char* wrong : {R"(,"name":"greet")", R"(,"name":"grete","arguments":{"whom":"you"})",
                            R"(,"name":"greet","arguments":{"whom":1})",
                            R"(,"name":"greet","arguments":{"whom":"you","how":"loud"})"}) {
    INFO(wrong);
    CHECK(code_of(answer_to(*mcp, stateless("prompts/get", wrong))) == -32602);
  }
}

TEST_CASE("clients of older revisions begin with initialize") {
  for (const char* revision : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    const auto mcp = make_mcp(tools());
    CHECK(answer_to(*mcp, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").at("result").empty());
    const std::string list = R"({"jsonrpc":"2.0","id":"a","method":"tools/list"})";
    const Json early = answer_to(*mcp, list);
    CHECK(code_of(early) == -32602);
    CHECK(early.at("error").at("data").at("supported") == kKnown);
    const Json begun = answer_to(*mcp, initialize(revision)).at("result");
    CHECK(begun.at("protocolVersion") == revision);
    CHECK(begun.at("serverInfo").at("name") == "fatune");
    CHECK(mcp->parse(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").answer.empty());
    const Json listed = answer_to(*mcp, list);
    CHECK(listed.at("id") == "a");
    CHECK(listed.at("result").at("tools").size() == 3);
    CHECK_FALSE(listed.at("result").contains("resultType"));
    CHECK(answer_to(*mcp, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").at("result").empty());
  }
}

TEST_CASE("initialize offers the newest session for a revision that is unknown or has none") {
  const std::string none = R"({"jsonrpc":"2.0","id":0,"method":"initialize"})";
  for (const std::string& line :
       {initialize("1900-01-01"), initialize("2026-07-28"), initialize(""), none}) {
    const auto mcp = make_mcp(tools());
    CHECK(answer_to(*mcp, line).at("result").at("protocolVersion") == "2025-11-25");
    const Json list = answer_to(*mcp, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
    CHECK(list.contains("result"));
  }
  const auto mcp = make_mcp(tools());
  std::string other = stateless("tools/list");
  other.replace(other.find("2026-07-28"), 10, "2031-01-01");
  const Json refused = answer_to(*mcp, other);
  CHECK(code_of(refused) == -32022);
  CHECK(refused.at("error").at("data") == Json{{"supported", kKnown}, {"requested", "2031-01-01"}});
}

TEST_CASE("a stateless request without capabilities is malformed") {
  const auto mcp = make_mcp(tools());
  const Json refused =
      answer_to(*mcp, R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":)"
                      R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  CHECK(code_of(refused) == -32602);
  CHECK(refused.at("error").at("message").get<std::string>().find("clientCapabilities") !=
        std::string::npos);
}

TEST_CASE("calls carry their tool, arguments and progress token") {
  const auto mcp = make_mcp(tools());
  const ParsedLine line =
      mcp->parse(R"({"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"echo",)"
                 R"("arguments":{"a":1},"_meta":{"progressToken":5,)" +
                 kMeta.substr(kMeta.find('{') + 1) + "}}");
  REQUIRE(line.call);
  CHECK(line.answer.empty());
  CHECK(line.call->tool->name == "echo");
  CHECK(*line.call->arguments == Json{{"a", 1}});
  const Json told = parsed(mcp->progress(*line.call, 2, "timing"));
  CHECK(told == parsed(R"({"jsonrpc":"2.0","method":"notifications/progress",)"
                       R"("params":{"progressToken":5,"progress":2,"message":"timing"}})"));
  const Json answer = parsed(mcp->answer(*line.call, Json{{"b", 2}}));
  CHECK(answer.at("id") == "c");
  CHECK(answer.at("result").at("structuredContent") == Json{{"b", 2}});
  CHECK(answer.at("result").at("content")[0].at("text") == R"({"b":2})");
  const Json failed = parsed(mcp->answer(*line.call, usage_error("no")));
  CHECK(failed.at("result").at("isError") == true);
  CHECK(failed.at("result").at("content")[0].at("text") == "no");
  CHECK(mcp->cancelled(*line.call).empty());
}

TEST_CASE("null stands for what is left out, and an empty cursor for the first page") {
  const auto mcp = make_mcp(tools());
  const auto call = [&](const std::string& arguments) {
    return *mcp->parse(stateless("tools/call", R"(,"name":"echo","arguments":)" + arguments))
                .call->arguments;
  };
  CHECK(call(R"({"a":null,"b":1,"c":{"d":null}})") == Json{{"b", 1}, {"c", {{"d", nullptr}}}});
  CHECK(call("null") == Json::object());
  for (const char* cursor : {R"(,"cursor":"")", R"(,"cursor":null)"})
    CHECK(answer_to(*mcp, stateless("tools/list", cursor)).contains("result"));
  const std::string greet = R"(,"name":"greet","arguments":{"whom":"you","how":null})";
  CHECK(answer_to(*mcp, stateless("prompts/get", greet)).contains("result"));
}

TEST_CASE("a batch is read in the revision that has them") {
  const std::string batch = R"([{"jsonrpc":"2.0","id":1,"method":"ping"},)"
                            R"({"jsonrpc":"2.0","id":2,"method":"tools/call",)"
                            R"("params":{"name":"echo"}},7])";
  const auto mcp = make_mcp(tools());
  CHECK(code_of(answer_to(*mcp, batch)) == -32600);
  answer_to(*mcp, initialize("2025-03-26"));
  const ParsedLine parsed = mcp->parse(batch);
  REQUIRE(parsed.parts.size() == 3);
  CHECK(test::parsed(parsed.parts[0].answer).at("id") == 1);
  CHECK(parsed.parts[1].call->tool->name == "echo");
  CHECK(code_of(test::parsed(parsed.parts[2].answer)) == -32600);
  CHECK(code_of(answer_to(*mcp, "[]")) == -32600);
}

TEST_CASE("an unknown tool and arguments of another type are told") {
  const auto mcp = make_mcp(tools());
  const Json unknown = answer_to(*mcp, stateless("tools/call", R"(,"name":"ecko")"));
  CHECK(code_of(unknown) == -32602);
  CHECK(unknown.at("error").at("message") == "there is no tool 'ecko'; did you mean echo?");
  CHECK(code_of(answer_to(*mcp, stateless("tools/call"))) == -32602);
  CHECK(code_of(answer_to(*mcp, stateless("tools/call", R"(,"name":"echo","arguments":[1])"))) ==
        -32602);
}

TEST_CASE("a cancellation names the call as its request did") {
  const auto mcp = make_mcp(tools());
  const auto cancelled = [&](const std::string& id) {
    return mcp
        ->parse(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
                id + "}}")
        .cancelled;
  };
  CHECK(cancelled("7") == "7");
  CHECK(cancelled("\"7\"") == "\"7\"");
  CHECK(cancelled("null").empty());
  CHECK(cancelled("[1]").empty());
}

TEST_CASE("what is no message is answered in words or not at all") {
  const auto mcp = make_mcp(tools());
  const auto code = [&](const std::string& line) {
    const Json answer = answer_to(*mcp, line);
    CHECK_FALSE(answer.at("error").at("message").get<std::string>().empty());
    return code_of(answer);
  };
  CHECK(code("{") == -32700);
  CHECK(code("\x80\xff\x01") == -32700);
  CHECK(code(std::string("{\"a\":\0}", 7)) == -32700);
  CHECK(code(std::string(100'000, '[')) == -32700);
  CHECK(code("[]") == -32600);
  CHECK(code(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])") == -32600);
  CHECK(code("3") == -32600);
  CHECK(code("{}") == -32600);
  CHECK(code(R"({"id":1,"method":"ping"})") == -32600);
  CHECK(code(R"({"jsonrpc":"2.0","id":1,"method":5})") == -32600);
  CHECK(code(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})") == -32600);
  for (const char* id : {"null", "1.5", "true", "{}", "[1]"}) {
    const std::string line = R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":"ping"})";
    CHECK(code(line) == -32600);
    CHECK_FALSE(answer_to(*mcp, line).contains("id"));
  }
  for (const char* silent : {"", "  \r", R"({"jsonrpc":"2.0","id":1,"result":{}})",
                             R"({"jsonrpc":"2.0","method":"notifications/unheard_of"})"}) {
    const ParsedLine line = mcp->parse(silent);
    CHECK((line.answer.empty() && !line.call && line.cancelled.empty()));
  }
}
