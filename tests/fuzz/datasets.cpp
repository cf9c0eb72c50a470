// datasets.cpp: Fuzzes readers of other tuners' results and spaces.
#include <algorithm>

#include "fuzz.hpp"
#include "memory_file.hpp"
#include "model/space/space.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/spaces.hpp"

namespace fatune::fuzz {

void kernel_tuner(std::string_view text) { static_cast<void>(read_kernel_tuner(text, "x")); }
void t4(std::string_view text) { static_cast<void>(read_t4(text, "x")); }
void ktt(std::string_view text) { static_cast<void>(read_ktt(text, "x")); }

void t1(std::string_view text) {
  static_cast<void>(list_from_python(text, "x"));
  // Spaces are walked through: those of many values take their time, as they may.
  constexpr std::ptrdiff_t kFew = 40;
  if (std::ranges::count(text, ',') > kFew || text.find("range") != std::string_view::npos) return;
  static_cast<void>(read_t1_space(MemoryFile(text).path()));
}

}  // namespace fatune::fuzz
