// c_sizes.cpp: Writes the C code that computes and checks what depends on run-time sizes.
#include "export/c_sizes.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/tokens.hpp"
#include "model/kernel/limits.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

/// Sizes are doubles, which hold whole numbers to 2^53 and never wrap.
constexpr const char* kHelpers = R"(static inline double @name@_floor(double x) {
  double whole;
  if (!(x > -9007199254740992.0 && x < 9007199254740992.0)) return x;
  whole = (double)(int64_t)x;
  return whole > x ? whole - 1.0 : whole;
}
static inline double @name@_floor_div(double a, double b) { return @name@_floor(a / b); }
static inline double @name@_ceil_div(double a, double b) { return -@name@_floor(-(a / b)); }
static inline double @name@_round_up(double a, double b) { return @name@_ceil_div(a, b) * b; }
static inline double @name@_min(double a, double b) { return a < b ? a : b; }
static inline double @name@_max(double a, double b) { return a > b ? a : b; }
static inline int @name@_whole(double x, double least, double most) {
  return x >= least && x <= most && x == @name@_floor(x);
}

)";

using Tokens = std::vector<std::string_view>;

/// Counts the arguments of a call whose parenthesis is `tokens[open]`.
std::size_t arguments_of(const Tokens& tokens, std::size_t open) {
  std::size_t arguments = 1, depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i] == "(") ++depth;
    if (tokens[i] == ")" && --depth == 0) break;
    if (tokens[i] == "," && depth == 1) ++arguments;
  }
  return arguments;
}

std::string word_in_c(std::string_view token, const KernelFacts& facts) {
  if (contains(facts.runtime_sizes, token)) return fmt::format("n_{}", token);
  if (starts_name(token.front())) return fmt::format("@name@_{}", token);
  const bool whole = std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; });
  return fmt::format("{}{}", token, whole ? ".0" : "");
}

/// A parenthesis: min(a, b, c) becomes min(a, min(b, c)), and min(a) becomes (a).
struct Call {
  std::string function;  ///< empty for a parenthesis alone
  std::size_t left;      ///< arguments to come
  std::string closing = ")";
};

/// Writes an expression in C; every number is a double, and a size stands as n_SIZE.
std::string in_c(std::string_view expression, const KernelFacts& facts) {
  const Tokens tokens = tokens_of(expression, Syntax::kManifest);
  std::string text, function;
  std::vector<Call> calls;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view token = tokens[i];
    if (token == "(") {
      calls.push_back({function, arguments_of(tokens, i) - 1});
      text += (calls.back().left > 0 ? function : "") + "(";
      function.clear();
    } else if (token == ")") {
      text += calls.back().closing;
      calls.pop_back();
    } else if (token == ",") {
      Call& call = calls.back();
      const bool nested = --call.left > 0;
      text += ", " + (nested ? call.function + "(" : "");
      if (nested) call.closing += ")";
    } else if (is_arithmetic(token)) {
      text += fmt::format(" {} ", token);
    } else if (i + 1 < tokens.size() && tokens[i + 1] == "(") {
      function = word_in_c(token, facts);
    } else {
      text += word_in_c(token, facts);
    }
  }
  return text;
}

std::string whole(const std::string& value, double least, double most) {
  return fmt::format("!@name@_whole({}, {:.1f}, {:.1f})", value, least, most);
}

/// Appends conditions of a launch's grid: limits of CUDA, and that clusters divide it.
void add_grid(std::size_t stage, const StageFacts& facts, std::vector<std::string>& wrong) {
  for (std::size_t i = 0; i < kMaxGrid.size(); ++i) {
    const std::string extent = fmt::format("grid_{}[{}]", stage, i);
    wrong.push_back(whole(extent, 1, static_cast<double>(kMaxGrid[i])));
    if (facts.cluster[i] > 1)
      wrong.push_back(fmt::format("@name@_round_up({0}, {1}.0) != {0}", extent, facts.cluster[i]));
  }
}

std::string refuse(const std::vector<std::string>& wrong, std::string_view code) {
  return fmt::format("  if ({}) {{\n    return {};\n  }}\n", join(wrong, " ||\n      "), code);
}

