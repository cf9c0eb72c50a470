// problem.cpp: Parses problems and their words from text and fields, checks them, describes them.
#include "model/problem/problem.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "model/problem/scores.hpp"

namespace fatune {
namespace {

constexpr std::array kQuants = {Quant::kGiven, Quant::kFused, Quant::kSmoothK};

struct Part {
  std::string_view name;
  std::string_view ordinal;
};
constexpr std::array<Part, 4> kParts = {
    {{"batch", "first"}, {"heads", "second"}, {"seq", "third"}, {"head_dim", "fourth"}}};

bool is_too_long_a_number(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("+-");
  return digits <= 1 && text.find_first_not_of("0123456789", digits) == std::string_view::npos;
}

/// Returns an error text; empty for an allowed size.
std::string size_fault(std::int64_t size) {
  if (size < 1) return "must be at least 1";
  if (size > kLargestSize) return fmt::format("must be at most {}", kLargestSize);
  return {};
}

/// Parses one part of a shape; the error says only what is wrong with this part.
Result<std::int64_t> parse_part(std::string_view text) {
  const std::string_view digits = trim(text);
  if (digits.empty()) return usage_error("is missing");
  const auto size = parse_integer(digits);
  if (!size && is_too_long_a_number(digits)) {
    return usage_error(digits.front() == '-' ? "must be at least 1"
                                             : fmt::format("must be at most {}", kLargestSize));
  }
  if (!size) return usage_error(fmt::format("must be a whole number, not '{}'", digits));
  const std::string fault = size_fault(*size);
  if (!fault.empty()) return usage_error(fault);
  return *size;
}

/// Tells whether a * b * c * d elements of `bytes` stay within the limit of a tensor.
bool fits(std::array<std::int64_t, 4> sizes, std::int64_t bytes) {
  std::int64_t total = bytes;
  for (const std::int64_t size : sizes) {
    if (total > kLargestTensor / size) return false;
    total *= size;
  }
  return true;
}

bool is_size_name(std::string_view text) { return matches(text, "[A-Za-z_][A-Za-z0-9_]*"); }

std::string name_fault(const std::vector<NamedSize>& sizes) {
  for (const NamedSize& size : sizes) {
    if (!is_size_name(size.name)) return fmt::format("has '{}', not a size's name", size.name);
  }
  return {};
}

Result<NamedSize> parse_size(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) {
    return usage_error(
        fmt::format("'{}' is not of the form NAME=NUMBER, say ROWS=4096", trim(part)));
  }
  NamedSize size{std::string(trim(part.substr(0, equals))), 0};
  if (!is_size_name(size.name)) {
    return usage_error(fmt::format(
        "'{}' is not a size's name: capital letters, digits and _, say ROWS", size.name));
  }
  const std::string_view digits = trim(part.substr(equals + 1));
  const auto value = parse_integer(digits);
  if (!value || *value < 1 || *value > kLargestRuntimeSize) {
    return usage_error(fmt::format("{} is '{}', but must be a whole number from 1 to {}", size.name,
                                   digits, kLargestRuntimeSize));
  }
  size.value = *value;
  return size;
}

/// Returns the fault of the layouts; empty for valid layouts of q, k, v and out.
std::string layout_fault(const Attention& problem) {
  const Layouts& layouts = problem.layouts;
  const auto packed = [&](std::string_view tensor) {
    return layouts.of(tensor).kind == LayoutKind::kPacked;
  };
  const int parts = packed("q") + packed("k") + packed("v");
  if (packed("out")) return "out cannot be packed: it is no part of what a product leaves";
  if (parts % 3 != 0) return "q, k and v are packed together, or none of them is";
  if (parts > 0 && problem.seq_q != problem.seq_kv)
    return "packed q, k and v have one sequence length: give q, k and v layouts of their own";
  if (parts > 0 && problem.value_dim)
    return "packed q, k and v have no value_dim: give q, k and v layouts of their own";
  for (const std::string_view tensor : {"q", "k", "v", "out"}) {
    const Layout& layout = layouts.of(tensor);
    if (layout.kind != LayoutKind::kStrides) continue;
    const std::string fault = strides_fault(sizes_of(problem, tensor), layout.strides,
                                            size_of(dtype_of(problem, tensor)));
    if (!fault.empty()) return fmt::format("{}: {}", tensor, fault);
  }
  return {};
}

/// Returns the fault of out_dtype; empty for a valid type.
std::string out_dtype_fault(const Attention& problem) {
  if (!is_fp8(problem)) {
    if (!problem.out_dtype) return {};
    return fmt::format("out_dtype is for e4m3 and e5m2; out of {} is {} itself",
                       name(problem.dtype), name(problem.dtype));
  }
  if (problem.out_dtype && size_of(*problem.out_dtype) == 2) return {};
  return fmt::format("out_dtype of {} must be f16 or bf16{}", name(problem.dtype),
                     problem.out_dtype ? fmt::format(", not {}", name(*problem.out_dtype)) : "");
}

/// Returns the fault of quant; empty for a valid value.
std::string quant_fault(const Attention& problem) {
  if (!is_fused(problem) || is_fp8(problem)) return {};
  return fmt::format("quant {} is for e4m3 and e5m2; nothing of {} is quantized",
                     name(problem.quant), name(problem.dtype));
}

/// Returns the fault of value_dim; empty for a valid one.
std::string value_dim_fault(const Attention& problem) {
  if (!problem.value_dim || !is_fp8(problem)) return {};
  return fmt::format("value_dim is for f16 and bf16; v of {} has the columns of q",
                     name(problem.dtype));
}

}  // namespace

