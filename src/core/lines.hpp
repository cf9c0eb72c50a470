// lines.hpp: Walks over the lines of a text without a copy of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace fatune {

/// The lines as split(text, '\n') gives them: `for (const std::string_view line : Lines(text))`.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  class Iterator {
   public:
    Iterator(std::string_view text, std::size_t begin) : text_(text), begin_(begin) { find_end(); }
    std::string_view operator*() const { return text_.substr(begin_, end_ - begin_); }
    Iterator& operator++() {
      begin_ = end_ + 1;
      find_end();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return begin_ != other.begin_; }

   private:
    void find_end() {
      if (begin_ <= text_.size()) end_ = std::min(text_.find('\n', begin_), text_.size());
    }

    std::string_view text_;
    std::size_t begin_, end_ = 0;
  };
  Iterator begin() const { return {text_, 0}; }
  Iterator end() const { return {text_, text_.size() + 1}; }

 private:
  std::string_view text_;
};

}  // namespace fatune