/// Defines sizes and scratch bytes as doubles, and lists when these are no numbers for a launch.
std::string define_scratch(const KernelFacts& facts, std::vector<std::string>& wrong) {
  std::string text;
  for (const std::string& size : facts.runtime_sizes) {
    text += fmt::format("  const double n_{0} = (double)size_{0};\n  (void)n_{0};\n", size);
    wrong.push_back(fmt::format("size_{0} < 1 || size_{0} > {1}", size, kLargestRuntimeSize));
  }
  for (const ScratchFacts& scratch : facts.scratch) {
    if (scratch.extent.empty()) continue;
    text +=
        fmt::format("  const double bytes_{} = {};\n", scratch.name, in_c(scratch.extent, facts));
    wrong.push_back(whole("bytes_" + scratch.name, 0, static_cast<double>(kLargestRuntimeSize)));
  }
  return text;
}

}  // namespace

bool has_scratch(const KernelFacts& facts) {
  return std::ranges::any_of(facts.scratch, [](const ScratchFacts& scratch) {
    return scratch.bytes > 0 || !scratch.extent.empty();
  });
}

bool is_runtime_value(std::string_view argument) {
  return is_scalar(argument) && !read_scalar(argument);
}

std::string c_size_helpers(const KernelFacts& facts) {
  return facts.runtime_sizes.empty() ? "" : kHelpers;
}

std::vector<std::string> c_size_parameters(const KernelFacts& facts) {
  std::vector<std::string> sizes;
  for (const std::string& size : facts.runtime_sizes) sizes.push_back("int64_t size_" + size);
  return sizes;
}

std::string c_size_list(const KernelFacts& facts) {
  return facts.runtime_sizes.empty() ? "void" : join(c_size_parameters(facts), ", ");
}

std::string c_scratch_function(const KernelFacts& facts) {
  std::vector<std::string> wrong;
  const std::string defined = define_scratch(facts, wrong);
  return fmt::format("size_t @name@_scratch_bytes({}) {{\n{}{}  return {};\n}}\n\n",
                     c_size_list(facts), defined, wrong.empty() ? "" : refuse(wrong, "0"),
                     c_scratch_offset(facts, facts.scratch.size()));
}

std::string c_scratch_offset(const KernelFacts& facts, std::size_t index) {
  std::string text;
  std::int64_t fixed = 0;
  for (std::size_t i = 0; i < index; ++i) {
    const ScratchFacts& scratch = facts.scratch[i];
    if (scratch.extent.empty()) {
      fixed += (scratch.bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    } else {
      text += fmt::format(" + (size_t)@name@_round_up(bytes_{}, {}.0)", scratch.name,
                          kScratchAlignment);
    }
  }
  return fmt::format("{}u{}", fixed, text);
}

std::string c_check_sizes(const KernelFacts& facts) {
  if (facts.runtime_sizes.empty()) return "";
  std::vector<std::string> wrong;
  std::string text = define_scratch(facts, wrong);
  for (std::size_t i = 0; i < facts.stages.size(); ++i) {
    const StageFacts& stage = facts.stages[i];
    if (!stage.extents.empty()) {
      std::vector<std::string> extents;
      for (const std::string& extent : stage.extents) extents.push_back(in_c(extent, facts));
      text += fmt::format("  const double grid_{}[3] = {{{}}};\n", i, join(extents, ", "));
      add_grid(i, stage, wrong);
    }
    for (std::size_t a = 0; a < stage.arguments.size(); ++a) {
      if (!is_runtime_value(stage.arguments[a])) continue;
      const auto split = split_scalar(stage.arguments[a]);
      const std::string value = fmt::format("value_{}_{}", i, a);
      text += fmt::format("  const double {} = {};\n", value, in_c(split->value, facts));
      if (split->type->whole) wrong.push_back(whole(value, split->type->least, split->type->most));
    }
  }
  return text + refuse(wrong, "CUDA_ERROR_INVALID_VALUE");
}

}  // namespace fatune
