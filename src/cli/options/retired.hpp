// retired.hpp: Answers a retired word with its replacement.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fatune::cli {

/// Returns the answer to a retired option ("--portfolio", "--portfolio=3"); empty for other words.
std::optional<std::string> retired_answer(std::string_view word);

}  // namespace fatune::cli
