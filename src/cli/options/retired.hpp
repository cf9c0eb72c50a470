// retired.hpp: Answers a retired word with its replacement.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fatune::cli {

/// Answer to a retired option ("--portfolio", "--portfolio=3") or to a retired prefix of an
/// implementation ("external:fa3"). Empty for any other word.
std::optional<std::string> retired_answer(std::string_view word);

}  // namespace fatune::cli
