// syntax.hpp: Parses PTX text to variables, entries and statements with unresolved names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace fatune::ptx {

struct Operand {
  /// kSink is `_`. An address is its base, then the coordinates of a tensor copy, if any.
  enum class Kind { kName, kNumber, kVector, kAddress, kSink };
  Kind kind = Kind::kName;
  std::string name;          ///< of a register, symbol or label
  std::string second;        ///< behind '|': another destination
  bool negated = false;      ///< "!%p1"
  std::uint64_t number = 0;  ///< sign-extended; the bits of 0f3F800000; what is added to a base
  std::vector<Operand> parts;
};

struct Statement {
  std::uint32_t line = 0;
  std::string guard;  ///< a predicate's name; empty: always
  bool guard_negated = false;
  std::string opcode;  ///< "add.s32"
  std::vector<Operand> operands;
};

enum class Space : std::uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam };

struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  std::size_t align = 1, bytes = 0;
  bool external = false;  ///< dynamic shared memory
  std::vector<std::byte> initial;
};

struct EntrySyntax {
  std::string name;
  std::vector<Variable> parameters;
  std::map<std::string, int> registers;  ///< bits; a predicate has 1
  std::map<std::string, std::size_t> labels;
  std::vector<Variable> variables;  ///< in shared or local memory
  std::vector<Statement> statements;
};

struct ModuleSyntax {
  std::vector<Variable> variables;
  std::vector<EntrySyntax> entries;
};

/// Names declared within { } are unique afterwards. An error names the line.
Result<ModuleSyntax> parse_module(std::string_view text);

}  // namespace fatune::ptx
