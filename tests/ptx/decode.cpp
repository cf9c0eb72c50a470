// decode.cpp: Resolves names to registers, immediates, special registers, variables and labels.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ptx/handlers.hpp"

namespace fatune::ptx {
namespace {

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

/// Where variables of one space lie.
struct Layout {
  std::map<std::string, std::uint64_t> offsets;
  std::size_t end = 0;

  void add(const Variable& variable) {
    end = round_up(end, variable.align);
    offsets[variable.name] = end;
    end += variable.bytes;
  }
};

constexpr std::string_view kClocks[] = {"%clock", "%clock64", "%globaltimer"};
bool is_clock(std::string_view name) { return std::ranges::count(kClocks, name) > 0; }

struct SpecialName {
  std::string_view name;
  Preset::Kind kind;
  int axis = 0;
};

std::optional<Preset> special(std::string_view name) {
  using Kind = Preset::Kind;
  static constexpr SpecialName kWithAxis[] = {
      {"%tid", Kind::kTid},
      {"%ntid", Kind::kNtid},
      {"%ctaid", Kind::kCtaid},
      {"%nctaid", Kind::kNctaid},
      {"%clusterid", Kind::kClusterId},
      {"%nclusterid", Kind::kClusterCount},
      {"%cluster_ctaid", Kind::kClusterCta},
      {"%cluster_nctaid", Kind::kClusterSize},
  };
  static constexpr SpecialName kPlain[] = {
      {"%laneid", Kind::kLane},
      {"%warpid", Kind::kWarp},
      {"%lanemask_eq", Kind::kLaneMask, 0},
      {"%lanemask_lt", Kind::kLaneMask, 1},
      {"%lanemask_le", Kind::kLaneMask, 2},
      {"%lanemask_gt", Kind::kLaneMask, 3},
      {"%lanemask_ge", Kind::kLaneMask, 4},
      {"%cluster_ctarank", Kind::kClusterRank},
      {"%cluster_nctarank", Kind::kClusterRanks},
      {"%smid", Kind::kZero},
  };
  for (const SpecialName& each : kPlain) {
    if (each.name == name) return Preset{each.kind, each.axis, 0, {}};
  }
  if (is_clock(name)) return Preset{Preset::Kind::kZero, 0, 0, {}};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot + 2 != name.size()) return std::nullopt;
  for (const SpecialName& each : kWithAxis) {
    if (each.name == name.substr(0, dot)) return Preset{each.kind, name[dot + 1] - 'x', 0, {}};
  }
  return std::nullopt;
}

/// Bits of an immediate by the opcode's last type, 32 or 64; narrower readers take the low ones.
std::uint8_t immediate_bits(const std::string& opcode) {
  const bool wide = opcode.ends_with("64") || opcode.find(".wide.") != std::string::npos;
  return wide ? 64 : 32;
}

/// A clock is no register that keeps its value: reading it is an instruction of its own.
std::string opcode_of(const Statement& statement) {
  const bool reads_clock = statement.opcode.starts_with("mov.") && statement.operands.size() == 2 &&
                           is_clock(statement.operands[1].name);
  return reads_clock ? "mov clock" : statement.opcode;
}

class Decoder {
 public:
  Decoder(const EntrySyntax& entry, const ModuleSyntax& module,
          const std::map<std::string, std::uint64_t>& globals)
      : entry_(entry), globals_(globals) {
    program_.name = entry.name;
    lay_out(module);
  }

  Result<Program> run() {
    program_.statements = entry_.statements;
    for (const Statement& statement : entry_.statements) {
      instruction(statement);
      if (!problem_.empty())
        return environment_error(fmt::format("PTX line {}: {}", statement.line, problem_));
    }
    return std::move(program_);
  }

 private:
  void lay_out(const ModuleSyntax& module) {
    for (const Variable& each : entry_.parameters) {
      parameters_.add(each);
      program_.parameters.push_back({parameters_.offsets[each.name], each.bytes});
    }
    program_.parameter_bytes = parameters_.end;
    for (const auto* list : {&module.variables, &entry_.variables}) {
      for (const Variable& each : *list) {
        if (each.space == Space::kShared && !each.external) shared_.add(each);
        if (each.space == Space::kLocal) local_.add(each);
      }
    }
    for (const Variable& each : module.variables) {
      if (each.external) shared_.add(each);  // several dynamic arrays are the same memory
    }
    program_.dynamic_shared = shared_.end;
    program_.local_bytes = local_.end;
  }

