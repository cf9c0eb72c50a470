// table.cpp: Looks up the table's symbols and describes return codes.
#include "gpu/driver/table.hpp"

#include <fmt/format.h>

namespace fatune::gpu {

std::string fill(Driver& driver, const SymbolSource& symbols, NeededBy user) {
  std::string missing;
  const auto load = [&](auto& function, const char* symbol, NeededBy needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbols(symbol));
    if (function != nullptr || (needed != NeededBy::kBoth && needed != user)) return;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", symbol);
  };
#define FATUNE_LOAD(member, api, symbol, needed) load(driver.member, symbol, NeededBy::needed);
  FATUNE_DRIVER_FUNCTIONS(FATUNE_LOAD)
#undef FATUNE_LOAD
  return missing;
}

std::string describe(const Driver& driver, CUresult code) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver.error_name(code, &name);
  driver.error_string(code, &text);
  return fmt::format("{} ({}){}{}", name == nullptr ? "CUDA error" : name, static_cast<int>(code),
                     text == nullptr ? "" : ": ", text == nullptr ? "" : text);
}

}  // namespace fatune::gpu
