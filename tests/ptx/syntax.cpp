// syntax.cpp: Parses tokens by recursive descent and stops at the first error.
#include "ptx/syntax.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ptx/tokens.hpp"

namespace fatune::ptx {
namespace {

/// Bits of a type; 1 of a predicate, 0 of what is none.
int bits_of_type(std::string_view type) {
  if (type == ".pred") return 1;
  for (const int bits : {8, 16, 32, 64, 128}) {
    const std::string digits = std::to_string(bits);
    if (type.size() == 2 + digits.size() && type.ends_with(digits) &&
        std::string_view("busf").find(type[1]) != std::string_view::npos)
      return bits;
  }
  return 0;
}

bool is_number(const std::string& word) { return word[0] >= '0' && word[0] <= '9'; }

std::uint64_t number_of(const std::string& word) {
  const bool bits = word.size() > 2 && word[0] == '0' && std::strchr("fFdD", word[1]) != nullptr;
  if (bits) return std::strtoull(word.c_str() + 2, nullptr, 16);
  return std::strtoull(word.c_str(), nullptr, 0);
}

/// Names that a pair of braces declares.
struct Scope {
  std::size_t first_statement = 0;
  std::set<std::string> names;
};

void rename(Operand& operand, const Scope& scope, const std::string& suffix) {
  if (scope.names.contains(operand.name)) operand.name += suffix;
  if (scope.names.contains(operand.second)) operand.second += suffix;
  for (Operand& part : operand.parts) rename(part, scope, suffix);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)) {
    tokens_.push_back({"", tokens_.empty() ? 1 : tokens_.back().line});
  }

  Result<ModuleSyntax> parse() {
    while (problem_.empty() && !peek().empty()) top_level();
    if (!problem_.empty()) return environment_error("PTX " + problem_);
    return std::move(module_);
  }

