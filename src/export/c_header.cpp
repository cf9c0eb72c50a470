// c_header.cpp: Writes a C header: comment, constants, declarations, functions, machine code.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "export/c_sizes.hpp"
#include "export/exported_kernel.hpp"
#include "export/formats.hpp"

namespace fatune {
namespace {

/// Wraps the parameters of attention into two lines for every kernel name; chosen.
constexpr std::size_t kParameterColumns = 94;
constexpr std::size_t kBytesPerLine = 24;  ///< three digits and a comma each, within 100 columns

/// Escapes comment delimiters, so that the text cannot end the comment or start another.
std::string comment_line(const std::string& line) {
  return " * " + replaced(replaced(line, "*/", "* /"), "/*", "/ *") + "\n";
}

/// @include@ marks an include of the header, because our check of includes reads this file, too.
constexpr const char* kIntroduction = R"( *
 * In one C or C++ file of a program:
 *
 *   #define @NAME@_IMPLEMENTATION
 *   #include "@name@.h"
 *
 * and without the define in others. Needs <cuda.h> of CUDA 12 or newer, and -lcuda. Every call
 * wants a current context on a device that runs @arch@ code.
 */
#ifndef @NAME@_H
#define @NAME@_H

#include <stddef.h>
#include <stdint.h>

@include@ <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

)";

constexpr const char* kDeclarations = R"(
/* A loaded kernel, filled by load; several threads may launch it at once. */
typedef struct {
  CUmodule module;
  CUfunction stages[@stages@];
@constants@} @name@_kernel;

/* Loads the machine code into the current context. CUDA_ERROR_NO_BINARY_FOR_GPU says that the
 * device cannot run it; nothing is left behind after a failure. */
CUresult @name@_load(@name@_kernel *kernel);

/* Releases what load took; the context must be the one of load. */
CUresult @name@_unload(@name@_kernel *kernel);

/* Device memory that a launch needs for itself. Its content need not be kept between launches, but
 * launches that run at the same time each need their own. */
size_t @name@_scratch_bytes(@sizes@);@zero@

/* Queues the kernel on the stream and returns. @tensors@
 * @scratch@
 * CUDA_ERROR_INVALID_VALUE says that one of them is null or not aligned@limits@. May be captured into a
 * graph. */
CUresult @name@_launch(
@parameters@);

#ifdef __cplusplus
}
#endif

#endif /* @NAME@_H */

#if defined(@NAME@_IMPLEMENTATION) && !defined(@NAME@_IMPLEMENTED)
#define @NAME@_IMPLEMENTED

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

)";

constexpr const char* kEnd = R"(
#ifdef __cplusplus
}
#endif

#endif /* @NAME@_IMPLEMENTATION */
)";

/// Defines the types of the passed elements, and of `out` where it differs.
std::string type_constants(const Problem& p) {
  if (p.custom() && !p.custom()->dtype) return "";
  const Dtype passed = p.custom() ? p.dtype() : dtype_of(p.as_attention(), "q");
  std::string text = fmt::format("#define @NAME@_DTYPE \"{}\"\n", name(passed));
  if (p.is(is_fp8))
    text += fmt::format("#define @NAME@_OUT_DTYPE \"{}\"\n", name(out_dtype(p.as_attention())));
  return text;
}

/// Defines the constants that a program can test at compile time.
std::string constants(const KernelFacts& facts) {
  const Problem& p = facts.problem;
  std::string text = "/* What it computes, and how far it was checked. */\n";
  const std::string types = type_constants(p);
  const auto define = [&text](std::string_view key, std::int64_t value) {
    text += fmt::format("#define @NAME@_{} {}\n", key, value);
  };
  for (const NamedSize& size : named_sizes(p)) {
    if (!p.custom() && size.name == "CAUSAL") text += types;
    const bool runtime = contains(facts.runtime_sizes, size.name);
    define(p.custom() ? (runtime ? "TUNED_" : "SIZE_") + size.name : size.name, size.value);
  }
  text += p.custom() ? types
                     : fmt::format("#define @NAME@_SCALE {:#}\n", static_cast<float>(facts.scale));
  text += fmt::format("#define @NAME@_ARCH \"{}\"\n", facts.arch);
  define("VERIFIED", facts.verified ? 1 : 0);
  define("RECORDED", facts.recorded ? 1 : 0);
  return text;
}

/// Describes fp8: element types, and whether the caller or the kernel computes the factors.
std::string fp8_text(const Attention& p) {
  if (!is_fp8(p)) return "";
  if (!has_descales(p)) {
    return fmt::format("\n * q, k, v and out are {}; the kernel itself quantizes q, k and v to {}.",
                       name(out_dtype(p)), name(p.dtype));
  }
  return fmt::format(
      "\n * q, k and v are {}, out is {}. An element of q, k or v stands for itself times a factor."
      "\n * Factors are fp32, contiguous, on 4 bytes each tensor:"
      "\n *   q_descale, k_descale, v_descale: [batch, kv_heads], one for a key head"
      "\n * A query head has the factors of the key head that it reads.",
      name(p.dtype), name(out_dtype(p)));
}

