// handlers.hpp: Maps opcodes to their handlers; each instruction family has one source file.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/machine.hpp"

namespace fatune::ptx {

struct Meaning {
  Handler handler = nullptr;
  Collective collective = Collective::kNone;
  int members = 0;  ///< which operand, counted from the end, is the member mask
  std::uint64_t detail = 0;
};
/// A small structure as Instruction::detail keeps it.
template <typename T>
std::uint64_t detail(const T& value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
using Table = std::map<std::string, Meaning, std::less<>>;
using Parts = std::vector<std::string>;  ///< of an opcode: "ld", "global", "v4", "f32"

/// Nothing where the opcode is not known.
std::optional<Meaning> meaning_of(const std::string& opcode);

// Opcodes word for word.
void add_integer(Table& table);
void add_float(Table& table);
void add_half(Table& table);
void add_compare(Table& table);
void add_move(Table& table);
void add_warp(Table& table);
void add_barrier(Table& table);
void add_copy(Table& table);

// Families whose opcodes have too many forms for a table.
std::optional<Meaning> load_meaning(const Parts& parts);
std::optional<Meaning> convert_meaning(const Parts& parts);
std::optional<Meaning> mma_meaning(const Parts& parts);
std::optional<Meaning> wgmma_meaning(const Parts& parts);
std::optional<Meaning> mbarrier_meaning(const Parts& parts);
std::optional<Meaning> bulk_meaning(const Parts& parts);

inline bool has(const Parts& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}
/// Whether every part is one of the list.
bool only(std::span<const std::string> parts, std::initializer_list<std::string_view> known);

}  // namespace fatune::ptx