  void instruction(const Statement& statement) {
    const auto meaning = meaning_of(opcode_of(statement));
    if (!meaning) {
      problem_ = fmt::format("the interpreter does not know '{}'", statement.opcode);
      return;
    }
    Instruction made;
    made.handler = meaning->handler;
    made.collective = meaning->collective;
    made.detail = meaning->detail;
    if (!statement.guard.empty()) {
      made.guarded = true;
      made.guard = place(statement.guard);
      made.guard.negated = statement.guard_negated;
    }
    if (made.handler == nullptr) {
      made.target = label(statement.operands.at(0).name);
    } else {
      auto& refs = program_.refs.emplace_back();
      for (const Operand& operand : statement.operands)
        flatten(operand, immediate_bits(statement.opcode), refs);
      made.refs = refs.data();
      made.count = static_cast<std::uint16_t>(refs.size());
      made.members = static_cast<std::uint8_t>(made.count - meaning->members);
    }
    program_.instructions.push_back(made);
  }

  std::uint32_t label(const std::string& name) {
    const auto found = entry_.labels.find(name);
    if (found == entry_.labels.end()) {
      problem_ = fmt::format("no label '{}'", name);
      return 0;
    }
    return static_cast<std::uint32_t>(found->second);
  }

  void flatten(const Operand& operand, std::uint8_t bits, std::vector<Ref>& refs) {
    switch (operand.kind) {
      case Operand::Kind::kSink:
        refs.push_back({.sink = true});
        break;
      case Operand::Kind::kNumber:
        refs.push_back(constant(operand.number, bits));
        return;
      case Operand::Kind::kVector:
      case Operand::Kind::kAddress:
        for (const Operand& part : operand.parts) flatten(part, bits, refs);
        return;
      case Operand::Kind::kName:
        refs.push_back(place(operand.name));
        refs.back().negated = operand.negated;
        refs.back().offset = static_cast<std::int32_t>(operand.number);
    }
    if (operand.second == "_") {
      refs.push_back({.sink = true});
    } else if (!operand.second.empty()) {
      refs.push_back(place(operand.second));
    }
  }

  Ref constant(std::uint64_t value, std::uint8_t bits) {
    const auto [found, added] = constants_.try_emplace({value, bits}, program_.constants.size());
    if (added) {
      auto& row = program_.constants.emplace_back();
      if (bits == 64) {
        row.fill(value);
      } else {
        const std::uint64_t low = value & 0xffffffffU;
        row.fill(low << 32U | low);
      }
    }
    return {.slot = ~static_cast<std::int32_t>(found->second), .bits = bits};
  }

  Ref allocate(int bits) {
    const Ref ref{.slot = static_cast<std::int32_t>(program_.units),
                  .bits = static_cast<std::uint8_t>(bits)};
    program_.units += bits == 64 ? 2 : 1;
    return ref;
  }

  Ref place(const std::string& name) {
    if (const auto known = places_.find(name); known != places_.end()) return known->second;
    Ref ref;
    if (const auto declared = entry_.registers.find(name); declared != entry_.registers.end()) {
      ref = allocate(declared->second);
    } else if (auto preset = special(name)) {
      ref = preset->to = allocate(32);
      program_.presets.push_back(*preset);
    } else {
      ref = variable(name);
    }
    places_[name] = ref;
    return ref;
  }

  Ref variable(const std::string& name) {
    Preset preset;
    preset.to = allocate(64);
    if (const auto shared = shared_.offsets.find(name); shared != shared_.offsets.end()) {
      preset.kind = Preset::Kind::kShared;
      preset.address = kSharedStart + shared->second;
    } else if (const auto local = local_.offsets.find(name); local != local_.offsets.end()) {
      preset.address = local->second;
    } else if (const auto global = globals_.find(name); global != globals_.end()) {
      preset.address = global->second;
    } else if (const auto parameter = parameters_.offsets.find(name);
               parameter != parameters_.offsets.end()) {
      preset.address = parameter->second;
    } else {
      problem_ = fmt::format("'{}' is not declared", name);
    }
    program_.presets.push_back(preset);
    return preset.to;
  }

  const EntrySyntax& entry_;
  const std::map<std::string, std::uint64_t>& globals_;
  Program program_;
  Layout parameters_, shared_, local_;
  std::map<std::string, Ref> places_;
  std::map<std::pair<std::uint64_t, std::uint8_t>, std::size_t> constants_;
  std::string problem_;
};

}  // namespace

std::string Program::place(std::size_t instruction) const {
  if (instruction >= statements.size()) return name + " behind its end";
  const Statement& statement = statements[instruction];
  return fmt::format("{}, PTX line {}: {}", name, statement.line, statement.opcode);
}

Result<Program> decode(const EntrySyntax& entry, const ModuleSyntax& module,
                       const std::map<std::string, std::uint64_t>& globals) {
  return Decoder(entry, module, globals).run();
}

}  // namespace fatune::ptx
