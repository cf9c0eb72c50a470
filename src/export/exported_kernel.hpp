// exported_kernel.hpp: Declares a kernel for export: facts, machine code, source, name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

struct ExportedKernel {
  /// Stem of the kernel's files and a C identifier, unique in one export:
  /// "fa_wgmma_b4_h8_q512_kv512_d64_f16".
  std::string name;
  KernelFacts facts;
  std::string cubin;   ///< machine code; the facts have its size and SHA-256
  std::string source;  ///< one self-contained CUDA file
};

/// Returns a C identifier of lower-case letters and digits, such as
/// "fa_wgmma_b4_h8_q512_kv512_d64_f16_causal".
std::string export_name(std::string_view kernel, const Problem& problem);
/// Makes repeated names distinct: the second "a" becomes "a_2".
void make_distinct(std::vector<std::string>& names);
/// Checks that the user's name is a C identifier; errors name the flag.
Status check_export_name(std::string_view name, std::string_view flag);

/// Describes computation, time, device, verification, the command that found the kernel and the
/// version of fatune. The first lines mark an unverified or recorded kernel. No line contains a
/// line break.
std::vector<std::string> provenance(const KernelFacts& facts);
/// Returns what the kernel computes: "one shape", "one problem", or "any n" of run-time sizes.
std::string range_text(const KernelFacts& facts);
/// Returns the time that ranked the sweep: "83.32 us" or "98.99 us in layer".
std::string describe_time(const MeasuredFacts& measured);
/// Returns "6.28 us (95 % interval 6.28 to 6.29), 0.64 of cudnn's time". A time that is not hot
/// comes first: "98.99 us in layer, 0.811 of cudnn's time; 83.32 us hot (...)". Empty if not
/// measured.
std::string describe_measured(const KernelFacts& facts);
/// Makes a run's text fit for a comment, because text after a line break would be code.
std::string one_line(std::string text);

}  // namespace fatune
