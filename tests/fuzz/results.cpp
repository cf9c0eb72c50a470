// results.cpp: Fuzzes best.json, saved measurements, known configs, launch facts and wisdom.
#include "fuzz.hpp"
#include "memory_file.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/saved_result.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune::fuzz {

void best(std::string_view text) {
  auto parsed = parse_json(text, "x");
  if (!parsed) return;
  const auto file = best_file_from_json(*std::move(parsed), "x");
  if (!file) return;
  // A file may lack what a sweep always writes; it is never written again.
  static_cast<void>(best_file_from_json(to_json(*file), "written"));
}

void saved(std::string_view text) { static_cast<void>(load_saved_result(MemoryFile(text).path())); }

void known(std::string_view text) {
  static_cast<void>(parse_known(text, "x"));
  check_record<KnownFile>(text);
}

void wisdom(std::string_view text) {
  const auto index = read_wisdom_index(text, "x");
  if (!index || !index->intact) return;
  const auto again = read_wisdom_index(write_wisdom_index(index->kernels, "0"), "written");
  FATUNE_CHECK(again && again->intact && again->kernels.size() == index->kernels.size(),
               "an index reads back as it was");
}

void launch(std::string_view text) { check_record<KernelFacts>(text); }

}  // namespace fatune::fuzz
