// log.cpp: Writes messages to stderr with spdlog.
#include "core/log.hpp"

#include <array>
#include <memory>
#include <mutex>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/text.hpp"

namespace fatune::log {
namespace {

/// Two loggers, because only warnings and errors print their level.
struct State {
  State() {
    plain.set_pattern("fatune: %v");
    marked.set_pattern("fatune: %^%l:%$ %v");
    apply(spdlog::level::info);
  }
  void apply(spdlog::level::level_enum level) {
    plain.set_level(level);
    marked.set_level(level);
  }

  using Sink = spdlog::sinks::stderr_color_sink_mt;
  std::mutex mutex;
  std::shared_ptr<Sink> sink = std::make_shared<Sink>(spdlog::color_mode::never);
  spdlog::logger plain{"plain", std::make_shared<Sink>(spdlog::color_mode::never)};
  spdlog::logger marked{"marked", sink};
  std::function<void()> before, after;
};

State& state() {
  static State state;
  return state;
}

void write(spdlog::logger& logger, spdlog::level::level_enum level, std::string_view text) {
  if (!logger.should_log(level)) return;
  const std::string message = printable(text);
  const std::lock_guard lock(state().mutex);
  if (state().before) state().before();
  logger.log(level, spdlog::string_view_t(message));
  if (state().after) state().after();
}

}  // namespace

void set_colour(Colour colour) {
  state().sink->set_color_mode(colour == Colour::kAnsi ? spdlog::color_mode::always
                                                       : spdlog::color_mode::never);
}

void set_level(Level level) {
  constexpr std::array kLevels = {spdlog::level::err, spdlog::level::warn, spdlog::level::info,
                                  spdlog::level::debug};
  state().apply(kLevels.at(static_cast<std::size_t>(level)));
}

void set_interlude(std::function<void()> before, std::function<void()> after) {
  const std::lock_guard lock(state().mutex);
  state().before = std::move(before);
  state().after = std::move(after);
}

void debug(std::string_view message) { write(state().marked, spdlog::level::debug, message); }
void info(std::string_view message) { write(state().plain, spdlog::level::info, message); }
void warn(std::string_view message) { write(state().marked, spdlog::level::warn, message); }
void error(std::string_view message) { write(state().marked, spdlog::level::err, message); }

}  // namespace fatune::log
