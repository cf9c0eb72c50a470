// option_table.cpp: Declares the options of several commands, and writes options back as words of a
// command.
#include "cli/options/option_table.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "core/text.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune::cli {
namespace {

/// Values of an option, one for each time that it was typed; nothing for each time of a switch.
struct TypedValues {
  using Words = std::vector<std::optional<std::string>>;

  Words operator()(const bool* value) const { return Words(*value ? 1 : 0); }
  Words operator()(const int* value) const { return Words(static_cast<std::size_t>(*value)); }
  Words operator()(const std::string* value) const { return {*value}; }
  Words operator()(const std::vector<std::string>* values) const {
    return {values->begin(), values->end()};
  }
  Words operator()(const std::optional<std::string>* value) const {
    if (!*value) return {};
    return {(*value)->empty() ? std::nullopt : *value};
  }
};

bool is_repeated(Repeat repeat, const TypedValues::Words& typed, const TypedValues::Words& usual) {
  switch (repeat) {
    case Repeat::kNo:
      return false;
    case Repeat::kChanged:
      return typed != usual;
    case Repeat::kRecording:
      return typed.front()->starts_with("recorded");
    case Repeat::kAlways:
      return true;
  }
  return false;
}

std::string words(const OptionRow& row, const OptionRow& usual) {
  const auto typed = std::visit(TypedValues(), row.value);
  if (!is_repeated(row.repeat, typed, std::visit(TypedValues(), usual.value))) return "";
  std::string text;
  for (const auto& word : typed)
    text += " " + long_name(row) + (word ? " " + shell_word(*word) : "");
  return text;
}

struct RetiredOption {
  std::string_view option;
  std::string_view instead;
  std::string_view command = {};  ///< empty: every command that has no such option
};

constexpr RetiredOption kRetired[] = {
    {"--arch", "use `fatune compile --arch sm_XX`", "sweep"},
    {"--compile-only", "use `fatune compile`"},
    {"--confirm-on", "run `fatune bench --config RUN --device cuda:N` on each GPU"},
    {"--descale-block", "a descale factor applies to a whole head"},
    {"--external-dir", "a Python function takes its place: --impl python:FILE:FUNCTION"},
    {"--finals", "use `fatune finals RUN`"},
    {"--one-config", "each problem has its own config"},
    {"--per-problem", "each problem has its own config"},
    {"--portfolio", "each problem has its own config"},
    {"--resume", "use `fatune resume RUN`, or `fatune finals RUN` for the final phase alone",
     "sweep"},
};

}  // namespace

