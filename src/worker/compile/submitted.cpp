// submitted.cpp: Finds state in machine code, and limits a submission's compiler and log.
#include "worker/compile/submitted.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/kernel/gate_table.hpp"
#include "worker/protocol/machine_code.hpp"

namespace fatune {
namespace {

/// Empty if the machine code may run.
std::string refusal(std::string_view ptx, std::string_view cubin) {
  if (cubin.size() > kMostMachineCode) {
    return fmt::format("the compiler gave {} of machine code, more than {}",
                       describe(Bytes(cubin.size())), describe(Bytes(kMostMachineCode)));
  }
  return state_finding(ptx, cubin);
}

/// The name of a function that is called and not in the file; empty if there is none.
std::string foreign_function(std::string_view elf, const std::vector<Section>& sections) {
  for (const Symbol& symbol : symbols_in(elf, sections)) {
    if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
      return symbol.name;
  }
  return "";
}

constexpr std::string_view kWord = "A-Za-z0-9_$%.";

/// The beginning of a word that is not allowed, and the use of such a word.
struct Forbidden {
  const char* begin;
  const char* why;
};
/// %clock with its 32 bits is allowed: kernels delay warpgroups by it.
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

/// The words of PTX and its marks ; { } : without comments and literals.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  const auto end_of = [&](std::string_view close, std::size_t from) {
    const std::size_t end = text.find(close, from);
    return end == std::string_view::npos ? text.size() : end + close.size();
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) {
      at = end_of("\n", at);
    } else if (rest.starts_with("/*")) {
      at = end_of("*/", at + 2);
    } else if (rest.starts_with('"')) {
      at = end_of("\"", at + 1);
    } else {
      const std::size_t begin = at++;
      if (in_class(text[begin], ";{}:")) {
        words.push_back(text.substr(begin, 1));
      } else if (in_class(text[begin], kWord)) {
        while (at < text.size() && in_class(text[at], kWord)) ++at;
        words.push_back(text.substr(begin, at - begin));
      }
    }
  }
  return words;
}

std::string forbidden_word(const std::vector<std::string_view>& words) {
  std::string before;
  for (const std::string_view part : words) {
    // The parts of an instruction may stand apart.
    const std::string word = (part.starts_with('.') ? before : "") + std::string(part);
    for (const Forbidden& each : kForbidden) {
      if (word.starts_with(each.begin) || part.starts_with(each.begin))
        return fmt::format("'{}' {}", word, each.why);
    }
    before = word;
  }
  return "";
}

/// The name of a global variable that an instruction uses; empty if there is none. Compilers also
/// declare constants that no instruction names.
std::string used_variable(const std::vector<std::string_view>& words) {
  std::set<std::string_view> declared, used;
  bool declares = false;
  std::string_view before = ";";
  for (const std::string_view word : words) {
    // A number ends the lines above the first declaration.
    const bool begins =
        in_class(before.front(), ";{}:0-9") || before == ".visible" || before == ".weak";
    if (word == ";") declares = false;
    if (word == ".global" && !begins) return ".global";  // of an instruction in parts
    if (word == ".global") declares = true;
    if (in_class(word.front(), "A-Za-z_$%")) (declares ? declared : used).insert(word);
    before = word;
  }
  for (const std::string_view name : declared) {
    if (used.contains(name)) return std::string(name);
  }
  return "";
}

std::string finding_in(std::string_view ptx, std::string_view cubin) {
  const std::vector<Section> sections = sections_of(cubin);
  if (sections.empty()) return "its machine code is no file that can be looked into";
  if (const std::string called = foreign_function(cubin, sections); !called.empty()) {
    return fmt::format("it calls '{}' of the driver: no heap, printf, assert or launch is here",
                       called);
  }
  const std::vector<std::string_view> words = words_of(ptx);
  if (const std::string variable = used_variable(words); !variable.empty()) {
    return fmt::format(
        "'{}' is a variable of its own in global memory, and could be kept from one launch to the "
        "next; constants belong into __constant__ or registers, what a launch needs for a while "
        "into scratch memory that the manifest declares",
        variable);
  }
  return forbidden_word(words);
}

}  // namespace

std::string state_finding(std::string_view ptx, std::string_view cubin) {
  const std::string found = finding_in(ptx, cubin);
  return found.empty() ? "" : fmt::format("{}: {}", name(GateId::kState), found);
}

CompilerMemoryLimit::CompilerMemoryLimit() {
  ::getrlimit(RLIMIT_AS, &before_);
#ifndef __SANITIZE_ADDRESS__
  rlimit limited = before_;
  limited.rlim_cur = std::min<rlim_t>(before_.rlim_cur, kMostCompilerMemory);
  ::setrlimit(RLIMIT_AS, &limited);
#endif
}

CompilerMemoryLimit::~CompilerMemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }

std::string as_ascii(std::string_view text, std::size_t longest) {
  std::string ascii;
  for (const char c : text.substr(0, longest)) {
    const bool plain = (c >= ' ' && c <= '~') || c == '\n';
    ascii += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  if (text.size() > longest) ascii += fmt::format(" ... and {} bytes", text.size() - longest);
  return ascii;
}

void settle_submission(std::string_view ptx, Compiled& compiled, std::string& cubin) {
  if (compiled.ok) {
    compiled.problem = refusal(ptx, cubin);
    compiled.ok = compiled.problem.empty();
  }
  if (!compiled.ok) {
    compiled.cubin_hash.clear();
    cubin.clear();
  }
  compiled.log = as_ascii(compiled.log, kLongestLog);
  compiled.problem = as_ascii(compiled.problem, kLongestProblem);
  for (auto& [entry, resources] : compiled.entries) {
    for (std::string& warning : resources.warnings) warning = as_ascii(warning, kLongestProblem);
  }
}

}  // namespace fatune
