// page_values.cpp: Rounds numbers and cleans texts for a page.
#include <cmath>
#include <string>
#include <string_view>

#include "out/page/page_json.hpp"

namespace fatune {

double rounded(double value, int digits) {
  if (!std::isfinite(value) || value == 0) return 0;
  const int places = digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  // Powers of ten up to 22 are exact, so the division gives the double nearest to the decimal.
  const double scale = std::pow(10.0, std::abs(places));
  return places >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

std::string without_folders(const std::string& text) {
  static constexpr std::string_view kEnds = " \t\n'\",:=";
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kEnds, at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool absolute = word.starts_with('/') || word.starts_with('~');
    kept += absolute ? word.substr(word.find_last_of('/') + 1) : word;
    if (end < text.size()) kept += text[end];
    at = end + 1;
  }
  return kept;
}

}  // namespace fatune