std::string_view name(Quant quant) {
  if (quant == Quant::kSmoothK) return "smooth_k";
  return quant == Quant::kFused ? "fused" : "given";
}

Result<Quant> parse_quant(std::string_view text) {
  return parse_word<Quant>(text, kQuants, "quant");
}

FieldWord<Quant> word_of(const Quant*) { return {parse_quant, kQuants}; }

Result<Attention> parse_shape(std::string_view text, std::string_view where) {
  const std::string prefix =
      fmt::format("{}{}{}: ", where, where.empty() ? "" : " ", excerpt(text));
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() != kParts.size()) {
    return usage_error(fmt::format("{}has {} part{}, but a shape is batch,heads,seq,head_dim",
                                   prefix, parts.size(), parts.size() == 1 ? "" : "s"));
  }
  std::array<std::int64_t, kParts.size()> sizes{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Result<std::int64_t> size = parse_part(parts[i]);
    if (!size) {
      return usage_error(fmt::format("{}{} {} ({} part)", prefix, kParts[i].name,
                                     size.error().message, kParts[i].ordinal));
    }
    sizes[i] = *size;
  }
  const Attention problem{.batch = sizes[0],
                          .heads = sizes[1],
                          .kv_heads = sizes[1],
                          .seq_q = sizes[2],
                          .seq_kv = sizes[2],
                          .head_dim = sizes[3]};
  if (const Status valid = validate(problem); !valid) {
    return usage_error(prefix + valid.error().message);
  }
  return problem;
}

Status validate(const Attention& problem) {
  const std::array<std::pair<std::string_view, std::int64_t>, 7> sizes = {
      {{"batch", problem.batch},
       {"heads", problem.heads},
       {"kv_heads", problem.kv_heads},
       {"seq_q", problem.seq_q},
       {"seq_kv", problem.seq_kv},
       {"head_dim", problem.head_dim},
       {"value_dim", problem.value_columns()}}};
  for (const auto& [size_name, size] : sizes) {
    const std::string fault = size_fault(size);
    if (!fault.empty()) return usage_error(fmt::format("{} {}, but is {}", size_name, fault, size));
  }
  if (problem.heads % problem.kv_heads != 0) {
    return usage_error(fmt::format("kv_heads must divide heads, but {} does not divide {}",
                                   problem.kv_heads, problem.heads));
  }
  for (const std::string& fault :
       {out_dtype_fault(problem), quant_fault(problem), scores_fault(problem), bias_fault(problem),
        mask_fault(problem), named_tensors_fault(problem), value_dim_fault(problem)})
    if (!fault.empty()) return usage_error(fault);
  const int bytes = size_of(out_dtype(problem));
  const std::int64_t columns = std::max(problem.head_dim, problem.value_columns());
  if (!fits({problem.batch, problem.heads, problem.seq_q, columns}, bytes)) {
    return usage_error("q and out would be larger than 1 TiB each");
  }
  if (!fits({problem.batch, problem.kv_heads, problem.seq_kv, columns}, bytes)) {
    return usage_error("k and v would be larger than 1 TiB each");
  }
  const std::string fault = layout_fault(problem);
  if (!fault.empty()) return usage_error(fault);
  return {};
}

