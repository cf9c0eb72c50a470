// live_server.cpp - three answers over HTTP: the page, its data, and no.
#include "out/page/live_server.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <httplib.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include "core/json.hpp"
#include "out/page/document.hpp"
#include "out/page/live_view.hpp"

namespace fatune {
namespace {

constexpr const char* kAddress = "127.0.0.1";
constexpr std::chrono::milliseconds kStep{50}, kSoon{1};
constexpr std::size_t kThreads = 4;  // a person and a few pages

using Clock = std::chrono::steady_clock;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

void refuse(httplib::Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(why + "\n", "text/plain; charset=utf-8");
}

}  // namespace

class LiveServer::Impl {
 public:
  Impl(const std::filesystem::path& folder, std::chrono::milliseconds linger)
      : view_(folder), linger_(linger) {}
  ~Impl() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status start(int port) {
    // The library's own choice would share a port with a server that is there already.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    port_ = port == 0 ? server_.bind_to_any_port(kAddress)
                      : (server_.bind_to_port(kAddress, port) ? port : -1);
    if (port_ < 0) {
      return environment_error(
          "--serve: port " + std::to_string(port) + " of " + kAddress +
          " is in use; name another with --serve PORT, or 0 for any that is free");
    }
    url_ = std::string("http://") + kAddress + ":" + std::to_string(port_) + "/";
    add_answers();
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // A server that is stopped before it listens would never stop.
    while (!server_.is_running()) std::this_thread::sleep_for(kSoon);
    return {};
  }

  void finish() {
    view_.finish();
    const Clock::time_point end = Clock::now() + linger_;
    const auto watched = [&] { return now_ms() - asked_ms_ < linger_.count(); };
    while (asked_ms_ > 0 && watched() && !told_ && Clock::now() < end)
      std::this_thread::sleep_for(kStep);
  }

  LiveView& view() { return view_; }
  const std::string& url() const { return url_; }

 private:
  /// A browser that was led here by another name must not read what this page shows.
  bool is_ours(const httplib::Request& request) const {
    const std::string port = ":" + std::to_string(port_);
    const std::string host = request.get_header_value("Host");
    return host == kAddress + port || host == "localhost" + port;
  }

  void add_answers() {
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          response.set_header("X-Content-Type-Options", "nosniff");
          response.set_header("Referrer-Policy", "no-referrer");
          response.set_header("Cache-Control", "no-cache");
          if (!is_ours(request)) {
            refuse(response, 403, "this page is at " + url_ + " only");
          } else if (request.method != "GET" && request.method != "HEAD") {
            response.set_header("Allow", "GET");
            refuse(response, 405, "only GET is answered");
          } else {
            return httplib::Server::HandlerResponse::Unhandled;
          }
          return httplib::Server::HandlerResponse::Handled;
        });
    server_.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      const LiveView::State state = view_.state();
      const auto data = parse_json(state.json, "the live page");
      response.set_content(
          page_html(data ? *data : Json::object(), "fatune: sweep", PageMode::kLive),
          "text/html; charset=utf-8");
    });
    server_.Get("/data.json", [this](const httplib::Request& request, httplib::Response& response) {
      const LiveView::State state = view_.state();
      asked_ms_ = now_ms();
      response.set_header("ETag", state.tag);
      if (request.get_header_value("If-None-Match") == state.tag) {
        response.status = 304;
      } else {
        response.set_content(state.json, "application/json");
      }
      if (state.final) told_ = true;
    });
  }

  LiveView view_;
  std::chrono::milliseconds linger_;
  httplib::Server server_;
  std::thread thread_;
  std::string url_;
  int port_ = -1;
  std::atomic<std::int64_t> asked_ms_{0};  ///< when a page last asked; 0: never
  std::atomic<bool> told_{false};          ///< a page has the last state
};

LiveServer::LiveServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LiveServer::~LiveServer() = default;

Result<std::unique_ptr<LiveServer>> LiveServer::start(int port, const std::filesystem::path& folder,
                                                      std::chrono::milliseconds linger) {
  auto impl = std::make_unique<Impl>(folder, linger);
  FATUNE_TRY_STATUS(impl->start(port));
  return std::unique_ptr<LiveServer>(new LiveServer(std::move(impl)));
}

const std::string& LiveServer::url() const { return impl_->url(); }
void LiveServer::show(const SweepProgress& progress) { impl_->view().show(progress); }
void LiveServer::finish() { impl_->finish(); }

}  // namespace fatune