OptionTable tables(std::initializer_list<OptionTable> parts) {
  OptionTable all;
  for (const OptionTable& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

OptionTable given_to(unsigned verbs, OptionTable table) {
  for (OptionGroup& group : table) {
    for (OptionRow& row : group.rows) row.verbs = verbs;
  }
  return table;
}

OptionTable rows_of(Verb verb, const OptionTable& table) {
  OptionTable all;
  for (const OptionGroup& group : table) {
    OptionGroup own{group.title, {}};
    std::ranges::copy_if(group.rows, std::back_inserter(own.rows),
                         [&](const OptionRow& row) { return (row.verbs & verb) != 0; });
    if (!own.rows.empty()) all.push_back(std::move(own));
  }
  return all;
}

std::string long_name(const OptionRow& row) {
  const std::string flags = row.flags;
  return flags.substr(flags.rfind(',') + 1);
}

std::string first_typed(const OptionTable& table, const std::set<std::string>& typed,
                        bool OptionRow::*property) {
  for (const OptionGroup& group : table) {
    for (const OptionRow& row : group.rows) {
      if (row.*property && typed.contains(long_name(row))) return long_name(row);
    }
  }
  return "";
}

std::string repeat_options(const OptionTable& typed, const OptionTable& usual) {
  std::string text;
  for (std::size_t group = 0; group < typed.size(); ++group) {
    for (std::size_t i = 0; i < typed[group].rows.size(); ++i)
      text += words(typed[group].rows[i], usual[group].rows[i]);
  }
  return text;
}

OptionTable common_table(CommonArgs& a) {
  return {
      {kCommonTitle,
       {{"--kernel-dir", &a.kernel_dirs, "DIR",
         "Add the kernels of this folder to the built-in kernels (repeatable)"},
        {"--nvrtc", &a.nvrtc, "PATH", "Compile with this NVRTC library, a file or its folder",
         Repeat::kNo},
        {"--cache", &a.cache, "DIR",
         "Keep compiled kernels in this folder [$XDG_CACHE_HOME/fatune]", Repeat::kNo},
        {"--python", &a.python, "PROGRAM",
         "Run Python baselines such as torch:flash with this interpreter [$FATUNE_PYTHON, "
         "python3]",
         Repeat::kNo},
        {"--json", &a.json, "", "Print one JSON document on stdout", Repeat::kNo},
        {"-q,--quiet", &a.quiet, "", "Print warnings and errors only, no progress", Repeat::kNo},
        {"-v,--verbose", &a.verbose, "", "Print more on stderr", Repeat::kNo}}}};
}

OptionTable problem_table(ProblemArgs& a) {
  return {{"Problem",
           {{"--shape", &a.shapes, "B,H,S,D",
             "Set batch, heads, sequence length and head dimension (repeatable)"},
            {"--size", &a.sizes, "NAME=N,...",
             "Set the sizes of a problem of a custom operation, instead of --shape (repeatable)"},
            {"--suite", &a.suite, "SUITE",
             "Take the problems of a suite: mission, models, variants, fa3, fp8, decode, or a "
             "file"},
            {"--dtype", &a.dtype, "f16|bf16|e4m3|e5m2", "Set the element type of the inputs [f16]"},
            {"--out-dtype", &a.out_dtype, "f16|bf16",
             "Set the element type of the output where --dtype is e4m3 or e5m2 [bf16]"},
            {"--quant", &a.quant, "given|fused|smooth_k",
             "Choose who quantizes to --dtype e4m3 or e5m2 [given]:\n"
             "given: nobody, the inputs are fp8\n"
             "fused: the kernel, from 16-bit inputs\n"
             "smooth_k: like fused, with the mean over the keys subtracted from K"},
            {"--kv-heads", &a.kv_heads, "N",
             "Set the number of key/value heads, a divisor of the heads [heads]"},
            {"--seq-kv", &a.seq_kv, "N", "Set the length of keys and values [seq]"},
            {"--value-dim", &a.value_dim, "N", "Set the head dimension of v and out [D]"},
            {"--layout", &a.layout, "LAYOUT",
             "Set the tensor layout: bhsd, bshd, packed, or q=BATCH:HEAD:ROW,... [bhsd]"},
            {"--scale", &a.scale, "S",
             "Scale scores by this factor before the softmax [1/sqrt(head dim)]"},
            {"--bias", &a.bias, "B,H,Q,K",
             "Add a tensor of this shape to scores; 1 stands for all batches, heads or "
             "queries. Append :f32 or :bool, where false hides a key, and @strides"},
            {"--alibi", &a.alibi, "",
             "Take a head's slope times the distance of query and key from scores"},
            {"--sink", &a.sink, "", "Add exp(sink), one for a head, to each row's softmax"},
            {"--softcap", &a.softcap, "X", "Cap scores: X * tanh(score / X)"},
            {"--score", &a.score, "EXPR", "Change scores by an expression of score, b, h, q and k"},
            {"--tensor", &a.tensors, "NAME=TYPE[SIZE]",
             "Let --mask and --score read NAME[INDEX], of i32 or f32; repeatable. Append "
             ":VALUES, such as :0*700,1*324; i32 needs them"},
            {"--mask", &a.mask, "MASK",
             "Choose which keys a query sees [none]:\n"
             "causal: those up to its own, aligned bottom-right\n"
             "causal-upper-left: like causal, aligned upper-left\n"
             "causal-window:N: the last N of them\n"
             "window:L,R: from L before its own to R behind it\n"
             "prefix:N: like causal, and the first N\n"
             "padding:N,...: the first N keys of each batch entry\n"
             "padding-left:N,...: the last N keys of each batch entry\n"
             "document:N,...: those of its own packed document\n"
             "causal+padding:N,...: both; windows and document likewise\n"
             "EXPR: an expression of b, h, q and k: 'q - k < 64 || k < 4'\n"
             "causal && EXPR, causal && EXPR+padding:N,...: both"},
            {"--causal", &a.causal, "", "Short for --mask causal"},
            {"--lse", &a.lse, "", "Also write the log-sum-exp of each row in fp32"}}}};
}

OptionTable choice_table(ChoiceArgs& a) {
  return tables(
      {{{"Config",
         {{"--config", &a.config, "FILE",
           "Take the config from a best.json, or from {\"kernel\":NAME,\"config\":{...}}"},
          {"--kernel", &a.kernel, "KERNEL", "Take this kernel at its default config"}}}},
       problem_table(a.problem)});
}

OptionTable rounds_table(RoundsArgs& a) {
  return {
      {"Measuring",
       {{"--rounds", &a.rounds, "N", "Measure this many interleaved rounds"},
        {"--seed", &a.seed, "N", "Seed the measuring order and the intervals", Repeat::kAlways}}}};
}

OptionTable device_table(std::string& device) {
  return {{"Device",
           {{"--device", &device, "DEVICE", "Run on auto, cuda:N, recorded or recorded:FILE",
             Repeat::kRecording}}}};
}

OptionTable devices_table(std::string& devices) {
  return {
      {"Device",
       {{"--device", &devices, "DEVICE,...",
         "Run on cuda:N, a GPU's UUID, recorded[:FILE], which replays a recording, or auto: the "
         "first GPU, or a recording if there is no driver. Several GPUs, as in cuda:0,2 or "
         "cuda:all, share the problems of a suite, or the candidates of one problem",
         Repeat::kRecording}}}};
}

Result<std::int64_t> whole_number(const std::string& flag, const std::string& text,
                                  std::int64_t least, std::int64_t most) {
  const auto number = parse_integer(text);
  if (number && *number >= least && *number <= most) return *number;
  const bool open = most == std::numeric_limits<std::int64_t>::max();
  return usage_error(fmt::format(
      "{}: '{}' is not a whole number {}", flag, text,
      open ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most)));
}

Result<std::size_t> parse_jobs(const std::string& text) {
  if (text.empty()) return std::size_t{0};
  FATUNE_TRY(const std::int64_t number, whole_number("--jobs", text, 1, 256));
  return static_cast<std::size_t>(number);
}

Result<std::uint64_t> parse_seed(const std::string& text) {
  FATUNE_TRY(const std::int64_t number, whole_number("--seed", text, 0));
  return static_cast<std::uint64_t>(number);
}

Result<FinalPlan> resolve_rounds(const RoundsArgs& args) {
  FinalPlan plan;
  const auto rounds = whole_number("--rounds", args.rounds, 10, 10000);
  if (!rounds) return usage_error(rounds.error().message + "; fewer than 10 give no interval");
  plan.rounds = static_cast<int>(*rounds);
  FATUNE_TRY(plan.seed, parse_seed(args.seed));
  return plan;
}

std::optional<std::string> retired_answer(std::string_view command, std::string_view word) {
  for (const RetiredOption& row : kRetired) {
    const bool applies = row.command.empty() || row.command == command;
    if (applies && word.substr(0, word.find('=')) == row.option)
      return fmt::format("{} is retired: {}", row.option, row.instead);
  }
  return std::nullopt;
}

}  // namespace fatune::cli