/// Lists shape and strides of each tensor if tensors are not contiguous; factors always are.
std::string strides_text(const Attention& problem, const KernelFacts& facts) {
  std::string text = "Shapes, and strides in elements, all of\n * them compiled in:";
  for (const TensorFacts& tensor : facts.tensors) {
    if (is_descale(tensor.name)) continue;
    text += fmt::format("\n *   {}: {} [{}] by [{}]", tensor.name, tensor.type,
                        fmt::join(tensor.shape, ", "), fmt::join(tensor.strides, ", "));
  }
  if (problem.layouts.q.kind == LayoutKind::kPacked) {
    text += fmt::format("\n * In the packed tensor q is first, k begins {} elements further, v {}.",
                        packed_offset(problem, "k"), packed_offset(problem, "v"));
  }
  return text + fmt::format("\n * Each begins on 16 bytes.{}{}",
                            problem.lse ? "" : " lse is not written: pass 0.", fp8_text(problem));
}

/// Describes the tensor layout, after "Queues the kernel on the stream and returns."
std::string tensors_text(const KernelFacts& facts) {
  const Attention* const attention = facts.problem.attention();
  if (attention == nullptr) {
    std::string text = "The tensors are contiguous, on 16\n * bytes each:";
    for (const TensorFacts& tensor : facts.tensors) {
      const std::string shape = tensor.extents.empty()
                                    ? fmt::format("{}", fmt::join(tensor.shape, ", "))
                                    : join(tensor.extents, ", ");
      text += fmt::format("\n *   d_{}: {} [{}], {}", tensor.name, tensor.type, shape,
                          tensor.filled   ? "read and written"
                          : tensor.output ? "written"
                                          : "read");
    }
    for (const std::string& size : facts.runtime_sizes)
      text += fmt::format("\n * size_{0} is {0}, from 1 to what grid and arguments hold.", size);
    for (const ConstantFacts& each : facts.constants) {
      text += fmt::format(
          "\n * Each launch copies d_{} to the constant {}: launches at the same time"
          "\n * must have the same.",
          each.tensor, each.symbol);
    }
    return text;
  }
  if (!facts.tensors.empty()) return strides_text(*attention, facts);
  return fmt::format(
      "q and out are contiguous [batch, heads, seq_q,\n"
      " * head_dim], k and v [batch, kv_heads, seq_kv, head_dim], on 16 bytes each.{}{}\n * {}",
      attention->value_dim
          ? fmt::format(" Rows of v\n * and out have {} columns.", *attention->value_dim)
          : "",
      fp8_text(*attention),
      attention->lse
          ? "lse takes the log-sum-exp of each row: fp32 [batch, heads, seq_q], on 16 bytes."
          : "lse is not written: pass 0.");
}

/// Lists the parameters of the launch in lines of at most 100 columns.
std::string parameters_text(const KernelFacts& facts) {
  std::string line = "    const @name@_kernel *kernel,", text;
  std::vector<std::string> parameters;
  for (const std::string& name : tensor_parameters(facts))
    parameters.push_back("CUdeviceptr " + name);
  std::ranges::copy(c_size_parameters(facts), std::back_inserter(parameters));
  parameters.emplace_back("CUdeviceptr scratch");
  for (const std::string& parameter : parameters) {
    const std::string next = fmt::format(" {},", parameter);
    if (line.size() + next.size() > kParameterColumns) {
      text += line + "\n";
      line = "   ";
    }
    line += next;
  }
  return text + line + " CUstream stream";
}

/// The first member of the union decides the initialiser, the second the alignment.
std::string byte_array(std::string_view bytes) {
  std::string text = fmt::format(
      "/* The machine code: an ELF file of {0} bytes. */\n"
      "static const union {{\n  unsigned char bytes[{0}];\n  unsigned long long aligned;\n}} "
      "@name@_cubin = {{{{",
      bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % kBytesPerLine == 0) text += "\n    ";
    text += fmt::format("{},", static_cast<unsigned char>(bytes[i]));
  }
  return text + "\n}};\n";
}

}  // namespace

std::string c_header(const ExportedKernel& kernel) {
  const KernelFacts& facts = kernel.facts;
  std::string text =
      fmt::format("/* @name@.h - one {} kernel, for {}: machine code and launch.\n *\n",
                  operation_name(facts.problem), range_text(facts));
  for (const std::string& line : provenance(facts)) text += comment_line(line);
  text += kIntroduction + constants(facts) + kDeclarations + byte_array(kernel.cubin) + "\n" +
          c_functions(facts) + kEnd;
  const std::pair<const char*, std::string> marks[] = {
      {"@tensors@", tensors_text(facts)},
      {"@parameters@", parameters_text(facts)},
      {"@scratch@", has_scratch(facts)
                        ? "scratch is device memory of @name@_scratch_bytes(), on 256 bytes."
                        : "scratch is not needed: pass 0."},
      {"@sizes@", c_size_list(facts)},
      {"@zero@", facts.runtime_sizes.empty() ? "" : " /* 0 for sizes beyond a limit */"},
      {"@stages@", fmt::to_string(facts.stages.size())},
      {"@constants@", facts.constants.empty()
                          ? ""
                          : fmt::format("  CUdeviceptr constants[{}];\n", facts.constants.size())},
      {"@limits@", facts.runtime_sizes.empty() ? "" : ", or that a size\n * is beyond a limit"},
      {"@include@", "#include"},
      {"@arch@", facts.arch},
      {"@NAME@", upper(kernel.name)},
      {"@name@", kernel.name}};
  for (const auto& [mark, value] : marks) text = replaced(std::move(text), mark, value);
  return text;
}

}  // namespace fatune
