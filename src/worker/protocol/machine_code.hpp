// machine_code.hpp: Reads the ELF file of machine code, and compares its entries with a launch
// plan.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>

#include "model/kernel/candidate.hpp"
#include "worker/protocol/compilation.hpp"

namespace fatune {

template <typename T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The text up to its zero byte; empty outside of the file.
std::string text_at(std::string_view bytes, std::uint64_t at);

struct Section : Elf64_Shdr {
  std::string name;
};

struct Symbol : Elf64_Sym {
  std::string name;
};

/// Empty if this is no ELF file, or if its sections lie outside of it.
std::vector<Section> sections_of(std::string_view elf);

std::vector<Symbol> symbols_in(std::string_view elf, const std::vector<Section>& sections);

/// Returns the symbols of __constant__ variables with their sizes in bytes.
std::map<std::string, std::uint64_t> constant_symbols(std::string_view cubin);
/// The symbols of the machine code's entries; none if it is no ELF file.
std::vector<std::string> entry_symbols(std::string_view cubin);

/// Fails a compilation whose machine code lacks an entry of the plan, or has one with other
/// parameters or static shared memory, or a constant that is missing or too small. Machine
/// code that is no ELF file passes.
Compiled checked(Compiled compiled, const LaunchPlan& plan);

}  // namespace fatune
