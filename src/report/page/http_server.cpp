// http_server.cpp: Runs the server loop on non-blocking sockets and drops slow clients.
#include "report/page/http_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/text.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

// Chosen: browsers send some 15 headers and 1 KiB; the page's data has some megabytes.
constexpr std::size_t kMostClients = 16, kMostHeaders = 64, kMostBytes = std::size_t{32} << 10U;
constexpr std::chrono::seconds kToAsk{5}, kToTake{60}, kToLeave{1};
constexpr std::chrono::milliseconds kShortage{100};  // pause while no descriptor is free

constexpr std::string_view kEndOfHeaders = "\r\n\r\n";

struct Client {
  Descriptor socket;
  Clock::time_point deadline;
  std::string in{};
  std::string out{};  ///< empty before the request is complete
  std::size_t sent = 0;
  bool leaving = false;  ///< answered; further input is discarded
  std::size_t discarded = 0;
};

std::string_view words_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Request Header Fields Too Large";
  }
}

std::string written(const HttpAnswer& answer, bool with_body) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-cache"
      "\r\n{}\r\n",
      answer.status, words_of(answer.status), answer.type, answer.body.size(), answer.more_headers);
  return with_body ? text + answer.body : text;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f';
}

/// Returns the request, or the HTTP status of its error.
std::pair<HttpRequest, int> parse_request(std::string_view head) {
  HttpRequest request;
  std::vector<std::string> lines = split(head, '\n');
  if (lines.size() > kMostHeaders + 1) return {request, 431};
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
    if (std::ranges::any_of(line, is_control)) return {request, 400};
  }
  const std::vector<std::string> words = split(trim(lines.front()), ' ');
  if (words.size() != 3 || !words[2].starts_with("HTTP/1.")) return {request, 400};
  request.method = words[0];
  request.path = words[1].substr(0, words[1].find('?'));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(':');
    if (colon == std::string::npos) return {request, 400};
    std::string name = lines[i].substr(0, colon);
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const std::string value(trim(std::string_view(lines[i]).substr(colon + 1)));
    const bool twice = !request.headers.emplace(name, value).second;
    if (twice && name == "host") return {request, 400};
  }
  return {request, 0};
}

/// Returns whether the client stays connected.
bool receive(Client& client, const HttpServer::Answer& answer) {
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t count = ::recv(client.socket.raw(), part.data(), part.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    client.discarded += client.leaving ? static_cast<std::size_t>(count) : 0;
    if (client.discarded > kMostBytes) return false;
    if (client.leaving) continue;
    client.in.append(part.data(), static_cast<std::size_t>(count));
    client.out = HttpServer::response_to(client.in, answer);
    if (client.out.empty()) continue;
    client.deadline = Clock::now() + kToTake;
    return true;
  }
}

bool send(Client& client) {
  while (client.sent < client.out.size()) {
    const ssize_t count = ::send(client.socket.raw(), client.out.data() + client.sent,
                                 client.out.size() - client.sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    client.sent += static_cast<std::size_t>(count);
  }
  // An immediate close with unread input would reset the connection and lose the answer.
  ::shutdown(client.socket.raw(), SHUT_WR);
  client.leaving = true;
  client.deadline = Clock::now() + kToLeave;
  return true;
}

bool wants_to_send(const Client& client) { return !client.out.empty() && !client.leaving; }

void accept_all(int listener, std::list<Client>& clients) {
  for (;;) {
    Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.open() && errno != EAGAIN) std::this_thread::sleep_for(kShortage);
    if (!socket.open()) return;
    if (clients.size() == kMostClients) clients.pop_front();
    clients.push_back({std::move(socket), Clock::now() + kToAsk});
  }
}

int milliseconds_until_next(const std::list<Client>& clients) {
  if (clients.empty()) return -1;
  const auto next = std::ranges::min_element(clients, {}, &Client::deadline)->deadline;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

std::string HttpServer::response_to(std::string_view in, const Answer& answer) {
  const std::size_t end = in.find(kEndOfHeaders);
  if (end == std::string_view::npos && in.size() < kMostBytes) return "";
  if (end == std::string_view::npos) return written({431, "text/plain", "too long\n"}, true);
  const auto [request, problem] = parse_request(in.substr(0, end));
  if (problem != 0) return written({problem, "text/plain", "not understood\n"}, true);
  return written(answer(request), request.method != "HEAD");
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(int port, Answer answer) {
  std::unique_ptr<HttpServer> server(new HttpServer());
  server->answer_ = std::move(answer);
  server->wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  server->listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int listener = server->listener_.raw();
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const bool bound = server->wake_.open() && server->listener_.open() &&
                     ::bind(listener, raw, size) == 0 && ::listen(listener, kMostClients) == 0 &&
                     ::getsockname(listener, raw, &size) == 0;
  if (!bound) return environment_error(fmt::format("port {} of {} is in use", port, kAddress));
  server->port_ = ntohs(address.sin_port);
  server->thread_ = std::thread([each = server.get()] { each->run(); });
  return server;
}

HttpServer::~HttpServer() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  while (::write(wake_.raw(), &one, sizeof one) < 0 && errno == EINTR) continue;
  thread_.join();
}

void HttpServer::run() {
  std::list<Client> clients;
  for (;;) {
    std::vector<pollfd> wanted = {{wake_.raw(), POLLIN, 0}, {listener_.raw(), POLLIN, 0}};
    for (const Client& client : clients) {
      const int events = wants_to_send(client) ? POLLOUT : POLLIN;
      wanted.push_back({client.socket.raw(), static_cast<short>(events), 0});
    }
    if (::poll(wanted.data(), wanted.size(), milliseconds_until_next(clients)) < 0) continue;
    if (wanted[0].revents != 0) return;
    std::size_t i = 2;
    std::erase_if(clients, [&](Client& client) {
      const bool called = wanted[i++].revents != 0;
      bool stays = Clock::now() < client.deadline;
      if (stays && called && !wants_to_send(client)) stays = receive(client, answer_);
      if (stays && called && wants_to_send(client)) stays = send(client);
      return !stays;
    });
    if (wanted[1].revents != 0) accept_all(listener_.raw(), clients);
  }
}

}  // namespace fatune
