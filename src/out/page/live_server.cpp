// live_server.cpp - three answers over HTTP: the page, its data, and no; the data are those of the
// journal, read when it has grown.
#include "out/page/live_server.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "out/page/page_json.hpp"
#include "out/page/report_page.hpp"

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

/// A journal that grows and the latest progress to the page's newest state. Safe to use from
/// several threads; show() never waits for the journal. That is read again when it has grown, and
/// at most once in kLeastPause, so that the cost of viewers is bounded.
class LiveView {
 public:
  static constexpr std::chrono::milliseconds kLeastPause{800};  ///< chosen: pages ask once a second

  explicit LiveView(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void show(const SweepProgress& progress) {
    const std::lock_guard lock(progress_mutex_);
    progress_ = progress;
    progress_.best_history_us.clear();  // the page has every candidate
  }

  void finish() {
    const std::lock_guard lock(journal_mutex_);
    size_ = 0;  // once more, with all that it can tell
    const std::lock_guard progress_lock(progress_mutex_);
    finished_ = true;
  }

  struct State {
    std::string json;  ///< fatune.page/2 with "live"
    std::string tag;   ///< differs where json does
    bool final = false;
  };
  State state() {
    const std::lock_guard lock(journal_mutex_);
    const auto [progress, finished] = [this] {
      const std::lock_guard progress_lock(progress_mutex_);
      return std::pair(progress_, finished_);
    }();
    read_journal(finished);
    State state;
    state.json = dump(to_json(PageDocument{head_, PageLive{progress, finished}, {}}));
    state.json.replace(state.json.rfind("[]"), 2, runs_);  // the runs, which are costly to make
    state.tag = "\"" + sha256_hex(state.json).substr(0, 16) + "\"";
    state.final = finished;
    return state;
  }

 private:
  /// An unreadable journal, one that does not exist yet say, leaves what was known.
  void read_journal(bool finished) {
    const auto now = std::chrono::steady_clock::now();
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(folder_ / "journal.jsonl", error);
    const bool soon = !finished && now - read_at_ < kLeastPause;
    if (error || size == size_ || soon) return;
    auto run = load_page_run(folder_);
    if (!run) {
      log::debug("the live page keeps what it has: " + run.error().message);
      return;
    }
    const std::array runs = {std::move(*run)};
    const Json page = to_json(page_document(runs, finished ? Depth::kFull : Depth::kQuick, {}));
    head_ = {runs.front().header.environment.fatune, runs.front().header.plan.command,
             page["recorded"].get<bool>()};
    runs_ = dump(page["runs"]);
    size_ = size;
    read_at_ = std::chrono::steady_clock::now();
  }

  std::filesystem::path folder_;
  std::mutex progress_mutex_;  ///< of the next two; taken last
  SweepProgress progress_;
  bool finished_ = false;
  std::mutex journal_mutex_;  ///< of the others
  std::uintmax_t size_ = 0;   ///< of the journal, when it was read
  std::chrono::steady_clock::time_point read_at_{};
  DocumentHead head_;
  std::string runs_ = "[]";  ///< JSON
};

class LiveServer::Impl {
 public:
  Impl(const std::filesystem::path& folder, std::chrono::milliseconds linger)
      : view(folder), linger_(linger) {}
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
          fmt::format("--serve: port {} of {} is in use; name another with --serve PORT, or 0 for "
                      "any that is free",
                      port, kAddress));
    }
    url = fmt::format("http://{}:{}/", kAddress, port_);
    add_answers();
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // A server that is stopped before it listens would never stop.
    while (!server_.is_running()) std::this_thread::sleep_for(kSoon);
    return {};
  }

  void finish() {
    view.finish();
    const Clock::time_point end = Clock::now() + linger_;
    const auto watched = [&] { return now_ms() - asked_ms_ < linger_.count(); };
    while (asked_ms_ > 0 && watched() && !told_ && Clock::now() < end)
      std::this_thread::sleep_for(kStep);
  }

  std::string forward() const { return fmt::format("{0}:{1}:{0} HOST", port_, kAddress); }

  LiveView view;
  std::string url;  ///< see LiveServer

 private:
  /// A browser that was led here by another name must not read what this page shows.
  bool is_ours(const httplib::Request& request) const {
    const std::string host = request.get_header_value("Host");
    return host == fmt::format("{}:{}", kAddress, port_) ||
           host == fmt::format("localhost:{}", port_);
  }

  void add_answers() {
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          response.set_header("X-Content-Type-Options", "nosniff");
          response.set_header("Referrer-Policy", "no-referrer");
          response.set_header("Cache-Control", "no-cache");
          if (!is_ours(request)) {
            refuse(response, 403, "this page is at " + url + " only");
          } else if (request.method != "GET" && request.method != "HEAD") {
            response.set_header("Allow", "GET");
            refuse(response, 405, "only GET is answered");
          } else {
            return httplib::Server::HandlerResponse::Unhandled;
          }
          return httplib::Server::HandlerResponse::Handled;
        });
    server_.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      const LiveView::State state = view.state();
      const auto data = parse_json(state.json, "the live page");
      response.set_content(
          page_html(data ? *data : Json::object(), "fatune: sweep", PageMode::kLive),
          "text/html; charset=utf-8");
    });
    server_.Get("/data.json", [this](const httplib::Request& request, httplib::Response& response) {
      const LiveView::State state = view.state();
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

  std::chrono::milliseconds linger_;
  httplib::Server server_;
  std::thread thread_;
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

const std::string& LiveServer::url() const { return impl_->url; }
std::string LiveServer::forward() const { return impl_->forward(); }
void LiveServer::show(const SweepProgress& progress) { impl_->view.show(progress); }
void LiveServer::finish() { impl_->finish(); }

}  // namespace fatune