Result<std::vector<NamedSize>> parse_sizes(std::string_view text, std::string_view where) {
  std::vector<NamedSize> sizes;
  for (const std::string& part : split(text, ',')) {
    const Result<NamedSize> size = parse_size(part);
    if (!size) return usage_error(fmt::format("{} {}: {}", where, text, size.error().message));
    if (std::ranges::count(sizes, size->name, &NamedSize::name) > 0)
      return usage_error(fmt::format("{} {}: gives {} twice", where, text, size->name));
    sizes.push_back(*size);
  }
  return sizes;
}

std::string describe(const std::vector<NamedSize>& sizes) {
  std::vector<std::string> parts;
  for (const NamedSize& size : sizes) parts.push_back(fmt::format("{}={}", size.name, size.value));
  return join(parts, ",");
}

static void fields(CustomProblem& x, FieldList& f) {
  f.record("custom_problem", "Of an operation that a manifest declares");
  f("operation", x.operation).required().matching("[a-z][a-z0-9_]*", "an operation's name");
  f.keyed<&NamedSize::name, &NamedSize::value>("sizes", x.sizes)
      .required()
      .range(1, kLargestRuntimeSize)
      .about("By name");
  f("bytes_read", x.bytes_read).at_least(0).about("What any right kernel moves");
  f("bytes_written", x.bytes_written).at_least(0);
  f("flops", x.flops).at_least(0).omitted().about("What any right kernel computes");
  f("dtype", x.dtype);
  f.rule("sizes", [&x] { return name_fault(x.sizes); });
}

std::string_view operation_name(const Problem& problem) {
  return problem.custom() ? std::string_view(problem.custom()->operation) : "attention";
}

