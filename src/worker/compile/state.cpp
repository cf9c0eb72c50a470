// state.cpp - reads the sections and symbols of machine code, and the words of its PTX.
#include "worker/compile/state.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include <elf.h>
#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

// ---- Machine code: an ELF file -------------------------------------------------------------------

template <typename T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Up to its zero byte; empty outside of the file.
std::string text_at(std::string_view bytes, std::uint64_t at) {
  if (at >= bytes.size()) return "";
  return std::string(bytes.substr(at, bytes.find('\0', at) - at));
}

struct Section : Elf64_Shdr {
  std::string name;
};

/// Empty where the file is none, or says that its sections lie elsewhere.
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

struct Symbol {
  std::string name;
  std::string section;  ///< empty: defined elsewhere
  std::uint64_t bytes = 0;
  bool function = false;
};

std::vector<Symbol> symbols_of(std::string_view elf, const std::vector<Section>& sections) {
  std::vector<Symbol> symbols;
  for (const Section& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    const std::uint64_t names = sections[table.sh_link].sh_offset;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      const auto found = read_at<Elf64_Sym>(elf, table.sh_offset + at);
      if (!found) break;
      const bool here = found->st_shndx != SHN_UNDEF && found->st_shndx < sections.size();
      symbols.push_back({text_at(elf, names + found->st_name),
                         here ? sections[found->st_shndx].name : "", found->st_size,
                         ELF64_ST_TYPE(found->st_info) == STT_FUNC});
    }
  }
  return symbols;
}

bool is_global_memory(std::string_view section) { return section.starts_with(".nv.global"); }

std::string variable_finding(const std::vector<Section>& sections,
                             const std::vector<Symbol>& symbols) {
  std::uint64_t bytes = 0;
  for (const Section& section : sections) {
    if (is_global_memory(section.name)) bytes += section.sh_size;
  }
  if (bytes == 0) return "";
  const auto named = std::ranges::find_if(symbols, [](const Symbol& symbol) {
    return is_global_memory(symbol.section) && symbol.bytes > 0;
  });
  return fmt::format(
      "{} of global memory are its own{}, and could be kept from one launch to the next; constants "
      "belong into __constant__ or constexpr, what a launch needs for a while into scratch memory "
      "that the manifest declares",
      describe(Bytes(bytes)), named == symbols.end() ? "" : ", of them '" + named->name + "'");
}

std::string call_finding(const std::vector<Symbol>& symbols) {
  const auto called = std::ranges::find_if(symbols, [](const Symbol& symbol) {
    return symbol.function && symbol.section.empty() && !symbol.name.empty();
  });
  if (called == symbols.end()) return "";
  return fmt::format("it calls '{}' of the driver: no heap, printf, assert or launch is here",
                     called->name);
}

// ---- PTX: words ----------------------------------------------------------------------------------

/// A word that begins so, and what it would be good for.
struct Forbidden {
  const char* begin;
  const char* why;
};
/// %clock, of 32 bits, is not among them: warpgroups begin a little after one another by it.
constexpr std::array kForbidden = {
    Forbidden{"%clock64", "reads the time"},
    Forbidden{"%clock_hi", "reads the time"},
    Forbidden{"%globaltimer", "reads the time"},
    Forbidden{"%smid", "asks where it runs"},
    Forbidden{"%nsmid", "asks where it runs"},
    Forbidden{"%gridid", "asks which launch it is"},
    Forbidden{"%envreg", "asks the driver"},
    Forbidden{"%pm", "reads performance counters"},
    Forbidden{"pmevent", "triggers performance counters"},
    Forbidden{"cvta.const", "takes the address of constant memory, by which it could be written"},
    Forbidden{".callprototype", "calls through a pointer"},
    Forbidden{".texref", "has a texture of its own"},
    Forbidden{".surfref", "has a surface of its own"},
};

/// Those of PTX, comments and literals left out.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::optional<std::string_view> next() {
    while (at_ < text_.size()) {
      if (skip("//", "\n") || skip("/*", "*/") || skip("\"", "\"")) continue;
      const std::size_t begin = at_;
      while (at_ < text_.size() && in_class(text_[at_], "A-Za-z0-9_$%.")) ++at_;
      if (at_ > begin) return text_.substr(begin, at_ - begin);
      ++at_;
    }
    return std::nullopt;
  }

 private:
  bool skip(std::string_view open, std::string_view close) {
    if (!text_.substr(at_).starts_with(open)) return false;
    const std::size_t end = text_.find(close, at_ + open.size());
    at_ = end == std::string_view::npos ? text_.size() : end + close.size();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string word_finding(std::string_view ptx) {
  Words words(ptx);
  while (const auto word = words.next()) {
    for (const Forbidden& each : kForbidden) {
      if (word->starts_with(each.begin)) return fmt::format("'{}' {}", *word, each.why);
    }
  }
  return "";
}

std::string finding_in(std::string_view ptx, std::string_view cubin) {
  const std::vector<Section> sections = sections_of(cubin);
  if (sections.empty()) return "its machine code is no file that can be looked into";
  const std::vector<Symbol> symbols = symbols_of(cubin, sections);
  if (std::string found = call_finding(symbols); !found.empty()) return found;
  if (std::string found = variable_finding(sections, symbols); !found.empty()) return found;
  return word_finding(ptx);
}

}  // namespace

std::string state_finding(std::string_view ptx, std::string_view cubin) {
  const std::string found = finding_in(ptx, cubin);
  return found.empty() ? "" : "state: " + found;
}

}  // namespace fatune
