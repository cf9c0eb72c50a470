// exported_kernel.cpp: Makes C identifiers from names, and comment lines from an origin.
#include "export/exported_kernel.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/problem/suite.hpp"

namespace fatune {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

constexpr const char* kUnverified =
    "NOT VERIFIED: no gate has checked the results of this machine code.";
/// Terms of LICENSE, for code that holds parts of fatune's kernels.
constexpr const char* kLicence =
    "licence:  MIT, Copyright (c) The fatune authors: use it in any program, also in one that is "
    "sold, and keep this line";
constexpr const char* kRecorded =
    "RECORDED: the numbers come from a recording of the device; nothing ran when this config was "
    "chosen.";

/// Describes the tensors or the formula, and the problem.
std::string describe_computation(const KernelFacts& facts) {
  const Problem& p = facts.problem;
  if (p.custom()) {
    std::vector<std::string> read, written;
    for (const TensorFacts& tensor : facts.tensors) {
      if (tensor.output) written.push_back(tensor.name);
      if (!tensor.output || tensor.filled) read.push_back(tensor.name);
    }
    return fmt::format("{} of {} {} {}", fmt::join(written, ", "), fmt::join(read, ", "),
                       facts.runtime_sizes.empty() ? "for" : "tuned for", describe(p));
  }
  std::string text = fmt::format("out = softmax({:.6g} q k^T) v for {}", facts.scale, describe(p));
  if (const auto cap = p.as_attention().softcap)
    text += fmt::format(" (a score s becomes {0} tanh(s / {0}))", *cap);
  if (p.as_attention().bias) text += " (the bias is added to scores)";
  if (p.as_attention().alibi)
    text += " (a score of head h falls by alibi[h] " + distance_rule(p.as_attention()) + ")";
  if (p.as_attention().sink) text += " (the softmax of head h has one more term, exp(sink[h]))";
  const std::string seen = mask_rule(p.as_attention());
  if (!seen.empty()) text += fmt::format(" (query i sees key j when {})", seen);
  return text;
}

}  // namespace

std::string export_name(std::string_view kernel, const Problem& problem) {
  std::string text(kernel);
  if (const CustomProblem* own = problem.custom()) {
    text += size_slug(*own);
  } else {
    const Attention& p = problem.as_attention();
    text += fmt::format("_b{}_h{}", p.batch, p.heads);
    if (p.kv_heads != p.heads) text += fmt::format("_kvh{}", p.kv_heads);
    text += fmt::format("_q{}_kv{}_d{}", p.seq_q, p.seq_kv, p.head_dim);
    if (p.value_dim) text += fmt::format("_v{}", *p.value_dim);
    text += fmt::format("_{}", name(p.dtype));
    if (is_fp8(p)) text += fmt::format("_{}", name(out_dtype(p)));
    if (is_fused(p)) text += fmt::format("_{}", name(p.quant));
    if (p.mask != Mask::kNone) text += "_" + slug(p.mask);
    if (p.lse) text += "_lse";
    text += score_slug(p);
    if (!p.layouts.plain()) text += "_" + name(p.layouts);
  }
  std::ranges::replace_if(
      text, [](char c) { return !is_word(c); }, '_');
  return text;
}

void make_distinct(std::vector<std::string>& names) {
  std::set<std::string> taken;
  for (std::string& name : names) {
    std::string distinct = name;
    for (int number = 2; !taken.insert(distinct).second; ++number)
      distinct = fmt::format("{}_{}", name, number);
    name = distinct;
  }
}

Status check_export_name(std::string_view name, std::string_view flag) {
  const bool right = !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, is_word);
  if (right) return {};
  return usage_error(fmt::format(
      "{}: '{}' is no C identifier: letters, digits and '_', the first no digit", flag, name));
}

std::string range_text(const KernelFacts& facts) {
  if (!facts.runtime_sizes.empty()) return "any " + join(facts.runtime_sizes, ", ");
  return facts.problem.custom() ? "one problem" : "one shape";
}

std::string describe_time(const MeasuredFacts& measured) {
  if (!measured.us) return fmt::format("{:.2f} us", measured.hot_us);
  return fmt::format("{:.2f} us {}", *measured.us, describe(measured.time.value_or(Time::kHot)));
}

std::string describe_measured(const KernelFacts& facts) {
  if (!facts.measured) return "";
  const MeasuredFacts& measured = *facts.measured;
  std::string hot = fmt::format("{:.4g} us", measured.hot_us);
  if (measured.us) hot += " hot";
  if (measured.ci95_us) {
    hot += fmt::format(" (95 % interval {:.4g} to {:.4g})", (*measured.ci95_us)[0],
                       (*measured.ci95_us)[1]);
  }
  const std::string ratio =
      measured.ratio ? fmt::format(", {:.3f} of {}'s time", *measured.ratio, measured.baseline)
                     : "";
  return measured.us ? describe_time(measured) + ratio + "; " + hot : hot + ratio;
}

std::vector<std::string> provenance(const KernelFacts& facts) {
  std::vector<std::string> lines;
  if (!facts.verified) lines.emplace_back(kUnverified);
  if (facts.recorded) lines.emplace_back(kRecorded);
  lines.push_back(describe_computation(facts));
  lines.push_back(fmt::format("kernel:   {} {}", facts.kernel, facts.config));
  lines.push_back(fmt::format("id:       {}", facts.id));
  const std::string device =
      facts.driver.empty() ? facts.device_name : facts.device_name + ", driver " + facts.driver;
  if (const std::string measured = describe_measured(facts); !measured.empty())
    lines.push_back(fmt::format("measured: {} on {}", measured, device));
  lines.push_back(fmt::format("verified: {}", !facts.verified ? "no"
                                              : facts.own_yardstick
                                                  ? "agrees with its default config; there "
                                                    "is no reference"
                                                  : "passed every gate"));
  lines.push_back(fmt::format("compiled: NVRTC {} for {}", facts.nvrtc, facts.arch));
  if (!facts.command.empty()) lines.push_back(fmt::format("found by: {}", facts.command));
  if (facts.ours) lines.emplace_back(kLicence);
  lines.push_back(fmt::format("exported by fatune {}", facts.fatune));
  for (std::string& line : lines) line = one_line(std::move(line));
  return lines;
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace fatune
