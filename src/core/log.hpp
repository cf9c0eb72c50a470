// log.hpp: Declares leveled messages on stderr; the only interface to the logging library.
#pragma once

#include <functional>
#include <string_view>

namespace fatune::log {

enum class Level { kQuiet, kWarn, kInfo, kDebug };

enum class Colour { kNone, kAnsi };

void set_colour(Colour colour);  ///< colour of the words "error" and "warning"; none by default
void set_level(Level level);
/// Calls these around each message, to clear and redraw a live progress line.
void set_interlude(std::function<void()> before, std::function<void()> after);
void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

}  // namespace fatune::log
