// http_server.hpp: Declares a local HTTP server with limits on its clients.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "core/descriptor.hpp"
#include "core/result.hpp"

namespace fatune {

struct HttpRequest {
  std::string method, path;                    ///< `path` has no ?query
  std::map<std::string, std::string> headers;  ///< names in lower case
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string more_headers{};  ///< each header ends in "\r\n"
};

/// Answers one request a connection, in its own thread. A client has 5 s to send at most 32 KiB and
/// 64 headers, and 60 s to take the answer. Above 16 clients the oldest is dropped. Destruction
/// does not wait for clients.
class HttpServer {
 public:
  using Answer = std::function<HttpAnswer(const HttpRequest&)>;

  static constexpr const char* kAddress = "127.0.0.1";
  /// Returns the response to the input `in`; empty while the request is incomplete.
  static std::string response_to(std::string_view in, const Answer& answer);
  /// Port 0 means any free port. The server's thread calls `answer`.
  static Result<std::unique_ptr<HttpServer>> start(int port, Answer answer);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  int port() const { return port_; }

 private:
  HttpServer() = default;
  void run();

  Answer answer_;
  Descriptor listener_;
  Descriptor wake_;  ///< an eventfd; readable when the server shall end
  int port_ = 0;
  std::thread thread_;
};

}  // namespace fatune
