// utf8.cpp: Cuts text between characters and removes byte-order marks.
#include "core/utf8.hpp"

namespace fatune {

void drop_byte_order_mark(std::string& text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
}

std::string_view head(std::string_view text, std::size_t bytes) {
  const auto continues = [&] { return (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U; };
  if (text.size() <= bytes) return text;
  for (int i = 0; i < 3 && bytes > 0 && continues(); ++i) --bytes;
  return text.substr(0, bytes);
}

}  // namespace fatune