 private:
  const std::string& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].text;
  }
  std::string take() {
    std::string text = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return text;
  }
  bool skip(std::string_view text) {
    if (peek() != text) return false;
    take();
    return true;
  }
  void expect(std::string_view text) {
    if (!skip(text)) fail(fmt::format("'{}' where '{}' is expected", peek(), text));
  }
  void fail(const std::string& problem) {
    if (problem_.empty()) problem_ = fmt::format("line {}: {}", tokens_[at_].line, problem);
    at_ = tokens_.size() - 1;
  }

  void top_level() {
    const std::string word = take();
    if (word == ".version" || word == ".address_size") {
      take();
    } else if (word == ".target") {
      do take();
      while (skip(","));
    } else if (word == ".entry") {
      entry();
    } else if (word == ".global" || word == ".const" || word == ".shared") {
      variable(word == ".shared" ? Space::kShared : Space::kGlobal, module_.variables);
    } else if (word != ".visible" && word != ".extern" && word != ".weak") {
      fail(fmt::format("'{}' is not known", word));
    }
  }

  /// Behind its space: ".align 4 .b8 name[16] = {1, 2};"
  void variable(Space space, std::vector<Variable>& list) {
    Variable made = declared(space);
    if (skip("=")) initialise(made);
    expect(";");
    list.push_back(std::move(made));
  }

  Variable declared(Space space) {
    Variable made;
    made.space = space;
    std::size_t element = 0;
    while (peek().starts_with(".")) {
      const std::string word = take();
      if (word == ".align") {
        made.align = number_of(take());
      } else if (const int bits = bits_of_type(word); bits >= 8) {
        element = static_cast<std::size_t>(bits) / 8;
      } else if (word != ".ptr" && word != ".global") {
        fail(fmt::format("'{}' in a declaration is not known", word));
      }
    }
    made.name = take();
    made.align = std::max(made.align, element);
    made.bytes = element;
    element_ = element;
    while (skip("[")) {
      if (peek() == "]") {
        made.external = true;
        made.bytes = 0;  // the launch says how many
      } else {
        made.bytes *= number_of(take());
      }
      expect("]");
    }
    return made;
  }

  void initialise(Variable& variable) {
    const bool list = skip("{");
    do {
      const bool negative = skip("-");
      if (!is_number(peek())) return fail("an initial value that is no number");
      std::uint64_t value = number_of(take());
      if (negative) value = -value;
      const auto* bytes = reinterpret_cast<const std::byte*>(&value);
      variable.initial.insert(variable.initial.end(), bytes, bytes + element_);
    } while (list && skip(","));
    if (list) expect("}");
  }

  void entry() {
    EntrySyntax& made = module_.entries.emplace_back();
    made.name = take();
    expect("(");
    while (skip(".param")) {
      made.parameters.push_back(declared(Space::kParam));
      skip(",");
    }
    expect(")");
    while (peek() != "{" && !peek().empty()) take();  // .maxntid and the like
    scope(made);
  }

  void scope(EntrySyntax& entry) {
    expect("{");
    scopes_.push_back({entry.statements.size(), {}});
    while (problem_.empty() && peek() != "}") statement(entry);
    expect("}");
    const Scope ended = std::move(scopes_.back());
    scopes_.pop_back();
    if (scopes_.empty()) return;
    const std::string suffix = scope_suffix();
    for (std::size_t i = ended.first_statement; i < entry.statements.size(); ++i) {
      Statement& statement = entry.statements[i];
      if (ended.names.contains(statement.guard)) statement.guard += suffix;
      for (Operand& operand : statement.operands) rename(operand, ended, suffix);
    }
    for (const std::string& name : ended.names) {
      if (auto node = entry.registers.extract(name)) {
        node.key() += suffix;
        entry.registers.insert(std::move(node));
      }
      if (auto node = entry.labels.extract(name)) {
        node.key() += suffix;
        entry.labels.insert(std::move(node));
      }
    }
    ++scope_count_;
  }
  std::string scope_suffix() const { return fmt::format("@{}", scope_count_); }

  void statement(EntrySyntax& entry) {
    if (peek() == "{") return scope(entry);
    if (skip(".reg")) return registers(entry);
    if (skip(".shared")) return variable(Space::kShared, entry.variables);
    if (skip(".local")) return variable(Space::kLocal, entry.variables);
    if (skip(".pragma")) {
      take();
      return expect(";");
    }
    if (peek(1) == ":") {
      scopes_.back().names.insert(peek());
      entry.labels[take()] = entry.statements.size();
      return expect(":");
    }
    instruction(entry);
  }

  /// ".pred %p<13>;" or ".pred p, q;"
  void registers(EntrySyntax& entry) {
    const int bits = bits_of_type(peek());
    if (bits == 0) return fail(fmt::format("registers of type '{}'", peek()));
    take();
    do {
      const std::string name = take();
      if (!skip("<")) {
        scopes_.back().names.insert(name);
        entry.registers[name] = bits;
        continue;
      }
      const std::uint64_t count = number_of(take());
      for (std::uint64_t i = 0; i < count; ++i) entry.registers[name + std::to_string(i)] = bits;
      expect(">");
    } while (skip(","));
    expect(";");
  }

  void instruction(EntrySyntax& entry) {
    Statement made;
    made.line = tokens_[at_].line;
    if (skip("@")) {
      made.guard_negated = skip("!");
      made.guard = take();
    }
    made.opcode = take();
    while (problem_.empty() && peek() != ";") {
      made.operands.push_back(operand());
      if (!skip(",") && peek() != ";") fail(fmt::format("'{}' behind an operand", peek()));
    }
    expect(";");
    entry.statements.push_back(std::move(made));
  }

  std::vector<Operand> operands(std::string_view end) {
    std::vector<Operand> list;
    do list.push_back(operand());
    while (problem_.empty() && skip(","));
    expect(end);
    return list;
  }

  Operand operand() {
    Operand made;
    if (skip("{")) {
      made.kind = Operand::Kind::kVector;
      made.parts = operands("}");
      return made;
    }
    if (skip("[")) {
      made.kind = Operand::Kind::kAddress;
      made.parts = operands("]");
      return made;
    }
    made.negated = skip("!");
    const bool negative = skip("-");
    const std::string word = take();
    if (word == "_") {
      made.kind = Operand::Kind::kSink;
      if (skip("|")) made.second = take();
    } else if (is_number(word)) {
      made.kind = Operand::Kind::kNumber;
      made.number = negative ? -number_of(word) : number_of(word);
    } else {
      made.name = word;
      if (skip("|")) made.second = take();
      if (skip("+")) {
        const bool back = skip("-");
        const std::uint64_t offset = number_of(take());
        made.number = back ? -offset : offset;
      }
    }
    return made;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::string problem_;
  ModuleSyntax module_;
  std::vector<Scope> scopes_;
  std::size_t element_ = 0;  ///< bytes of the variable declared last
  int scope_count_ = 0;
};

}  // namespace

Result<ModuleSyntax> parse_module(std::string_view text) { return Parser(text).parse(); }

}  // namespace fatune::ptx
