// census.cpp: Runs nvdisasm or cuobjdump, and classifies the opcodes of SASS lines.
#include "tune/profile/census.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "core/fields.hpp"
#include "core/lines.hpp"
#include "core/run_program.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

/// Bits per thread of one access; 32 for an opcode without a width.
enum class Width { kAny, k128, k64, k32, kBelow };

/// `opcode` is the first word, as "LDS" of LDS.U.128; `modifier` must be among the other words.
struct ClassRule {
  InstructionClass shown;
  std::array<std::string_view, 8> opcodes;
  Width width = Width::kAny;
  std::string_view modifier = {};
};

constexpr ClassRule kRules[] = {
    {{"global_load_128", "global loads of 128 bits"}, {"LDG"}, Width::k128},
    {{"global_load_64", "global loads of 64 bits"}, {"LDG"}, Width::k64},
    {{"global_load_32", "global loads of 32 bits"}, {"LDG"}, Width::k32},
    {{"global_load_narrow", "global loads of 8 or 16 bits"}, {"LDG"}, Width::kBelow},
    {{"global_store_128", "global stores of 128 bits"}, {"STG"}, Width::k128},
    {{"global_store_64", "global stores of 64 bits"}, {"STG"}, Width::k64},
    {{"global_store_32", "global stores of 32 bits"}, {"STG"}, Width::k32},
    {{"global_store_narrow", "global stores of 8 or 16 bits"}, {"STG"}, Width::kBelow},
    {{"shared_load_128", "shared loads of 128 bits"}, {"LDS"}, Width::k128},
    {{"shared_load_64", "shared loads of 64 bits"}, {"LDS"}, Width::k64},
    {{"shared_load_32", "shared loads of 32 bits"}, {"LDS"}, Width::k32},
    {{"shared_load_narrow", "shared loads of 8 or 16 bits"}, {"LDS"}, Width::kBelow},
    {{"shared_store_128", "shared stores of 128 bits"}, {"STS"}, Width::k128},
    {{"shared_store_64", "shared stores of 64 bits"}, {"STS"}, Width::k64},
    {{"shared_store_32", "shared stores of 32 bits"}, {"STS"}, Width::k32},
    {{"shared_store_narrow", "shared stores of 8 or 16 bits"}, {"STS"}, Width::kBelow},
    {{"ldmatrix", "ldmatrix (LDSM)"}, {"LDSM"}},
    {{"stmatrix", "stmatrix (STSM)"}, {"STSM"}},
    {{"cp_async", "cp.async (LDGSTS)"}, {"LDGSTS"}},
    {{"tma", "bulk copies (TMA)"},
     {"UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UBLKCP", "UBLKRED", "UBLKPF"}},
    {{"mma", "mma by warps (HMMA, IMMA, QMMA)"}, {"HMMA", "IMMA", "QMMA", "OMMA", "DMMA", "BMMA"}},
    {{"wgmma", "wgmma (HGMMA, QGMMA)"}, {"HGMMA", "QGMMA", "IGMMA", "BGMMA"}},
    {{"tcgen05", "tcgen05 mma (UTCHMMA)"}, {"UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"}},
    {{"exp2", "exp2 (MUFU.EX2)"}, {"MUFU"}, Width::kAny, "EX2"},
    {{"special", "other special functions (MUFU)"}, {"MUFU"}},
    {{"fma", "fp32 multiply-add (FFMA)"}, {"FFMA", "FFMA2"}},
    {{"float", "fp32 add, multiply, maximum"},
     {"FADD", "FMUL", "FMNMX", "FMNMX3", "FADD2", "FMUL2"}},
    {{"half", "packed half arithmetic"}, {"HFMA2", "HADD2", "HMUL2", "HMNMX2"}},
    {{"convert", "conversions"}, {"F2F", "F2FP", "F2I", "F2IP", "I2F", "I2FP"}},
    {{"shuffle", "shuffles (SHFL)"}, {"SHFL"}},
    {{"barrier", "block barriers (BAR)"}, {"BAR"}},
    {{"mbarrier", "mbarrier operations (SYNCS)"}, {"SYNCS"}},
    {{"fence", "fences"}, {"MEMBAR", "FENCE", "ERRBAR"}},
    {{"branch", "branches (BRA)"}, {"BRA"}},
    {{"spill_load", "local loads (LDL): spills"}, {"LDL"}},
    {{"spill_store", "local stores (STL): spills"}, {"STL"}},
};

constexpr auto kClasses = [] {
  std::array<InstructionClass, std::size(kRules)> classes{};
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = kRules[i].shown;
  return classes;
}();

/// Splits "LDG.E.128" into "LDG" and {"E", "128"}.
struct Opcode {
  std::string name;
  std::vector<std::string> modifiers;
  bool has(std::string_view word) const {
    return std::find(modifiers.begin(), modifiers.end(), word) != modifiers.end();
  }
};

Width width_of(const Opcode& opcode) {
  if (opcode.has("128")) return Width::k128;
  if (opcode.has("64")) return Width::k64;
  for (const std::string_view narrow : {"U8", "S8", "U16", "S16"}) {
    if (opcode.has(narrow)) return Width::kBelow;
  }
  return Width::k32;
}

