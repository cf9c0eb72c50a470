// machine_code.cpp: Finds entries, parameters and shared memory in machine code, an ELF file.
#include "worker/protocol/machine_code.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/kernel/entry.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

constexpr std::string_view kOfEntry = ".nv.constant0.";  // only an entry has this section
constexpr std::string_view kConstants = ".nv.constant";
constexpr std::string_view kFacts = ".nv.info.";

// As nvdisasm prints .nv.info: two bytes of kind, two of size or value, then the value.
constexpr std::uint16_t kParameter = 0x1704;  // EIATTR_KPARAM_INFO with a value of 12 bytes
constexpr std::uint8_t kSized = 4;            // the low byte of a kind whose value follows
constexpr int kParameterSizeShift = 18;       // in the last word of the value

constexpr std::uint32_t kPointerBytes = 8, kTensorMapBytes = 128;

/// Returns the bytes of each parameter, in order.
std::vector<std::uint32_t> parameters_in(std::string_view facts) {
  std::map<std::uint16_t, std::uint32_t> by_number;
  for (std::uint64_t at = 0; at + 4 <= facts.size();) {
    const auto kind = *read_at<std::uint16_t>(facts, at);
    const auto size = *read_at<std::uint16_t>(facts, at + 2);
    const auto number = read_at<std::uint16_t>(facts, at + 8);
    const auto word = read_at<std::uint32_t>(facts, at + 12);
    if (kind == kParameter && number && word) by_number[*number] = *word >> kParameterSizeShift;
    at += 4 + ((kind & 0xff) == kSized ? size : 0);
  }
  std::vector<std::uint32_t> sizes;
  for (const auto& [number, bytes] : by_number) sizes.push_back(bytes);
  return sizes;
}

/// Parameters of each entry; empty without entries.
std::map<std::string, std::vector<std::uint32_t>> entries_in(std::string_view cubin,
                                                             const std::vector<Section>& sections) {
  std::map<std::string, std::vector<std::uint32_t>> entries;
  for (const Section& each : sections) {
    if (each.name.starts_with(kOfEntry)) entries[each.name.substr(kOfEntry.size())];
  }
  for (const Section& each : sections) {
    if (!each.name.starts_with(kFacts) || each.sh_offset > cubin.size()) continue;
    const auto entry = entries.find(each.name.substr(kFacts.size()));
    if (entry != entries.end())
      entry->second = parameters_in(cubin.substr(each.sh_offset, each.sh_size));
  }
  return entries;
}

std::vector<std::uint32_t> arguments_of(const StagePlan& stage, const LaunchPlan& plan) {
  std::vector<std::uint32_t> sizes;
  for (const std::string& argument : stage.arguments) {
    const bool map = std::ranges::count(plan.tensor_maps, argument, &TensorMapPlan::name) > 0;
    const auto scalar = read_scalar(argument);
    sizes.push_back(map      ? kTensorMapBytes
                    : scalar ? static_cast<std::uint32_t>(scalar->type->bytes)
                             : kPointerBytes);
  }
  return sizes;
}

template <typename Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& symbols) {
  std::vector<std::string> names;
  for (const auto& [name, value] : symbols) names.push_back(name);
  return names;
}

std::string constant_fault(std::string_view cubin, const LaunchPlan& plan) {
  if (plan.constants.empty()) return {};
  const auto constants = constant_symbols(cubin);
  const std::vector<std::string> symbols = names_of(constants);
  for (const ConstantFacts& each : plan.constants) {
    const auto symbol = symbol_of(each.symbol, symbols);
    if (!symbol)
      return fmt::format("the machine code has no __constant__ {}{}", each.symbol,
                         symbols.empty() ? "" : ", only " + join(symbols, ", "));
    const auto bytes = static_cast<std::int64_t>(constants.at(*symbol));
    if (bytes < each.bytes)
      return fmt::format("the __constant__ {} has {} bytes, but {}, which fills it, has {}",
                         each.symbol, bytes, each.tensor, each.bytes);
  }
  return {};
}

