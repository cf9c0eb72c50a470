// includes.cpp: Finds includes as the compiler's first phases do, skipping comments and literals.
#include "model/kernel/includes.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";

/// Parses `#include "name"` or `#include <name>`; empty for any other line.
Include plain_include(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return {};
  line = trim(line.substr(1));
  if (!line.starts_with("include")) return {};
  line = trim(line.substr(7));
  const bool quoted = line.starts_with('"');
  if (!quoted && !line.starts_with('<')) return {};
  const std::size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return {0, quoted, std::string(line.substr(1, end - 1))};
}

/// The text without line splices, and the places of the splices. NVRTC 13.0 also splices before CR
/// LF, but not before a blank.
struct Spliced {
  explicit Spliced(std::string_view source) {
    text.reserve(source.size());
    while (!source.empty()) {
      const std::size_t slash = std::min(source.find('\\'), source.size());
      text += source.substr(0, slash);
      source.remove_prefix(slash);
      if (source.starts_with("\\\n") || source.starts_with("\\\r\n")) {
        joints.push_back(text.size());
        source.remove_prefix(source.find('\n') + 1);
      } else if (!source.empty()) {
        text += source.front();
        source.remove_prefix(1);
      }
    }
  }
  std::string text;
  std::vector<std::size_t> joints;  ///< index of the character after each splice
};

bool in_identifier(char c) { return in_class(c, "A-Za-z0-9_"); }

class Scanner {
 public:
  explicit Scanner(std::string_view source) : spliced_(source), text_(spliced_.text) {}

  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    while (at_ < text_.size()) lines.push_back(next_line());
    return lines;
  }

  /// Calls `found` for each logical line that begins with # or %:, with its line number and its
  /// text without comments.
  template <typename Found>
  void each_directive(Found found) {
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      const std::string line = next_line();
      const std::string_view kept = trim(line);
      if (kept.starts_with('#')) found(line_at(begin, '#'), kept.substr(1));
      if (kept.starts_with("%:")) found(line_at(begin, '%'), kept.substr(2));
    }
  }

 private:
  /// Returns a line number; calls must have ascending positions.
  std::size_t line_at(std::size_t begin, char mark) {
    const std::size_t at = std::min(text_.find(mark, begin), text_.size());
    const std::string_view between = text_.substr(counted_, at - counted_);
    lines_ += occurrences(between, '\n');
    counted_ = at;
    const auto joints = std::ranges::upper_bound(spliced_.joints, at) - spliced_.joints.begin();
    return 1 + lines_ + static_cast<std::size_t>(joints);
  }
  bool next_is(std::string_view part) const { return text_.substr(at_).starts_with(part); }

  /// Reads to the end of the line; each comment, which may span lines, becomes a blank.
  std::string next_line() {
    std::string line;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        break;
      }
      if (next_is("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (next_is("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
        line += ' ';
      } else if (c == '"' && is_raw(line)) {
        skip_raw();
      } else if (c == '"' || (c == '\'' && !separates_digits(line))) {
        line += take_literal(c);
      } else {
        const std::size_t begin = at_++;
        while (at_ < text_.size() && !may_begin_more(text_[at_])) ++at_;
        line += text_.substr(begin, at_ - begin);
      }
    }
    return line;
  }

  /// Tells whether a character may start the end of a line, a comment or a literal.
  static bool may_begin_more(char c) { return c == '\n' || c == '/' || c == '"' || c == '\''; }

  static std::string_view last_word(std::string_view line) {
    std::size_t begin = line.size();
    while (begin > 0 && in_identifier(line[begin - 1])) --begin;
    return line.substr(begin);
  }

  /// The quote in 1'000 starts no character literal; the one in 1'"' does.
  bool separates_digits(std::string_view line) const {
    const std::string_view word = last_word(line);
    return !word.empty() && in_class(word.front(), "0-9") && at_ + 1 < text_.size() &&
           in_identifier(text_[at_ + 1]);
  }

  /// Tells whether a quote follows the prefix R, uR, UR, LR or u8R. A suffix of the preceding
  /// literal is no prefix.
  static bool is_raw(std::string_view line) {
    const std::string_view prefix = last_word(line);
    const std::string_view before = line.substr(0, line.size() - prefix.size());
    if (before.ends_with('"') || before.ends_with('\'')) return false;
    return prefix == "R" || prefix == "uR" || prefix == "UR" || prefix == "LR" || prefix == "u8R";
  }

  void skip_raw() {
    const std::size_t open = text_.find_first_of("(\n", at_);
    if (open == std::string_view::npos || text_[open] == '\n') {
      at_ = std::min(open, text_.size());
      return;
    }
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t end = text_.find(close, open);
    at_ = end == std::string_view::npos ? text_.size() : end + close.size();
  }

  /// Reads a string or character literal; an unterminated one ends with its line.
  std::string_view take_literal(char quote) {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '\n') {
      const char c = text_[at_++];
      if (c == quote) break;
      if (c == '\\' && at_ < text_.size() && text_[at_] != '\n') ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  Spliced spliced_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0, lines_ = 0;  ///< newlines before a position
};

/// Tests the text after a directive's #; a comment could hide any word.
bool may_include(std::string_view directive) {
  directive.remove_prefix(std::min(directive.find_first_not_of(kBlanks), directive.size()));
  const auto begins = [&](std::string_view word) { return directive.starts_with(word); };
  return begins("include") || begins("import") || begins("embed") || begins("/*");
}

std::string_view nth_line(std::string_view text, std::size_t number) {
  for (std::size_t i = 1; i < number; ++i) text.remove_prefix(text.find('\n') + 1);
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> found;
  Scanner(text).each_directive([&](std::size_t line, std::string_view directive) {
    directive.remove_prefix(std::min(directive.find_first_not_of(kBlanks), directive.size()));
    if (!directive.starts_with("include") && !directive.starts_with("import")) return;
    const Include seen = plain_include("#" + std::string(directive));
    Include written = plain_include(nth_line(text, line));
    if (written.name != seen.name || written.quoted != seen.quoted) written.name.clear();
    written.line = line;
    found.push_back(std::move(written));
  });
  return found;
}

std::vector<std::string> code_lines(std::string_view text) { return Scanner(text).lines(); }

std::string spliced(std::string_view text) { return Spliced(text).text; }

std::size_t possible_includes(std::string_view text) {
  std::size_t count = 0;
  bool fresh = true;  // at the start of its line, or after blanks or a comment
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.front() == '\n' || text.starts_with("*/")) {
      fresh = true;
      if (text.front() == '*') text.remove_prefix(1);
    } else if (kBlanks.find(text.front()) == std::string_view::npos) {
      const std::size_t mark = text.starts_with("%:") ? 2 : text.front() == '#' ? 1 : 0;
      if (fresh && mark > 0 && may_include(text.substr(mark))) ++count;
      fresh = false;
    }
  }
  return count;
}

}  // namespace fatune