bool belongs(const Opcode& opcode, const ClassRule& rule) {
  const auto end = rule.opcodes.end();
  if (std::find(rule.opcodes.begin(), end, opcode.name) == end) return false;
  if (rule.width != Width::kAny && rule.width != width_of(opcode)) return false;
  return rule.modifier.empty() || opcode.has(rule.modifier);
}

/// Extracts "@!P0 LDG.E R0, ..." from "   /*0050*/   @!P0 LDG.E R0, ... ;   /* 0x... */"; empty for
/// lines without an instruction.
std::string_view instruction_in(std::string_view line) {
  const std::string_view text = trim(line);
  if (!text.starts_with("/*")) return {};
  const std::size_t end = text.find("*/"), stop = text.find(';');
  if (end == std::string_view::npos || stop == std::string_view::npos || stop < end) return {};
  const std::string_view address = text.substr(2, end - 2);
  const bool hex =
      !address.empty() && address.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return hex ? trim(text.substr(end + 2, stop - end - 2)) : std::string_view();
}

std::optional<Opcode> opcode_of(std::string_view instruction) {
  std::string_view rest = instruction;
  while (rest.starts_with('@') || rest.starts_with('{')) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest = trim(rest.substr(space));
  }
  const std::string_view word = rest.substr(0, rest.find_first_of(" ;"));
  if (word.empty() || word.front() < 'A' || word.front() > 'Z') return std::nullopt;
  std::vector<std::string> parts = split(word, '.');
  Opcode opcode;
  opcode.name = parts.front();
  opcode.modifiers.assign(parts.begin() + 1, parts.end());
  return opcode;
}

/// Extracts the entry's name from cuobjdump's "Function : NAME" and nvdisasm's ".text.NAME:".
std::string heading_of(std::string_view line) {
  constexpr std::string_view kFunction = "Function : ";
  constexpr std::string_view kSection = ".text.";
  const std::string_view text = trim(line);
  if (text.starts_with(kFunction)) return std::string(trim(text.substr(kFunction.size())));
  if (text.starts_with(kSection) && text.ends_with(':'))
    return std::string(text.substr(kSection.size(), text.size() - kSection.size() - 1));
  return "";
}

void tally(const Opcode& opcode, Census& census) {
  if (opcode.name == "NOP") return;
  ++census.instructions;
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules),
                                 [&](const ClassRule& each) { return belongs(opcode, each); });
  if (rule != std::end(kRules))
    ++census.counts[static_cast<std::size_t>(rule - std::begin(kRules))];
}

constexpr std::chrono::seconds kPatience{60};

}  // namespace

std::span<const InstructionClass> instruction_classes() { return kClasses; }

std::int64_t Census::count(std::string_view key) const {
  const auto found = std::find_if(kClasses.begin(), kClasses.end(),
                                  [&](const InstructionClass& each) { return each.key == key; });
  FATUNE_CHECK(found != kClasses.end(), "classes are asked for by a name of the table");
  return counts[static_cast<std::size_t>(found - kClasses.begin())];
}

void fields(Census& x, FieldList& f) {
  f("entry", x.entry);
  f("instructions", x.instructions);
  f.group("counts", [&x](FieldList& counts) {
    for (std::size_t i = 0; i < kClasses.size(); ++i)
      counts.derived(kClasses[i].key.data(), x.counts.empty() ? 0 : x.counts[i]);
  });
}

std::vector<Census> parse_sass(std::string_view text) {
  std::vector<Census> found;
  for (const std::string_view line : Lines(text)) {
    if (std::string entry = heading_of(line); !entry.empty()) {
      found.push_back({std::move(entry), 0, std::vector<std::int64_t>(kClasses.size())});
    } else if (const auto opcode = found.empty() ? std::nullopt : opcode_of(instruction_in(line))) {
      tally(*opcode, found.back());
    }
  }
  return found;
}

std::vector<std::string> sass_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Lines(text)) {
    const std::string entry = heading_of(line);
    const std::string_view instruction = instruction_in(line);
    if (!entry.empty()) {
      lines.push_back(entry + ":");
    } else if (lines.empty()) {
      continue;  // not part of a function
    } else if (const auto opcode = opcode_of(instruction); opcode && opcode->name != "NOP") {
      lines.emplace_back(instruction);
    } else if (line.starts_with(".L_") && trim(line).ends_with(':')) {
      lines.emplace_back(trim(line));
    }
  }
  return lines;
}

std::vector<std::string> disassemblers() { return {"nvdisasm", "cuobjdump"}; }

std::string disassembler_remedy() {
  return "install nvdisasm or cuobjdump: they are part of the CUDA toolkit (packages cuda-nvdisasm "
         "and cuda-cuobjdump), or the wheels nvidia-cuda-nvdisasm and nvidia-cuda-cuobjdump";
}

Result<std::string> disassemble(const std::filesystem::path& tool,
                                const std::filesystem::path& cubin) {
  const std::string option = tool.filename() == "cuobjdump" ? "-sass" : "-c";
  FATUNE_TRY(ProgramRun output, run_program({.program = tool,
                                             .arguments = {option, cubin.string()},
                                             .extra_environment = {"LC_ALL=C"}},
                                            kPatience));
  if (output.succeeded() && !parse_sass(output.text).empty()) return std::move(output.text);
  const auto lines = split(trim(output.text), '\n');
  return environment_error(tool.string() + " cannot disassemble " + cubin.string() + ": " +
                           (output.end ? lines.back() : "it did not come to an end"));
}

}  // namespace fatune
