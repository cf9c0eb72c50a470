// http_server.hpp - requests to a port of this machine to answers, within limits that no client can
// widen.
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
  std::string method, path;                    ///< without ?query
  std::map<std::string, std::string> headers;  ///< names in small letters
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string more_headers{};  ///< each with its "\r\n"
};

/// One request a connection, answered in a thread of its own. A client has 5 s for a request of at
/// most 32 KiB and 64 headers, and 60 s to take its answer; of more than 16 clients the oldest is
/// dropped. The end waits for none of them.
class HttpServer {
 public:
  using Answer = std::function<HttpAnswer(const HttpRequest&)>;

  static constexpr const char* kAddress = "127.0.0.1";
  /// What a client is told that has sent `in`; empty as long as more of it may come.
  static std::string told(std::string_view in, const Answer& answer);
  /// Port 0: any that is free. `answer` is called in the server's thread.
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
  Descriptor wake_;  ///< an eventfd; readable: the server ends
  int port_ = 0;
  std::thread thread_;
};

}  // namespace fatune
