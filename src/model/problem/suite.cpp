// suite.cpp: Parses a problem file to a checked list of problems.
#include "model/problem/suite.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace fatune {
namespace {

constexpr std::string_view kSuiteSchema = "fatune.problems/1";

Result<NamedProblem> parse_entry(const Fields& entry) {
  FATUNE_TRY_STATUS(entry.only({"name", "shape", "kv_heads", "seq_kv", "dtype", "out_dtype",
                                "quant", "causal", "lse", "layout", "scale", "source"}));
  FATUNE_TRY_STATUS(entry.text_or("source", ""));  // for people who read the file
  NamedProblem named;
  FATUNE_TRY(named.name, entry.text("name"));
  if (named.name.empty()) return entry.error("name", "must not be empty");
  FATUNE_TRY(named.problem, parse_problem(entry));
  return named;
}

Status check_is_new(const Fields& entry, const NamedProblem& named,
                    const std::vector<NamedProblem>& before) {
  for (const NamedProblem& other : before) {
    if (other.name == named.name) {
      return entry.error("name", fmt::format("'{}' is used twice", named.name));
    }
    if (other.problem == named.problem) {
      return entry.error("shape", fmt::format("is the same problem as '{}'", other.name));
    }
  }
  return {};
}

}  // namespace

Result<Problem> parse_problem(const Fields& entry) {
  FATUNE_TRY(const std::string shape, entry.text("shape"));
  Result<Problem> parsed = parse_shape(shape, "");
  if (!parsed) return entry.error("shape", parsed.error().message);
  Problem problem = *parsed;
  FATUNE_TRY(problem.kv_heads, entry.integer_or("kv_heads", problem.kv_heads));
  FATUNE_TRY(problem.seq_kv, entry.integer_or("seq_kv", problem.seq_kv));
  FATUNE_TRY(const std::string dtype_text, entry.text_or("dtype", "f16"));
  const Result<Dtype> dtype = parse_dtype(dtype_text);
  if (!dtype) return entry.error("dtype", "is wrong: " + dtype.error().message);
  problem.dtype = *dtype;
  problem.out_dtype = default_out_dtype(*dtype);
  if (entry.has("out_dtype")) {
    FATUNE_TRY(const std::string out_text, entry.text("out_dtype"));
    const Result<Dtype> out = parse_dtype(out_text);
    if (!out) return entry.error("out_dtype", "is wrong: " + out.error().message);
    problem.out_dtype = *out;
  }
  FATUNE_TRY(const std::string quant_text, entry.text_or("quant", "given"));
  const Result<Quant> quant = parse_quant(quant_text);
  if (!quant) return entry.error("quant", "is wrong: " + quant.error().message);
  problem.quant = *quant;
  FATUNE_TRY(const bool causal, entry.boolean_or("causal", false));
  problem.mask = causal ? Mask::kCausal : Mask::kNone;
  FATUNE_TRY(problem.lse, entry.boolean_or("lse", false));
  FATUNE_TRY(const std::string layout_text, entry.text_or("layout", "bhsd"));
  const Result<Layouts> layouts = parse_layouts(layout_text);
  if (!layouts) return entry.error("layout", "is wrong: " + layouts.error().message);
  problem.layouts = *layouts;
  if (entry.has("scale")) {
    FATUNE_TRY(const double scale, entry.number("scale"));
    problem = with_scale(std::move(problem), scale);
  }
  if (const Status valid = validate(problem); !valid) {
    return file_error(entry.where() + ": " + valid.error().message);
  }
  return problem;
}

void fields(NamedProblem& x, FieldList& f) {
  f("name", x.name).required();
  f("problem", x.problem).required();
}

Result<Suite> parse_suite(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_json(text, where));
  const Fields fields(document, where);
  FATUNE_TRY(const std::string schema, fields.text("schema"));
  if (schema != kSuiteSchema) {
    return fields.error("schema",
                        fmt::format("is '{}'; this version reads '{}'", schema, kSuiteSchema));
  }
  FATUNE_TRY_STATUS(fields.only({"schema", "name", "summary", "problems", "capture"}));
  Suite suite;
  FATUNE_TRY(suite.name, fields.text("name"));
  FATUNE_TRY(suite.summary, fields.text_or("summary", ""));
  FATUNE_TRY(const std::vector<Fields> entries, fields.objects_or_empty("problems"));
  if (entries.empty()) return fields.error("problems", "must list at least one problem");
  for (const Fields& entry : entries) {
    FATUNE_TRY(NamedProblem named, parse_entry(entry));
    FATUNE_TRY_STATUS(check_is_new(entry, named, suite.problems));
    suite.problems.push_back(std::move(named));
  }
  return suite;
}

std::string label(const NamedProblem& named) {
  return (named.name.empty() ? "" : named.name + " ") + describe(named.problem);
}

std::string slug(const Problem& p) {
  if (p.custom) {
    std::string text = p.custom->operation;
    for (const NamedSize& size : p.custom->sizes) {
      text += "-";
      for (const char c : size.name) text += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      text += fmt::format("{}", size.value);
    }
    return fmt::format("{}-{}", text, name(p.dtype));
  }
  std::string text = fmt::format("{}-{}-{}-{}", p.batch, p.heads, p.seq_q, p.head_dim);
  if (p.kv_heads != p.heads) text += fmt::format("-kv{}", p.kv_heads);
  if (p.seq_kv != p.seq_q) text += fmt::format("-keys{}", p.seq_kv);
  text += fmt::format("-{}", name(p.dtype));
  if (p.out_dtype) text += fmt::format("-{}", name(*p.out_dtype));
  if (is_fused(p)) text += fmt::format("-{}", name(p.quant));
  if (p.mask == Mask::kCausal) text += "-causal";
  if (p.lse) text += "-lse";
  if (p.scale) text += fmt::format("-scale{}", *p.scale);
  return p.layouts.plain() ? text : text + "-" + slug(p.layouts);
}

}  // namespace fatune
