// exported_kernel.hpp - a candidate as every export format takes it: facts, machine code, source,
// its name and where it comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

struct ExportedKernel {
  /// Stem of its files and a C identifier, unique in one export:
  /// "fa_wgmma_b4_h8_q512_kv512_d64_f16".
  std::string name;
  KernelFacts facts;
  std::string cubin;   ///< the machine code, whose size and SHA-256 the facts hold
  std::string source;  ///< one self-contained CUDA file
};

/// "fa_wgmma_b4_h8_q512_kv512_d64_f16_causal": a C identifier of lower-case letters and digits.
std::string export_name(std::string_view kernel, const Problem& problem);
/// Makes names that occur several times distinct: the second "a" becomes "a_2".
void make_distinct(std::vector<std::string>& names);
/// A name of the user's choice must be a C identifier; errors name the flag.
Status check_export_name(std::string_view name, std::string_view flag);

/// What it computes, how fast it was and where, whether it was verified, which command found it and
/// which fatune exported it. An unverified or recorded kernel says so in the first lines. No text
/// has an end of line in it.
std::vector<std::string> provenance(const KernelFacts& facts);
/// "83.32 us", "98.99 us in layer": that by which its sweep ranked.
std::string describe_time(const MeasuredFacts& measured);
/// "6.28 us (95 % interval 6.28 to 6.29), 0.64 of cudnn's time", or "98.99 us in layer, 0.811 of
/// cudnn's time; 83.32 us hot (95 % interval 83.3 to 83.35)"; empty when it was not measured.
std::string describe_measured(const KernelFacts& facts);
/// What a run said of itself, fit for a comment: a line's end in it would begin code.
std::string one_line(std::string text);

}  // namespace fatune
