// entry.cpp: Compares demangled symbols with the name of an entry.
#include "model/kernel/entry.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>

#include "core/text.hpp"

namespace fatune {
namespace {

/// "void ops::reduce<128, float>(float const*)" has the function "ops::reduce".
std::string function_in(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> told(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || told == nullptr) return symbol;
  std::string name(told.get());
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at = 0; (at = name.find(kUnnamed)) != std::string::npos;)
    name.erase(at, kUnnamed.size());
  name.resize(std::min(name.find_first_of("<("), name.size()));
  return name.substr(name.rfind(' ') + 1);
}

}  // namespace

bool is_instance(std::string_view entry) { return entry.find('<') != std::string_view::npos; }

std::string_view function_of(std::string_view entry) {
  return trim(entry.substr(0, entry.find('<')));
}

std::vector<std::string> symbols_of(std::string_view entry, std::span<const std::string> symbols) {
  if (std::ranges::count(symbols, entry) > 0) return {std::string(entry)};
  const std::string wanted(function_of(entry));
  std::vector<std::string> found;
  for (const std::string& symbol : symbols) {
    const std::string name = function_in(symbol);
    if (name == wanted || name.ends_with("::" + wanted)) found.push_back(symbol);
  }
  return found;
}

std::optional<std::string> symbol_of(std::string_view entry, std::span<const std::string> symbols) {
  std::vector<std::string> found = symbols_of(entry, symbols);
  if (found.size() != 1) return std::nullopt;
  return std::move(found.front());
}

}  // namespace fatune
