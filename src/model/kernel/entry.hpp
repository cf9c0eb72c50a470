// entry.hpp: Finds a kernel by its C++ name among the symbols of machine code.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fatune {

/// An entry as manifests name it: "vadd", "ops::vadd", "reduce<BLOCK, float>". Only the last is
/// instantiated on request.
bool is_instance(std::string_view entry);
/// Returns the name without template arguments: "reduce".
std::string_view function_of(std::string_view entry);

/// Returns the symbols of functions of this name; of extern "C" the name alone.
std::vector<std::string> symbols_of(std::string_view entry, std::span<const std::string> symbols);
/// Returns the only one of symbols_of(); empty if there is none, or if there are several.
std::optional<std::string> symbol_of(std::string_view entry, std::span<const std::string> symbols);

}  // namespace fatune