/// "has no entry vad, only vadd"
std::string absence(const std::string& entry, const std::vector<std::string>& symbols) {
  const std::vector<std::string> several = symbols_of(entry, symbols);
  if (!several.empty())
    return fmt::format("the machine code has {} entries {}: {}", several.size(), entry,
                       join(several, ", "));
  return fmt::format("the machine code has no entry {}{}", entry,
                     symbols.empty()
                         ? "; a template is named with its arguments, as reduce<128, float>"
                         : ", only " + join(symbols, ", "));
}

std::string launch_fault(const Compiled& compiled, std::string_view cubin, const LaunchPlan& plan) {
  const std::vector<Section> sections = sections_of(cubin);
  if (sections.empty()) return {};
  const auto entries = entries_in(cubin, sections);
  const std::vector<std::string> symbols = names_of(entries);
  for (const StagePlan& stage : plan.stages) {
    if (stage.gemm) continue;
    const std::optional<std::string> symbol = symbol_of(stage.entry, symbols);
    if (!symbol) return absence(stage.entry, symbols);
    const auto entry = entries.find(*symbol);
    if (const auto passed = arguments_of(stage, plan); entry->second != passed) {
      return fmt::format(
          "{} has {} of bytes [{}], but the manifest passes {} of [{}]: pointers of 8, tensor maps "
          "of 128, i32 values of 4",
          stage.entry, counted(entry->second.size(), "parameter"), fmt::join(entry->second, ", "),
          counted(passed.size(), "argument"), fmt::join(passed, ", "));
    }
    const Resources* const logged = compiled.resources_of(stage.entry);
    if (logged == nullptr) continue;
    const std::int64_t bytes = logged->static_shared_bytes;
    if (stage.counts_static && bytes != stage.static_shared_bytes) {
      return fmt::format(
          "{} has {} bytes of static shared memory, but its static_shared_bytes is {}", stage.entry,
          bytes, stage.static_shared_bytes);
    }
  }
  return constant_fault(cubin, plan);
}

}  // namespace

std::string text_at(std::string_view bytes, std::uint64_t at) {
  if (at >= bytes.size()) return "";
  return std::string(bytes.substr(at, bytes.find('\0', at) - at));
}

std::vector<Section> sections_of(std::string_view elf) {
  const auto header = read_at<Elf64_Ehdr>(elf, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
    return {};
  std::vector<Section> sections;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto found = read_at<Elf64_Shdr>(elf, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!found) return {};
    sections.push_back({*found, ""});
  }
  if (header->e_shstrndx >= sections.size()) return {};
  const std::uint64_t names = sections[header->e_shstrndx].sh_offset;
  for (Section& section : sections) section.name = text_at(elf, names + section.sh_name);
  return sections;
}

std::vector<Symbol> symbols_in(std::string_view elf, const std::vector<Section>& sections) {
  std::vector<Symbol> symbols;
  for (const Section& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    const std::uint64_t names = sections[table.sh_link].sh_offset;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      const auto found = read_at<Elf64_Sym>(elf, table.sh_offset + at);
      if (!found) break;
      symbols.push_back({*found, text_at(elf, names + found->st_name)});
    }
  }
  return symbols;
}

std::map<std::string, std::uint64_t> constant_symbols(std::string_view cubin) {
  const std::vector<Section> sections = sections_of(cubin);
  std::map<std::string, std::uint64_t> constants;
  for (const Symbol& symbol : symbols_in(cubin, sections)) {
    if (symbol.st_shndx >= sections.size() || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    if (sections[symbol.st_shndx].name.starts_with(kConstants))
      constants[symbol.name] = symbol.st_size;
  }
  return constants;
}

std::vector<std::string> entry_symbols(std::string_view cubin) {
  return names_of(entries_in(cubin, sections_of(cubin)));
}

Compiled checked(Compiled compiled, const LaunchPlan& plan) {
  if (!compiled.ok) return compiled;
  const auto cubin = read_file(compiled.cubin_path);
  if (cubin) compiled.problem = launch_fault(compiled, *cubin, plan);
  compiled.ok = compiled.problem.empty();
  return compiled;
}

}  // namespace fatune