std::vector<NamedSize> named_sizes(const Problem& problem) {
  if (const CustomProblem* own = problem.custom()) return own->sizes;
  const Attention& p = problem.as_attention();
  const MaskSizes mask = mask_sizes(p);
  std::vector<NamedSize> sizes = {{"BATCH", p.batch},
                                  {"HEADS", p.heads},
                                  {"KV_HEADS", p.kv_heads},
                                  {"SEQ_Q", p.seq_q},
                                  {"SEQ_KV", p.seq_kv},
                                  {"HEAD_DIM", p.head_dim},
                                  {"VALUE_DIM", p.value_columns()},
                                  {"CAUSAL", p.mask == Mask::kCausal ? 1 : 0},
                                  {"LSE", p.lse ? 1 : 0},
                                  {"MASKED", p.mask == Mask::kNone ? 0 : 1},
                                  {"DIAGONAL", mask.diagonal},
                                  {"KEYS_BEFORE", mask.keys_before},
                                  {"KEYS_AFTER", mask.keys_after},
                                  {"PREFIX_KEYS", p.mask.prefix},
                                  {"SOFTCAPPED", p.softcap ? 1 : 0},
                                  {"BIAS", p.bias ? 1 + static_cast<int>(p.bias->type) : 0},
                                  {"BIAS_ROWS", p.bias ? p.bias->shape[2] : 0},
                                  {"BIAS_ALIGN", p.bias ? row_alignment(*p.bias, p.dtype) : 0},
                                  {"LENGTHS", static_cast<std::int64_t>(p.mask.lengths.kind)},
                                  {"DOCUMENTS", p.mask.lengths.documents()},
                                  {"ALIBI", p.alibi ? 1 : 0},
                                  {"SINK", p.sink ? 1 : 0},
                                  {"MASK_EXPR", p.mask.rule.empty() ? 0 : 1},
                                  {"SCORE_EXPR", p.score.empty() ? 0 : 1},
                                  {"TENSORS", static_cast<std::int64_t>(p.tensors.size())}};
  if (p.bias) {
    constexpr std::array kDimensions = {"BATCH", "HEAD", "ROW", "KEY"};
    for (std::size_t i = 0; i < kDimensions.size(); ++i)
      sizes.push_back({fmt::format("BIAS_{}_STRIDE", kDimensions[i]), p.bias->strides[i]});
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPrefixes = {
      {{"q", "Q"}, {"k", "K"}, {"v", "V"}, {"out", "OUT"}}};
  for (const auto& [tensor, prefix] : kPrefixes) {
    const Strides strides = strides_of(p, tensor);
    sizes.push_back({fmt::format("{}_BATCH_STRIDE", prefix), strides.batch});
    sizes.push_back({fmt::format("{}_HEAD_STRIDE", prefix), strides.head});
    sizes.push_back({fmt::format("{}_ROW_STRIDE", prefix), strides.row});
  }
  return sizes;
}

void fields(Attention& x, FieldList& f) {
  f.record("attention_problem");
  f("batch", x.batch).required().at_least(1);
  f("heads", x.heads).required().at_least(1);
  f("kv_heads", x.kv_heads).same_as(&x.heads).at_least(1);
  f("seq_q", x.seq_q).required().at_least(1);
  f("seq_kv", x.seq_kv).same_as(&x.seq_q).at_least(1);
  f("head_dim", x.head_dim).required().at_least(1);
  f("value_dim", x.value_dim).at_least(1).about("Columns of v and out, where not head_dim");
  f("dtype", x.dtype);
  f("out_dtype", x.out_dtype).about("f16 or bf16: of out, where dtype is e4m3 or e5m2");
  f("quant", x.quant)
      .absent_if(!is_fused(x))
      .about(
          "Fused: q, k and v are of out_dtype, and the kernel quantizes them; smooth_k: K without "
          "its mean over keys");
  f("mask", x.mask).about("Which keys a query sees");
  f("lse", x.lse).omitted().about("The log-sum-exp of each row is written, too");
  f("layout", x.layouts)
      .absent_if(x.layouts.plain())
      .about("bhsd, bshd, packed, or by tensor: q=BATCH:HEAD:ROW");
  f("scale", x.scale)
      .finite()
      .positive()
      .about("Of the scores before the softmax, where it is not 1/sqrt(head_dim)");
  f("softcap", x.softcap)
      .finite()
      .positive()
      .about("Scores become softcap * tanh(score / softcap)");
  f("bias", x.bias)
      .about("Added to scores: batch,heads,seq_q,seq_kv, then :f32 or :bool, @strides");
  f("alibi", x.alibi).omitted().about("Scores fall by slope * |query's position - key|");
  f("sink", x.sink).omitted().about("The softmax of each row has one more term, exp(sink)");
  f("score", x.score).omitted().about("Scores become this expression of score, b, h, q and k");
  f("tensors", x.tensors).omitted().about("Tensors that expressions read: NAME=TYPE[SIZE]:VALUES");
  f.rule("", [&x] {
    if (const Status parsed = set_score(x, x.score); !parsed) return parsed.error().message;
    x = with_value_dim(x, x.value_columns());
    x.mask = canonical(x.mask, x.seq_q, x.seq_kv);
    const Status valid = validate(x);
    return valid ? std::string() : valid.error().message;
  });
}

void fields(Problem& x, FieldList& f) {
  const bool custom = x.custom() != nullptr;
  if (f.chooses("operation", custom) != custom) x = custom ? Problem() : CustomProblem();
  x.custom() ? fields(x.as_custom(), f) : fields(x.as_attention(), f);
}

Flops flops(const Problem& problem) {
  if (const CustomProblem* own = problem.custom()) return Flops(static_cast<double>(own->flops));
  const Attention& p = problem.as_attention();
  // Computes in floating point: the product of valid sizes may exceed 64 bits.
  const double pairs = p.mask == Mask::kCausal
                           ? static_cast<double>(p.seq_q) * static_cast<double>(p.seq_kv) / 2
                           : visible_pairs(p);
  const std::int64_t columns = p.head_dim + p.value_columns();
  return Flops(2.0 * static_cast<double>(p.batch * p.heads * columns) * pairs);
}

bool counts_flops(const Problem& problem) { return flops(problem).value > 0; }

double gigabytes_per_second(const Problem& problem, Seconds time) {
  return static_cast<double>(least_bytes(problem).value) / time.value * 1e-9;
}

}  // namespace fatune
