// http.cpp: Fuzzes the parser of requests to the live page.
#include <fmt/format.h>

#include "fuzz.hpp"
#include "report/page/http_server.hpp"

namespace fatune::fuzz {
namespace {

HttpAnswer greet(const HttpRequest& request) {
  FATUNE_CHECK(request.path.find_first_of("? \r\n") == std::string::npos, "a path is one word");
  FATUNE_CHECK(request.headers.size() <= 64, "more headers are refused");
  for (const auto& [name, value] : request.headers) {
    FATUNE_CHECK(name.find_first_of("ABCXYZ:\n") == std::string::npos,
                 "a name is in small letters");
    FATUNE_CHECK(value.find_first_of("\r\n") == std::string::npos, "a value is one line");
  }
  return {.body = "hello\n", .more_headers = "ETag: \"1\"\r\n"};
}

}  // namespace

void http(std::string_view text) {
  std::string method;
  const std::string told = HttpServer::response_to(text, [&](const HttpRequest& request) {
    method = request.method;
    return greet(request);
  });
  const std::size_t end = text.find("\r\n\r\n");
  FATUNE_CHECK(told.empty() == (end == std::string_view::npos), "whole requests are answered");
  if (told.empty()) {
    const std::string endless = std::string(text) + std::string(32'768, 'x');
    FATUNE_CHECK(HttpServer::response_to(endless, greet).starts_with("HTTP/1.1 431 "),
                 "it has a limit");
    return;
  }
  FATUNE_CHECK(told == HttpServer::response_to(text.substr(0, end + 4), greet),
               "what follows is ignored");
  FATUNE_CHECK(told.starts_with("HTTP/1.1 200 ") || told.starts_with("HTTP/1.1 4"),
               "an answer has a status");
  const std::size_t body = told.find("\r\n\r\n") + 4;
  const bool alone = method == "HEAD" && body == told.size();
  FATUNE_CHECK(alone || told.find(fmt::format("Content-Length: {}\r\n", told.size() - body)) < body,
               "the length is that of the body");
}

}  // namespace fatune::fuzz
