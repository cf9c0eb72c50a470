// server.cpp: Runs one client's loop: reads lines, admits calls, runs calls, sends answers.
#include "judge/protocol/server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "core/interrupt.hpp"
#include "core/log.hpp"

namespace fatune {
namespace {

constexpr std::chrono::milliseconds kTick{200};  // maximum delay until an interrupt is noticed

Error interruption() { return {ErrorKind::kInterrupted, "interrupted"}; }

Error broken_input(int reason) {
  return environment_error("stdin: cannot read: " + std::generic_category().message(reason));
}

}  // namespace

Server::Server(Dialect& dialect, int input, Write write, const ServerLimits& limits)
    : dialect_(dialect),
      reader_(input, limits.line_bytes),
      write_(std::move(write)),
      limits_(limits) {}

Status Server::run() {
  while (!calls_.empty() || !reader_.ended()) {
    if (interrupted()) return interruption();
    const bool idle = calls_.empty();
    FATUNE_TRY_STATUS(read_lines(idle ? kTick : std::chrono::milliseconds(0)));
    if (!calls_.empty()) FATUNE_TRY_STATUS(serve_next());
  }
  return {};
}

Status Server::read_lines(std::chrono::milliseconds patience) {
  if (reader_.ended()) return {};
  FATUNE_TRY_STATUS(reader_.wait(patience));
  while (const auto line = reader_.next()) FATUNE_TRY_STATUS(handle(*line));
  return {};
}

Status Server::handle(const LineReader::Line& line) {
  if (line.too_long) {
    return send(dialect_.unreadable(
        fmt::format("a line of more than {} bytes is not read", limits_.line_bytes)));
  }
  ParsedLine parsed = dialect_.parse(line.text);
  FATUNE_TRY_STATUS(send(parsed.answer));
  if (!parsed.cancelled.empty()) FATUNE_TRY_STATUS(cancel(parsed.cancelled));
  return parsed.call ? admit(*std::move(parsed.call)) : Status();
}

std::string Server::reason_against(const ToolCall& call) {
  const auto same = [&](const ToolCall& other) { return !call.id.empty() && other.id == call.id; };
  if (std::ranges::any_of(calls_, same))
    return fmt::format("id {} is that of a call which is not answered yet", call.id);
  if (calls_.size() - (running_ ? 1 : 0) >= limits_.waiting)
    return fmt::format("{} calls are waiting; ask again when some are answered", limits_.waiting);
  const Clock::time_point time = now();
  while (!admitted_.empty() && time - admitted_.front() >= std::chrono::minutes(1))
    admitted_.pop_front();
  if (std::ssize(admitted_) >= limits_.calls_a_minute)
    return fmt::format("more than {} calls in a minute; ask again later", limits_.calls_a_minute);
  admitted_.push_back(time);
  return "";
}

Status Server::admit(ToolCall call) {
  const std::string reason = reason_against(call);
  if (!reason.empty()) return send(dialect_.refusal(call, reason));
  calls_.push_back(std::move(call));
  return {};
}

Status Server::cancel(const std::string& id) {
  const auto found = std::ranges::find(calls_, id, &ToolCall::id);
  if (found == calls_.end()) return {};  // the call was already answered, or never made
  log::debug("cancelled: " + found->tool->name);
  if (running_ && found == calls_.begin()) {
    cancelled_ = true;
    return {};
  }
  const ToolCall call = std::move(*found);
  calls_.erase(found);
  return send(dialect_.cancelled(call));
}

Status Server::serve_next() {
  running_ = true;
  cancelled_ = false;
  step_ = 0;
  phase_.clear();
  const ToolCall call = calls_.front();
  const Result<Json> result =
      call.tool->run(*call.arguments, [this](std::string_view phase) { return beat(phase); });
  running_ = false;
  calls_.pop_front();
  if (interrupted()) return interruption();
  return send(cancelled_ ? dialect_.cancelled(call) : dialect_.answer(call, result));
}

Status Server::beat(std::string_view phase) {
  FATUNE_TRY_STATUS(read_lines(std::chrono::milliseconds(0)));
  if (interrupted()) return interruption();
  if (cancelled_) return Error{ErrorKind::kInterrupted, "cancelled"};
  if (phase == phase_) return {};
  phase_ = phase;
  return send(dialect_.progress(calls_.front(), ++step_, phase));
}

Status Server::send(const std::string& line) { return line.empty() ? Status() : write_(line); }

Status LineReader::wait(std::chrono::milliseconds patience) {
  pollfd watched{descriptor_, POLLIN, 0};
  const int ready = ::poll(&watched, 1, static_cast<int>(patience.count()));
  if (ready < 0 && errno != EINTR) return broken_input(errno);
  if (ready <= 0) return {};
  std::array<char, 65536> bytes{};
  const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN ? Status() : broken_input(errno);
  ended_ = count == 0;
  searched_ -= begin_;
  buffer_.erase(0, std::exchange(begin_, 0));
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return {};
}

std::optional<LineReader::Line> LineReader::next() {
  const std::size_t end = buffer_.find('\n', searched_);
  if (end != std::string::npos) return take(end);
  if (buffer_.size() - begin_ > limit_) {
    dropping_ = true;
    begin_ = buffer_.size();
  }
  searched_ = buffer_.size();
  if (!ended_ || (begin_ == buffer_.size() && !dropping_)) return std::nullopt;
  return take(buffer_.size());
}

LineReader::Line LineReader::take(std::size_t end) {
  Line line{buffer_.substr(begin_, end - begin_),
            std::exchange(dropping_, false) || end - begin_ > limit_};
  begin_ = searched_ = std::min(end + 1, buffer_.size());
  if (line.too_long) line.text.clear();
  return line;
}

}  // namespace fatune
