// run_ptx.cpp: Interprets one kernel on one problem and prints the accuracy gate's verdict.
#include <cstdlib>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/text.hpp"
#include "ptx/judge.hpp"
#include "ptx/workbench.hpp"

using namespace fatune;

namespace {

constexpr const char* kUsage =
    "usage: run_ptx --kernel NAME --shape BATCH,HEADS,SEQ,DIM [--config A=1,B=word]\n"
    "               [--dtype f16|bf16|e4m3|e5m2] [--mask MASK] [--lse] [--kv-heads N] [--seq-kv "
    "N]\n"
    "               [--quant given|fused|smooth_k] [--layout WORD]\n"
    "               [--inputs normal|outliers|...] [--seed N] [--arch sm_90a]\n"
    "               [--kernel-dir DIR] [--ptx FILE] [--early]\n"
    "  --ptx FILE  also writes the PTX there, whose lines messages name\n"
    "  --early     carries asynchronous work out at once, not as late as the rules allow\n"
    "exit: 0 passed, 1 failed, 2 usage or environment\n";

using Options = std::map<std::string, std::string>;

Result<Options> read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) return usage_error("'" + word + "' is no option");
    const bool flag = word == "--lse" || word == "--early";
    if (!flag && i + 1 == count) return usage_error(word + " lacks its value");
    options[word] = flag ? "yes" : words[++i];
  }
  for (const char* required : {"--kernel", "--shape"}) {
    if (!options.contains(required)) return usage_error(std::string(required) + " is required");
  }
  return options;
}

std::string or_else(const Options& options, const std::string& name, const std::string& fallback) {
  const auto found = options.find(name);
  return found == options.end() ? fallback : found->second;
}

Result<Attention> read_problem(const Options& options) {
  FATUNE_TRY(Attention problem, parse_shape(options.at("--shape")));
  FATUNE_TRY(problem.dtype, parse_dtype(or_else(options, "--dtype", "f16")));
  problem.out_dtype = default_out_dtype(problem.dtype);
  FATUNE_TRY(problem.quant, parse_quant(or_else(options, "--quant", "given")));
  FATUNE_TRY(problem.layouts, parse_layouts(or_else(options, "--layout", "bhsd")));
  FATUNE_TRY(const Mask mask, parse_mask(or_else(options, "--mask", "none")));
  problem.lse = options.contains("--lse");
  for (const auto& [name, size] :
       {std::pair("--kv-heads", &problem.kv_heads), std::pair("--seq-kv", &problem.seq_kv)}) {
    if (options.contains(name)) *size = parse_integer(options.at(name)).value_or(0);
  }
  problem.mask = canonical(mask, problem.seq_q, problem.seq_kv);
  FATUNE_TRY_STATUS(validate(problem));
  return problem;
}

Result<int> run(const Options& options) {
  FATUNE_TRY(const Attention problem, read_problem(options));
  std::vector<std::filesystem::path> folders;
  if (options.contains("--kernel-dir")) folders.emplace_back(options.at("--kernel-dir"));
  FATUNE_TRY(const ptx::Workbench bench,
             ptx::Workbench::open(or_else(options, "--arch", "sm_90a"), folders));
  FATUNE_TRY(const Candidate candidate,
             bench.candidate(options.at("--kernel"), or_else(options, "--config", ""), problem));
  if (options.contains("--ptx")) {
    FATUNE_TRY(const std::string text,
               bench.compiler.ptx(compile_request(candidate, bench.limits)));
    FATUNE_TRY_STATUS(replace_file(options.at("--ptx"), text));
  }
  InputCase which;
  FATUNE_TRY(which.distribution, parse_distribution(or_else(options, "--inputs", "normal")));
  which.seed =
      static_cast<std::uint64_t>(parse_integer(or_else(options, "--seed", "42")).value_or(42));
  FATUNE_TRY(const KernelRef naive, bench.kernel("naive"));
  FATUNE_TRY(const ptx::Expected expected, ptx::expect(bench.setting(), naive, problem, which));
  const auto how = options.contains("--early") ? ptx::Asynchrony::kEarly : ptx::Asynchrony::kLate;
  const ptx::Examined seen = ptx::examine(bench.setting(), expected, candidate, how);
  std::cout << fmt::format("{} {}\n{}\n", candidate.kernel->manifest.name,
                           describe(candidate.config), describe(problem));
  if (!seen.where.empty())
    std::cout << fmt::format(
        "largest error {:.3g} at {}, mean {:.3g}, relative l2 {:.4g}, margin {:.3g}\n",
        seen.max_abs, seen.where, seen.mean_abs, seen.relative_l2, seen.margin);
  std::cout << (seen.passed ? "accuracy: passed\n" : "accuracy: FAILED: " + seen.reason + "\n");
  return seen.passed ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const auto options = read_options(count, words);
  if (!options) {
    std::cerr << options.error().message << "\n" << kUsage;
    return 2;
  }
  const auto code = run(*options);
  if (code) return *code;
  std::cerr << code.error().message << "\n";
  return 2;
}
