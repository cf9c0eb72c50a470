// python_lines.cpp - cuts names, numbers, strings and marks; joins what brackets and backslashes
// join.
#include "model/interchange/python_lines.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::size_t kLargestPython = std::size_t{64} << 10U;  ///< bytes; chosen

bool is_python_name(char c) { return in_class(c, "A-Za-z0-9_"); }

/// Cuts a text into logical lines.
class PythonLines {
 public:
  PythonLines(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Result<std::vector<PyLine>> lines() {
    while (at_ < text_.size()) {
      if (fresh_) begin_line();
      FATUNE_TRY_STATUS(step());
    }
    if (!brackets_.empty()) return wrong("a bracket is not closed");
    end_line();
    return std::move(lines_);
  }

 private:
  Error wrong(std::string_view what) const {
    return file_error(fmt::format("{}: line {}: {}", where_, number_, what));
  }
  char here(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void begin_line() {
    fresh_ = false;
    line_ = {number_, 0, {}};
    for (; here() == ' ' || here() == '\t'; ++at_) line_.indent += here() == '\t' ? 8 : 1;
  }
  void end_line() {
    if (!line_.tokens.empty()) lines_.push_back(std::move(line_));
    line_ = {};
    fresh_ = true;
  }

  Status step() {
    const char c = here();
    if (c == '\n') {
      ++at_;
      ++number_;
      if (brackets_.empty()) end_line();
      return {};
    }
    if (c == '\\' && (here(1) == '\n' || (here(1) == '\r' && here(2) == '\n'))) {
      at_ += here(1) == '\n' ? 2 : 3;
      ++number_;
      return {};
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
      return {};
    }
    if (c == '#') {
      while (at_ < text_.size() && here() != '\n') ++at_;
      return {};
    }
    return token();
  }

  Status token() {
    if (const std::size_t prefix = string_prefix()) return string(prefix - 1);
    if (in_class(here(), "A-Za-z_")) return take(PyToken::Kind::kName, name_length());
    if (in_class(here(), "0-9") || (here() == '.' && in_class(here(1), "0-9")))
      return take(PyToken::Kind::kNumber, number_length());
    return mark();
  }

  Status take(PyToken::Kind kind, std::size_t length) {
    line_.tokens.push_back({kind, text_.substr(at_, length)});
    at_ += length;
    return {};
  }

  std::size_t name_length() const {
    std::size_t length = 0;
    while (is_python_name(here(length))) ++length;
    return length;
  }
  std::size_t number_length() const {
    std::size_t length = 0;
    const auto sign_of_exponent = [&] {
      return length > 0 && (here(length) == '+' || here(length) == '-') &&
             (here(length - 1) == 'e' || here(length - 1) == 'E');
    };
    while (is_python_name(here(length)) || here(length) == '.' || sign_of_exponent()) ++length;
    return length;
  }

  /// Letters before a quote and one more; 0: no string begins here.
  std::size_t string_prefix() const {
    for (std::size_t letters = 0; letters <= 2; ++letters) {
      if (here(letters) == '"' || here(letters) == '\'') return letters + 1;
      if (!in_class(here(letters), "rRbBuUfF")) return 0;
    }
    return 0;
  }

  /// The token is what stands between the quotes, escapes as they are.
  Status string(std::size_t prefix) {
    at_ += prefix;
    const char quote = here();
    const bool triple = here(1) == quote && here(2) == quote;
    at_ += triple ? 3 : 1;
    const std::size_t begin = at_;
    const std::string end(triple ? 3 : 1, quote);
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      if (here() == '\n' && !triple) return wrong("a string does not end");
      if (here() == '\\') ++at_;
      if (here() == '\n') ++number_;
      ++at_;
    }
    if (at_ >= text_.size()) return wrong("a string does not end");
    line_.tokens.push_back({PyToken::Kind::kText, text_.substr(begin, at_ - begin)});
    at_ += end.size();
    return {};
  }

  Status mark() {
    constexpr std::string_view kOpening = "([{", kClosing = ")]}";
    const char c = here();
    if (kOpening.find(c) != std::string_view::npos) {
      if (static_cast<int>(brackets_.size()) >= kDeepestPython)
        return wrong("brackets nest too deep");
      brackets_ += kClosing[kOpening.find(c)];
    } else if (kClosing.find(c) != std::string_view::npos) {
      if (brackets_.empty() || brackets_.back() != c)
        return wrong(fmt::format("'{}' closes nothing", c));
      brackets_.pop_back();
    }
    constexpr std::array<std::string_view, 11> kPairs = {
        "**", "//", "->", "==", "!=", "<=", ">=", ":=", "+=", "-=", "*="};
    const bool pair = std::ranges::count(kPairs, text_.substr(at_, 2)) > 0;
    return take(PyToken::Kind::kMark, pair ? 2 : 1);
  }

  std::string_view text_;
  const std::string& where_;
  std::vector<PyLine> lines_;
  PyLine line_;
  std::string brackets_;  ///< that are to close those open
  std::size_t at_ = 0;
  int number_ = 1;
  bool fresh_ = true;
};

}  // namespace

Result<std::vector<PyLine>> python_lines(std::string_view text, const std::string& where) {
  FATUNE_TRY_STATUS(check_size(text, kLargestPython, where));
  return PythonLines(text, where).lines();
}

}  // namespace fatune
