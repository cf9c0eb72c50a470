// kernels.cpp: Fuzzes manifests, and expressions in both syntaxes.
#include "fuzz.hpp"
#include "model/kernel/expression.hpp"
#include "model/kernel/kernel.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune::fuzz {
namespace {

void evaluate(std::string_view text, Syntax syntax) {
  static_cast<void>(tokens_of(text, syntax));
  const auto parsed = Expression::parse(text, "x", syntax);
  if (!parsed) return;
  Scope scope;
  double value = 0;
  for (const std::string& variable : parsed->variables()) scope.set(variable, value++);
  static_cast<void>(parsed->evaluate(scope));
  static_cast<void>(parsed->test(scope));
  static_cast<void>(parsed->count(scope));
}

}  // namespace

void manifest(std::string_view text) {
  const SourceTree tree = {{"x.cu", "__global__ void f() {}"}, {"x.json", std::string(text)}};
  static_cast<void>(load_kernels(tree));
  static_cast<void>(parse_manifest(text, "x.json"));
}

void expression(std::string_view text) { evaluate(text, Syntax::kManifest); }
void python(std::string_view text) { evaluate(text, Syntax::kPython); }

}  // namespace fatune::fuzz
