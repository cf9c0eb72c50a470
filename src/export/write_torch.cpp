// write_torch.cpp: Joins exported kernels and parts of this folder into one module for PyTorch.
#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <zlib.h>

#include "core/embedded.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "export/formats.hpp"
#include "model/problem/rule.hpp"

namespace fatune {
namespace {

/// The order of the parts in the module. The first part has one marked line each for the kernels'
/// origin, their facts, and their machine code by hash.
const std::vector<std::string_view> kAttentionParts = {
    "torch_problem.py", "torch_mask.py",       "torch_driver.py",    "torch_queue.py",
    "torch_launch.py",  "torch_choice.py",     "torch_attention.py", "torch_operator.py",
    "torch_fp8.py",     "torch_expression.py", "torch_check.py"};
const std::vector<std::string_view> kCustomParts = {"torch_custom.py", "torch_driver.py",
                                                    "torch_queue.py", "torch_sizes.py",
                                                    "torch_custom_operator.py"};

bool is_custom(const ExportedKernel& kernel) { return kernel.facts.problem.custom(); }

/// Returns PyTorch's strides of attention's tensors, in elements: batch, head, row, column.
Json strides_json(const Attention& problem) {
  Json json;
  for (const char* tensor : {"q", "k", "v", "out"})
    json[tensor] = strides_of(problem, tensor).all();
  return json;
}

/// Returns the problem's expressions as calls for Python, and the mask beside the first.
Json expressions_json(const Attention& problem) {
  const auto calls = [](const std::string& text, RuleKind kind) {
    return text.empty() ? Json() : Json(PairRule::of(text, kind).calls());
  };
  Mask beside = problem.mask;
  beside.rule.clear();
  beside.lengths = {};
  return {{"mask", calls(problem.mask.rule, RuleKind::kMask)},
          {"score", calls(problem.score, RuleKind::kScore)},
          {"beside", name(beside)}};
}

Json facts_for_torch(const KernelFacts& facts) {
  Json json = to_json(facts);
  if (const Attention* const attention = facts.problem.attention()) {
    json["strides"] = strides_json(*attention);
    json["expressions"] = expressions_json(*attention);
  }
  return json;
}

constexpr std::size_t kColumns = 100;

std::string compressed(std::string_view bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int code =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 9);
  FATUNE_CHECK(code == Z_OK, "compressBound is large enough for any bytes");
  packed.resize(size);
  return packed;
}

/// Encodes pieces of a multiple of 3 bytes, because the encoder counts in int.
std::string base64(std::string_view bytes) {
  constexpr std::size_t kPiece = 3 * 1024;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += kPiece) {
    const std::string_view piece = bytes.substr(i, kPiece);
    unsigned char encoded[kPiece / 3 * 4 + 1];
    const int count = EVP_EncodeBlock(encoded, reinterpret_cast<const unsigned char*>(piece.data()),
                                      static_cast<int>(piece.size()));
    text.append(reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(count));
  }
  return text;
}

/// Puts `text` in place of the line that ends in "# @fatune: <mark>".
void fill(std::string& module, const std::string& mark, const std::string& text) {
  const std::size_t end = module.find("# @fatune: " + mark + "\n");
  FATUNE_CHECK(end != std::string::npos, "the first part has a line for each mark");
  const std::size_t start = module.rfind('\n', end) + 1;
  module.replace(start, module.find('\n', end) + 1 - start, text);
}

std::string summary(const KernelFacts& facts) {
  std::string line =
      fmt::format("{}: {} for {}", describe(facts.problem), facts.kernel, facts.arch);
  const std::string measured = describe_measured(facts);
  if (!measured.empty()) line += fmt::format(", {} on {}", measured, facts.device_name);
  if (facts.recorded) line += ", as recorded";
  if (!facts.verified) line += ", NOT VERIFIED";
  return line;
}

/// Returns comment lines with the kernels of the file and the commands that found the kernels.
std::string contents(std::span<const ExportedKernel> kernels) {
  std::string text = fmt::format("# Written by fatune {} (fatune export --to torch):\n",
                                 kernels.empty() ? "" : one_line(kernels.front().facts.fatune));
  std::set<std::string> commands;
  for (const ExportedKernel& kernel : kernels) {
    text += "#   " + one_line(summary(kernel.facts)) + "\n";
    if (!kernel.facts.command.empty()) commands.insert(one_line(kernel.facts.command));
  }
  if (!commands.empty()) text += "# found by\n";
  for (const std::string& command : commands) text += "#   " + command + "\n";
  return text;
}

/// A raw string of Python takes JSON unchanged: JSON escapes quotes and never has three in a row.
std::string facts_text(std::span<const ExportedKernel> kernels) {
  std::string text = "_FACTS = json.loads(r\"\"\"[";
  for (const ExportedKernel& kernel : kernels) {
    text += &kernel == &kernels.front() ? "\n" : ",\n";
    text += facts_for_torch(kernel.facts).dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  return text + "\n]\"\"\")\n";
}

/// Writes machine code by hash, because kernels of several layouts may share machine code.
std::string cubins_of(std::span<const ExportedKernel> kernels) {
  std::set<std::string> written;
  std::string text = "_CUBINS: dict[str, str] = {  # zlib, base64\n";
  for (const ExportedKernel& kernel : kernels) {
    if (!written.insert(kernel.facts.cubin.sha256).second) continue;
    text += fmt::format("    \"{}\": \"\"\"\n{}\"\"\",\n", kernel.facts.cubin.sha256,
                        packed_text(kernel.cubin, kColumns));
  }
  return text + "}\n";
}

std::string_view python_part(std::string_view name) {
  for (const EmbeddedFile& file : embedded_export_files()) {
    if (file.path == name) return file.text;
  }
  FATUNE_CHECK(false, "the module's parts are part of the program");
}

}  // namespace

std::string packed_text(std::string_view bytes, std::size_t columns) {
  FATUNE_CHECK(columns >= 4, "a line holds at least one group of base64");
  const std::string text = base64(compressed(bytes));
  std::string lines;
  for (std::size_t i = 0; i < text.size(); i += columns) {
    lines += text.substr(i, columns);
    lines += '\n';
  }
  return lines;
}

Result<std::string> torch_module(std::span<const ExportedKernel> kernels) {
  const auto customs = std::ranges::count_if(kernels, is_custom);
  if (customs != 0 && customs != static_cast<std::ptrdiff_t>(kernels.size())) {
    return usage_error(
        "--to torch: kernels of attention and of custom operations are different modules; export "
        "them one after the other");
  }
  std::string module;
  for (const std::string_view part : customs == 0 ? kAttentionParts : kCustomParts) {
    if (!module.empty()) module += "\n\n";
    module += python_part(part);
  }
  fill(module, "contents", contents(kernels));
  fill(module, "facts", facts_text(kernels));
  fill(module, "cubins", cubins_of(kernels));
  return module;
}

Result<std::vector<std::filesystem::path>> write_torch(std::span<const ExportedKernel> kernels,
                                                       const std::filesystem::path& target) {
  FATUNE_TRY(const std::string module, torch_module(kernels));
  const bool custom = !kernels.empty() && is_custom(kernels.front());
  const char* const name = custom ? "custom.py" : "sdpa.py";
  const bool is_file = target.extension() == ".py";
  FATUNE_TRY_STATUS(is_file ? replace_file(target, module) : write_below(target, name, module));
  return std::vector{is_file ? target : target / name};
}

}  // namespace fatune
