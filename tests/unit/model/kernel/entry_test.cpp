// entry_test.cpp: Checks which symbol of machine code an entry's name stands for.
#include "model/kernel/entry.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace fatune {
namespace {

const std::vector<std::string> kSymbols = {"plain",
                                           "_Z4vaddPKfS0_Pf",
                                           "_ZN3ops6reduceILi128EfEEvPT0_i",
                                           "_ZN3ops12_GLOBAL__N_16hiddenEPf",
                                           "_Z5twiceILi1EEvPf",
                                           "_Z5twiceILi2EEvPf"};

std::string symbol(std::string_view entry) { return symbol_of(entry, kSymbols).value_or("none"); }

TEST_CASE("an entry's symbol is its name, or that of the only function of the name") {
  CHECK(symbol("plain") == "plain");
  CHECK(symbol("vadd") == "_Z4vaddPKfS0_Pf");
  CHECK(symbol("ops::reduce<BLOCK, float>") == "_ZN3ops6reduceILi128EfEEvPT0_i");
  CHECK(symbol("reduce<BLOCK, float>") == "_ZN3ops6reduceILi128EfEEvPT0_i");
  CHECK(symbol("ops::hidden") == "_ZN3ops12_GLOBAL__N_16hiddenEPf");
}

TEST_CASE("an entry without a symbol, or with several, has none") {
  CHECK(symbol("add") == "none");
  CHECK(symbol("educe<1>") == "none");
  CHECK(symbol("other::reduce<1>") == "none");
  CHECK(symbol("twice<1>") == "none");
  CHECK_FALSE(symbol_of("plain", {}));
}

TEST_CASE("only an entry with arguments is instantiated") {
  CHECK(is_instance("reduce<128, float>"));
  CHECK_FALSE(is_instance("ops::vadd"));
  CHECK(function_of("ops::reduce <128>") == "ops::reduce");
}

}  // namespace
}  // namespace fatune
