// problem_book.cpp: States a problem in words and numbers, without inputs or seeds.
#include "judge/referee/problem_book.hpp"

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/kernel/gate_table.hpp"
#include "model/kernel/kernel.hpp"
#include "model/problem/tensor.hpp"
#include "model/problem/tolerance_rules.hpp"

namespace fatune {
namespace {

std::string statement_of(const Attention& problem) {
  std::string text = fmt::format(
      "out = softmax({}) v for each of {} x {} heads; q and out have {} rows, "
      "k and v have {}, all of {} columns{}.",
      problem.scale ? fmt::format("{} q k^T", *problem.scale)
                    : fmt::format("q k^T / sqrt({})", problem.head_dim),
      problem.batch, problem.heads, problem.seq_q, problem.seq_kv, problem.head_dim,
      has_descales(problem) ? "" : fmt::format(" of {}", name(dtype_of(problem, "q"))));
  if (problem.value_dim) text += fmt::format(" But v and out have {} columns.", *problem.value_dim);
  if (problem.kv_heads != problem.heads) {
    text += fmt::format(" {} heads of q share one of the {} heads of k and v.",
                        problem.heads / problem.kv_heads, problem.kv_heads);
  }
  if (const auto cap = problem.softcap)
    text += fmt::format(" A score s, which has its scale, becomes {0} tanh(s / {0}).", *cap);
  if (problem.bias)
    text +=
        fmt::format(" bias, {}, is added to scores, which have their scale.", name(*problem.bias));
  if (problem.alibi)
    text += " Then scores of head h fall by alibi[h] " + distance_rule(problem) + ".";
  if (!problem.score.empty())
    text += fmt::format(
        " Then a score becomes {} with q = i, k = j, b and h of batch and head, in C syntax.",
        problem.score);
  for (const NamedTensor& each : problem.tensors)
    text += fmt::format(" The tensor {} is the input {}.", each.name, argument_of(each));
  if (problem.sink)
    text += " The softmax of head h has one more term, exp(sink[h]), without a value.";
  if (problem.mask != Mask::kNone) {
    text +=
        fmt::format(" Row i sees key j when {}; a row that sees none is 0.", mask_rule(problem));
  }
  if (has_descales(problem)) {
    text += fmt::format(
        " q, k and v are elements of {} times q_descale, k_descale and v_descale, one fp32 number "
        "for each head of k and v and the heads of q that read it; out is of {}.",
        name(problem.dtype), name(out_dtype(problem)));
  }
  if (is_fused(problem)) {
    text += fmt::format(
        " The kernel may quantize q, k and v to {}, with a factor for each head of k and v and the "
        "heads of q that read it; a head of zeros is right, and one that is not finite gives NaN.",
        name(problem.dtype));
  }
  if (smooths_k(problem))
    text += " The keys of a head share an offset: their mean must be taken out of k before.";
  if (problem.lse) text += " lse is the log-sum-exp of each row's scaled scores, in fp32.";
  return text;
}

std::vector<StatedTensor> tensors_of(const Attention& problem) {
  std::vector<StatedTensor> tensors;
  for (const TensorPlan& plan : attention_plan(problem).tensors) {
    tensors.push_back({plan.name, plan.output ? "output" : "input", std::string(plan.type_word()),
                       plan.shape, plan.strides});
  }
  return tensors;
}

/// Returns the simplest shipped kernel that supports most problems of this element type.
Result<ExampleKernel> example_kernel(const Attention& problem) {
  const std::string stem = is_fp8(problem) ? "naive/naive" : "fa_rows/fa_rows";
  FATUNE_TRY(const SourceFile source, embedded_source(stem + ".cu"));
  FATUNE_TRY(const SourceFile manifest, embedded_source(stem + ".json"));
  return ExampleKernel{source.text, manifest.text};
}

std::vector<StatedMacro> macros_of(const Attention& problem) {
  std::vector<StatedMacro> macros;
  for (const NamedSize& size : named_sizes(problem)) macros.push_back({size.name, size.value});
  macros.push_back({"DTYPE", static_cast<std::int64_t>(problem.dtype)});
  macros.push_back({"DTYPE_BYTES", size_of(problem.dtype)});
  if (is_fp8(problem))
    macros.push_back({"OUT_DTYPE", static_cast<std::int64_t>(out_dtype(problem))});
  return macros;
}

}  // namespace

Result<std::vector<BookedProblem>> ProblemBook::list(const ListProblems& wanted) const {
  std::vector<BookedProblem> list;
  bool behind = !wanted.after;
  if (!behind) FATUNE_TRY_STATUS(find(*wanted.after));
  const std::string filter = lower(wanted.filter.value_or(""));
  for (const BookedProblem& each : problems_) {
    const std::string text = lower(each.id + " " + describe(each.named.problem));
    if (behind && text.find(filter) != std::string::npos) list.push_back(each);
    behind = behind || each.id == *wanted.after;
  }
  return list;
}

Result<BookedProblem> ProblemBook::find(const std::string& id) const {
  std::vector<std::string> ids;
  for (const BookedProblem& each : problems_) {
    if (each.id == id) return each;
    ids.push_back(each.id);
  }
  return usage_error(fmt::format(
      "there is no problem '{}'{}", excerpt(id),
      nearest_hint(id, ids, "; did you mean {}?", "; list_problems says which there are")));
}

Result<ProblemStatement> ProblemBook::state(const GetProblem& wanted) const {
  ProblemStatement stated;
  FATUNE_TRY(stated.problem, find(wanted.id));
  const Attention& problem = stated.problem.named.problem.as_attention();
  stated.statement = statement_of(problem);
  stated.tensors = tensors_of(problem);
  stated.macros = macros_of(problem);
  stated.reference =
      "the same formula in fp32 on the same rounded inputs; the low-precision reference, which "
      "rounds "
      "S, P and out as a fused kernel may, says what rounding may cost";
  for (const ToleranceRule& rule : tolerance_rules()) {
    if (rule.name == "lse" && !problem.lse) continue;
    if (rule.name == "not_finite" && !is_fused(problem)) continue;
    const bool of_given = rule.name == "method" || rule.name == "max_of_rounding";
    if (of_given && !has_descales(problem)) continue;
    stated.tolerance.push_back(
        {std::string(rule.name), std::string(rule.statement), std::string(rule.why)});
  }
  for (const GateText& gate : gate_table())
    stated.gates.push_back(
        {std::string(gate.name), std::string(gate.statement), std::string(gate.why)});
  FATUNE_TRY(stated.example, example_kernel(problem));
  return stated;
}

std::vector<BookedProblem> book(const std::string& suite,
                                const std::vector<NamedProblem>& problems) {
  std::vector<BookedProblem> booked;
  for (const NamedProblem& named : problems) {
    const std::string own = named.name.empty() ? slug(named.problem) : named.name;
    booked.push_back({suite.empty() ? own : suite + "/" + own, suite, named});
  }
  return booked;
}

/// More is no whole number in 64 bits.
static constexpr double kMostOperations = 9.2e18;

void fields(BookedProblem& x, FieldList& f) {
  f.record("booked_problem", "A problem that kernels can be submitted for");
  f("id", x.id).required().about("Of this problem in every tool");
  f("suite", x.suite).omitted();
  f("name", x.named.name).omitted();
  f.derived("label", describe(x.named.problem)).about("For people");
  f("problem", x.named.problem);
  const double work = flops(x.named.problem).value;
  const bool counted = work < kMostOperations;
  f.derived("flops", counted ? std::optional(static_cast<std::int64_t>(work)) : std::nullopt)
      .about("Operations that any right kernel does");
  f.derived("least_bytes", static_cast<std::int64_t>(least_bytes(x.named.problem).value))
      .about("Inputs read once, outputs written once");
}

void fields(ListProblems& x, FieldList& f) {
  f("filter", x.filter).about("A part of an id or label, say causal; none: all problems");
  f("first", x.first).range(1, 1000).about("At most so many [50]");
  f("after", x.after).about("The id in 'next' of the page before");
  f.by_hand();
}

void fields(GetProblem& x, FieldList& f) {
  f("id", x.id).required().filled().about("As list_problems has it");
  f.by_hand();
}

void fields(StatedTensor& x, FieldList& f) {
  f.record("stated_tensor", "Memory that a kernel's arguments point to");
  f("name", x.name).required();
  f("role", x.role).one_of("input, output");
  f("type", x.type);
  f("shape", x.shape).about("The last dimension is the fastest");
  f("strides", x.strides).omitted().about("In elements; absent: contiguous");
}

void fields(StatedRule& x, FieldList& f) {
  f.record("stated_rule");
  f("name", x.name).required();
  f("statement", x.statement);
  f("why", x.why);
}

void fields(StatedMacro& x, FieldList& f) {
  f.record("stated_macro");
  f("name", x.name).required();
  f("value", x.value);
}

void fields(ExampleKernel& x, FieldList& f) {
  f.record("example_kernel", "As submit_kernel takes it");
  f("source", x.source);
  f.packed("manifest", x.manifest).object();
}

void fields(ProblemStatement& x, FieldList& f) {
  f("problem", x.problem).required();
  f("statement", x.statement).about("What is computed");
  f("tensors", x.tensors).about("By these names a manifest's launches take them as arguments");
  f("macros", x.macros).about("Constants that a template is compiled with");
  f("reference", x.reference).about("What outputs are compared with");
  f("tolerance", x.tolerance).about("The rules of the gate 'accuracy'");
  f("gates", x.gates).about("In their order; the first that fails decides");
  f("example", x.example).about("A plain kernel of fatune's: how source and manifest are written");
}

}  // namespace fatune
