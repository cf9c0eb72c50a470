// log.hpp - leveled messages to stderr; the only interface to the logging library.
#pragma once

#include <functional>
#include <string_view>

namespace fatune::log {

enum class Level { kQuiet, kWarn, kInfo, kDebug };

enum class Colour { kNone, kAnsi };

void set_colour(Colour colour);  ///< of the word "error" or "warning"; none unless told
void set_level(Level level);
/// Called around every message so that a live progress line is cleared first and drawn again after.
void set_interlude(std::function<void()> before, std::function<void()> after);
void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

}  // namespace fatune::log
