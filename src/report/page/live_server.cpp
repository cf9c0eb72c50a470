// live_server.cpp: Serves the page and its data over HTTP; rereads the journal when it has grown.
#include "report/page/live_server.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.hpp"
#include "core/log.hpp"
#include "report/page/http_server.hpp"
#include "report/page/page_document.hpp"
#include "report/page/report_page.hpp"

namespace fatune {
namespace {

constexpr std::chrono::milliseconds kStep{50};

using Clock = std::chrono::steady_clock;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

/// Combines a growing journal and the latest progress into the page's data. Thread-safe; show()
/// never waits for the journal. The journal is reread when it has grown, at most once in
/// kLeastPause, which bounds the cost of viewers.
class LiveView {
 public:
  static constexpr std::chrono::milliseconds kLeastPause{800};  ///< chosen; pages poll each second

  explicit LiveView(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void show(const SweepProgress& progress) {
    const std::lock_guard lock(progress_mutex_);
    progress_ = progress;
    progress_.best_history_us.clear();  // the page has every candidate
  }

  void finish() {
    const std::lock_guard lock(journal_mutex_);
    size_ = 0;  // rereads the journal in full depth
    const std::lock_guard progress_lock(progress_mutex_);
    finished_ = true;
  }

  struct State {
    std::string json;  ///< {"live":...,"runs":[...]}
    std::string tag;   ///< changes whenever `json` changes
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
    state.json = "{\"live\":" + dump(live_json(progress, finished)) + ",\"runs\":" + runs_ + "}";
    state.tag = "\"" + sha256_hex(state.json).substr(0, 16) + "\"";
    state.final = finished;
    return state;
  }

 private:
  /// Keeps the old data if the journal is unreadable or does not exist yet.
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
    runs_ = dump(runs_json(runs, finished ? Depth::kFull : Depth::kQuick));
    size_ = size;
    read_at_ = std::chrono::steady_clock::now();
  }

  std::filesystem::path folder_;
  std::mutex progress_mutex_;  ///< guards progress_ and finished_; locked last
  SweepProgress progress_;
  bool finished_ = false;
  std::mutex journal_mutex_;  ///< guards the members below
  std::uintmax_t size_ = 0;   ///< size of the journal when it was read
  std::chrono::steady_clock::time_point read_at_{};
  std::string runs_ = "[]";  ///< JSON of the runs, kept because it is costly
};

class LiveServer::Impl {
 public:
  Impl(const std::filesystem::path& folder, std::chrono::milliseconds linger)
      : view(folder), linger_(linger) {}

  Status start(int port) {
    auto started =
        HttpServer::start(port, [this](const HttpRequest& request) { return answer(request); });
    if (!started) {
      return environment_error(
          fmt::format("--serve: {}; name another with --serve PORT, or 0 for any that is free",
                      started.error().message));
    }
    port_ = (*started)->port();
    url = fmt::format("http://{}:{}/", HttpServer::kAddress, port_.load());
    server_ = *std::move(started);
    return {};
  }

  void finish() {
    view.finish();
    const Clock::time_point end = Clock::now() + linger_;
    const auto watched = [&] { return now_ms() - asked_ms_ < linger_.count(); };
    while (asked_ms_ > 0 && watched() && !final_state_sent_ && Clock::now() < end)
      std::this_thread::sleep_for(kStep);
  }

  std::string forward() const {
    return fmt::format("{0}:{1}:{0} HOST", port_.load(), HttpServer::kAddress);
  }

  LiveView view;
  std::string url;  ///< see LiveServer::url()

 private:
  /// Refuses requests for other host names, because DNS rebinding could read the page.
  bool is_ours(const HttpRequest& request) const {
    const auto host = request.headers.find("host");
    if (host == request.headers.end()) return false;
    return host->second == fmt::format("{}:{}", HttpServer::kAddress, port_.load()) ||
           host->second == fmt::format("localhost:{}", port_.load());
  }

  HttpAnswer answer(const HttpRequest& request) {
    if (!is_ours(request)) return {.status = 403, .body = "this page is elsewhere\n"};
    if (request.method != "GET" && request.method != "HEAD")
      return {.status = 405, .body = "only GET is answered\n", .more_headers = "Allow: GET\r\n"};
    if (request.path == "/") return page();
    if (request.path == "/data.json") return data(request);
    return {.status = 404, .body = "there is / and /data.json\n"};
  }

  HttpAnswer page() {
    const auto data = parse_json(view.state().json, "the live page");
    return {.type = "text/html; charset=utf-8",
            .body = page_html(data ? *data : Json::object(), "fatune: sweep", PageMode::kLive)};
  }

  HttpAnswer data(const HttpRequest& request) {
    LiveView::State state = view.state();
    asked_ms_ = now_ms();
    if (state.final) final_state_sent_ = true;
    HttpAnswer answer{.type = "application/json", .body = std::move(state.json)};
    answer.more_headers = "ETag: " + state.tag + "\r\n";
    const auto known = request.headers.find("if-none-match");
    if (known == request.headers.end() || known->second != state.tag) return answer;
    answer.status = 304;
    answer.body.clear();
    return answer;
  }

  std::chrono::milliseconds linger_;
  std::atomic<int> port_{-1};
  std::atomic<std::int64_t> asked_ms_{0};      ///< time of the latest poll; 0 for never
  std::atomic<bool> final_state_sent_{false};  ///< a page has received the final state
  std::unique_ptr<HttpServer> server_;  ///< destroyed first, because it uses the other members
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
