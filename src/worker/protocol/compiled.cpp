// compiled.cpp - compiler logs to resources by entry, and fields of compilations.
#include "worker/protocol/compiled.hpp"

#include <algorithm>
#include <optional>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// The text between two quotes after `marker`: "function 'k'" gives k.
std::optional<std::string> quoted_after(const std::string& line, std::string_view marker) {
  std::size_t at = line.find(marker);
  if (at == std::string::npos) return std::nullopt;
  at = line.find('\'', at + marker.size());
  if (at == std::string::npos) return std::nullopt;
  const std::size_t end = line.find('\'', at + 1);
  if (end == std::string::npos) return std::nullopt;
  return line.substr(at + 1, end - at - 1);
}

/// The whole number right before `unit`, as in "272 bytes stack frame"; 0 when there is none.
std::int64_t number_before(const std::string& line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string::npos) return 0;
  std::size_t end = at;
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return parse_integer(line.substr(begin, end - begin)).value_or(0);
}

void read_resources(const std::string& line, Resources& entry) {
  // Functions that the entry calls have lines of their own; what they spill is the entry's loss.
  entry.stack_bytes = std::max(entry.stack_bytes, number_before(line, "bytes stack frame"));
  entry.stack_bytes =
      std::max(entry.stack_bytes, number_before(line, "bytes cumulative stack size"));
  entry.spill_store_bytes += number_before(line, "bytes spill stores");
  entry.spill_load_bytes += number_before(line, "bytes spill loads");
  if (line.find(": Used ") == std::string::npos) return;
  entry.registers = static_cast<int>(number_before(line, "registers"));
  entry.static_shared_bytes = number_before(line, "bytes smem");
}

/// Spills, stack frames, and the notes C7500 to C7599 (wgmma made serial, setmaxnreg ignored, ...).
bool is_kept_warning(const std::string& line) {
  return line.starts_with("ptxas warning") || line.find("(C75") != std::string::npos;
}

std::string without_prefix(const std::string& line) {
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

}  // namespace

std::map<std::string, Resources> parse_compile_log(std::string_view log) {
  std::map<std::string, Resources> entries;
  std::vector<std::string> warnings;
  Resources* current = nullptr;
  for (const auto& line : split(log, '\n')) {
    if (is_kept_warning(line)) {
      warnings.push_back(line);
    } else if (const auto entry = quoted_after(line, "Compiling entry function")) {
      current = &entries[*entry];
    } else if (current != nullptr) {
      read_resources(line, *current);
    }
  }
  for (const auto& warning : warnings) {
    const auto function = quoted_after(warning, "function ");
    for (auto& [entry, resources] : entries) {
      const bool meant = !function || !entries.contains(*function) || *function == entry;
      if (meant) resources.warnings.push_back(without_prefix(warning));
    }
  }
  return entries;
}

void fields(Compiled& x, FieldList& f) {
  f("ok", x.ok).required();
  f("problem", x.problem).required();
  f("log", x.log).required();
  f("cubin_path", x.cubin_path).required();
  f("cubin_sha256", x.cubin_hash).required();
  f("entries", x.entries).required();
  f("seconds", x.seconds).required().finite();
  f("from_cache", x.from_cache);
}

}  // namespace fatune
