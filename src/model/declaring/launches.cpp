// launches.cpp: Reads how a function is launched.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/tokens.hpp"
#include "model/declaring/declaration.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {
namespace {

constexpr std::array<std::string_view, 4> kParts = {"grid", "block", "shared", "with"};

/// Returns where the next part's word begins, outside of brackets; the text's end without one.
std::size_t next_part(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = at + length_before(text.substr(at), " \t");
    at = std::min(text.find_first_not_of(" \t", space), text.size());
    if (std::ranges::count(kParts, leading_name(text.substr(at))) > 0) return at;
  }
  return text.size();
}

/// Writes the tokens of an expression with ceil_div in place of quotients.
class Rounding : TokenReader {
 public:
  explicit Rounding(std::string_view text) : TokenReader(text, Syntax::kManifest) {}

  /// Reads up to a closing bracket.
  std::string expression() {
    std::string text;
    while (!next().empty() && next() != ")") {
      const bool comma = next() == ",";
      if (!comma && !text.empty()) text += ' ';
      text += next() == "(" || in_word(next().front()) ? product() : take();
    }
    return text;
  }

 private:
  std::string take() { return std::string(tokens_[at_++]); }

  std::string product() {
    std::string text = factor();
    while (next() == "/" || next() == "*" || next() == "%") {
      const std::string sign = take();
      const std::string right = factor();
      const std::string idiom = fmt::format(" + {} - 1)", right);  // it rounds up already
      if (sign == "/" && text.ends_with(idiom))
        text.replace(text.size() - idiom.size(), idiom.size(), ")");
      text = sign == "/" ? fmt::format("ceil_div({}, {})", text, right)
                         : fmt::format("{} {} {}", text, sign, right);
    }
    return text;
  }

  std::string factor() {
    if (next().empty()) return {};
    if (next() == "-" || next() == "!") return take() + factor();
    std::string text = next() == "(" ? "" : take();
    if (!skip("(")) return text;
    text += "(" + expression() + ")";
    skip(")");
    return text;
  }
};

}  // namespace

DeclaredStage parse_launch(const Said& said, Faults& faults) {
  DeclaredStage stage;
  stage.where = said.where;
  const std::string_view text = said.text;
  std::size_t at = next_part(text);
  std::string_view function = trim(text.substr(0, at));
  const std::size_t open = function.find('(', function.rfind('>') + 1);  // of arguments
  if (function.ends_with(')') && open != std::string_view::npos) {
    stage.passed = split_outside(function.substr(open + 1, function.size() - open - 2), ',');
    function = trim(function.substr(0, open));
  }
  stage.entry = function;
  while (at < text.size()) {
    const std::string_view part = leading_name(text.substr(at));
    const std::size_t begin = at + part.size();
    at = begin + next_part(text.substr(begin));
    const std::string_view value = trim(text.substr(begin, at - begin));
    if (part == "shared") stage.shared = value;
    if (part == "grid") stage.grid = split_outside(value, ',');
    if (part == "block") stage.block = split_outside(value, ',');
    if (part == "with")
      faults.add(said.where,
                 "has 'with', but all launches have the same macros; write a second function");
  }
  for (const auto& [part, extents] :
       {std::pair("grid", &stage.grid), std::pair("block", &stage.block)}) {
    if (extents->empty() || extents->size() > kLaunchDimensions)
      faults.add(said.where, fmt::format("{}; write 1 to 3 expressions, such as: {} {}",
                                         extents->empty() ? fmt::format("no {} is said", part)
                                                          : fmt::format("{} has too many", part),
                                         part, part[0] == 'g' ? "n / BLOCK" : "BLOCK"));
    extents->resize(kLaunchDimensions, "1");
  }
  return stage;
}

std::string rounded_up(std::string_view expression) { return Rounding(expression).expression(); }

}  // namespace fatune
