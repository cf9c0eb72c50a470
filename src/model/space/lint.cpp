// lint.cpp: Reports suspicious parts of a kernel: unused names, idle rules, empty spaces.
#include "model/space/lint.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "model/kernel/entry.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/space/lint_texts.hpp"
#include "model/space/rules.hpp"
#include "model/space/space.hpp"

namespace fatune {
namespace {

constexpr std::array<std::string_view, 4> kArchs = {"sm_80", "sm_86", "sm_90a", "sm_120"};
constexpr std::array<std::string_view, 5> kShapes = {"4,8,512,64", "4,8,512,128", "2,8,128,64",
                                                     "1,8,4096,64", "1,8,512,256"};

std::vector<Problem> standard_problems() {
  std::vector<Problem> problems;
  for (const std::string_view shape : kShapes) {
    Result<Attention> problem = parse_shape(shape);
    FATUNE_CHECK(static_cast<bool>(problem), "the shapes above are well-formed");
    problems.push_back(*problem);
  }
  return problems;
}

/// Problems for a kernel that supports none of the standard ones: few queries, many keys.
std::vector<Problem> decoding_problems() {
  const Attention usual{
      .batch = 8, .heads = 32, .kv_heads = 8, .seq_q = 1, .seq_kv = 32768, .head_dim = 128};
  const Attention small{
      .batch = 1, .heads = 8, .kv_heads = 8, .seq_q = 1, .seq_kv = 4096, .head_dim = 64};
  Attention many = usual;
  many.batch = 1;
  many.seq_q = 16;
  Attention wide = usual;
  wide.head_dim = 256;
  return {usual, small, many, wide};
}

/// Tells whether a fixed-size `__shared__` array is declared: a declaration without `extern` on its
/// line.
bool declares_static_shared(std::string_view text) {
  static constexpr std::string_view kWord = "__shared__";
  for (std::size_t at = text.find(kWord); at != std::string_view::npos;
       at = text.find(kWord, at + 1)) {
    const std::size_t newline = text.rfind('\n', at);
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view before = text.substr(begin, at - begin);
    if (!mentions(before, "extern") && before.find("//") == std::string_view::npos) return true;
  }
  return false;
}

bool is_operand(const GemmSpec& gemm, const std::string& buffer) {
  return std::ranges::count(gemm.operands, buffer, &GemmOperandSpec::buffer) > 0;
}

/// Maps a problem, and the rule that the default config breaks there, to the affected
/// architectures.
using Lacks = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

class Linter {
 public:
  explicit Linter(const Kernel& kernel)
      : kernel_(std::make_shared<const Kernel>(kernel)),
        manifest_(kernel_->manifest),
        declared_(manifest_.operation->declared()) {}

  std::vector<LintFinding> run() {
    check_parameters();
    check_choices();
    check_terms();
    check_buffers();
    check_entries();
    if (manifest_.role == Role::kFault) return std::move(findings_);  // faulty by intent
    check_static_shared();
    check_data();
    check_early_starts();
    for (LintFinding& finding : lint_runtime_sizes(*kernel_))
      findings_.push_back(std::move(finding));
    check_spaces();
    return std::move(findings_);
  }

 private:
  void add(Severity severity, const std::string& path, std::string message) {
    findings_.push_back(
        {severity, fmt::format("{}: field '{}'", manifest_.where, path), std::move(message)});
  }
  bool text_mentions(std::string_view name) const { return mentions(*kernel_, name); }
  /// Tells whether the template uses the name, directly or through a term's macro.
  bool text_depends_on(std::string_view parameter) const {
    const auto used = [this](std::string_view name) {
      return text_mentions(name) ||
             std::ranges::any_of(manifest_.stages, [&](const StageSpec& stage) {
               return mentions(stage.entry, name);
             });
    };
    const auto defined = [&](const DefineSpec& each) {
      return mentions(expand_terms(manifest_, each.value), parameter) && text_mentions(each.name);
    };
    return used(parameter) || std::ranges::any_of(manifest_.defines, defined) ||
           std::ranges::any_of(manifest_.terms, [&](const Term& term) {
             return mentions(term.expanded, parameter) && used(term.name);
           });
  }
  /// Tells whether one of the texts depends on the name, directly or through a term.
  bool any_mentions(const std::vector<std::string>& texts, std::string_view name) const;
  void check_parameters();
  void check_choices();
  void check_terms();
  void check_buffers();
  void check_entries();
  void check_static_shared();
  void check_data();
  void check_early_starts();
  void check_spaces();
  std::vector<LintCase> cases_of(const std::vector<Problem>& problems) const;
  void check_spaces_of(const std::vector<Problem>& problems);
  void check_space(const Problem& problem, const DeviceLimits& limits);
  void count_at_edges();
  void report(const Lacks& lacks, const std::string& path, std::string_view what);
  void report_idle_constraints();

  KernelRef kernel_;
  const Manifest& manifest_;
  const DeclaredOperation* declared_;  ///< null for attention
  std::vector<LintFinding> findings_;
  std::size_t spaces_ = 0;               ///< number of spaces examined
  std::vector<std::uint64_t> excluded_;  ///< points excluded by each constraint, over all spaces
  Lacks default_fails_;                  ///< cases that exclude the default
  Lacks empty_;                          ///< cases that exclude every config
};

bool Linter::any_mentions(const std::vector<std::string>& texts, std::string_view name) const {
  return std::ranges::any_of(texts, [&](const std::string& text) {
    return mentions(expand_terms(manifest_, text), name);
  });
}

void Linter::check_terms() {
  std::vector<std::string> texts = launch_texts(manifest_);
  for (std::string& text : gemm_texts(manifest_)) texts.push_back(std::move(text));
  for (const Rule& rule : manifest_.constraints) texts.push_back(rule.require);
  for (const Parameter& parameter : manifest_.parameters) {
    for (const Rule& rule : parameter.when) texts.push_back(rule.require);
  }
  for (const ScratchSpec& scratch : manifest_.scratch) texts.push_back(scratch.bytes);
  for (const StageSpec& stage : manifest_.stages) {
    texts.push_back(stage.static_shared_bytes);
    texts.push_back(stage.when);
    texts.push_back(stage.entry);
  }
  for (const Term& term : manifest_.terms) texts.push_back(term.value);
  for (std::size_t i = 0; i < manifest_.terms.size(); ++i) {
    const std::string& term = manifest_.terms[i].name;
    const bool used =
        std::ranges::any_of(texts, [&](const std::string& text) { return mentions(text, term); });
    if (used || text_mentions(term)) continue;
    add(Severity::kWarning, fmt::format("terms[{}].name", i),
        fmt::format("no expression uses {}, nor does the template", term));
  }
}

void Linter::check_parameters() {
  const std::vector<std::string> launches = launch_texts(manifest_);
  const std::vector<std::string> products = gemm_texts(manifest_);
  for (std::size_t i = 0; i < manifest_.parameters.size(); ++i) {
    const Parameter& parameter = manifest_.parameters[i];
    const std::string path = fmt::format("parameters[{}]", i);
    if (!text_depends_on(parameter.name) && !any_mentions(products, parameter.name)) {
      const bool launched = any_mentions(launches, parameter.name);
      add(launched ? Severity::kWarning : Severity::kError, path + ".name",
          launched ? fmt::format("{} changes the launch only; {} and its headers do not mention it",
                                 parameter.name, kernel_->source.path)
                   : fmt::format("{} does nothing: {} and its headers do not mention it",
                                 parameter.name, kernel_->source.path));
    }
    if (parameter.values.size() == 1 && manifest_.role != Role::kReference) {
      add(Severity::kWarning, path + ".values",
          fmt::format("{} has a single value, so there is nothing to choose", parameter.name));
    }
  }
}

void Linter::check_choices() {
  std::vector<Problem> problems;
  if (declared_ != nullptr) {
    problems = declared_->typical_problems(manifest_.dtypes.front());
  } else {
    problems = standard_problems();
    const std::vector<Problem> decoding = decoding_problems();
    problems.insert(problems.end(), decoding.begin(), decoding.end());
    problems.push_back(Attention{.heads = 12,
                                 .kv_heads = 2,
                                 .seq_q = 512,
                                 .seq_kv = 256,
                                 .head_dim = 64,
                                 .lse = manifest_.lse});
  }
  for (LintFinding& finding : lint_choices(manifest_, cases_of(problems)))
    findings_.push_back(std::move(finding));
}

void Linter::check_buffers() {
  const auto passed = [&](const std::string& name) {
    return std::ranges::any_of(manifest_.stages, [&](const StageSpec& stage) {
      return stage.gemm ? is_operand(*stage.gemm, name)
                        : std::ranges::count(stage.arguments, name) > 0;
    });
  };
  const auto check = [&](std::string_view field, const auto& buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (passed(buffers[i].name)) continue;
      add(Severity::kError, fmt::format("{}[{}].name", field, i),
          fmt::format("no stage has {} among its arguments", buffers[i].name));
    }
  };
  check("scratch", manifest_.scratch);
  check("tensor_maps", manifest_.tensor_maps);
  if (declared_ == nullptr && !passed("out") && manifest_.role != Role::kFault)
    add(Severity::kError, "stages", "no stage has out among its arguments, so nothing is computed");
  if (declared_ == nullptr) return;
  for (const TensorSpec& tensor : declared_->tensors) {
    const bool constant =
        std::ranges::count(manifest_.constants, tensor.name, &ConstantSpec::tensor) > 0;
    if (constant || passed(tensor.name)) continue;
    add(tensor.output ? Severity::kError : Severity::kWarning, "stages",
        fmt::format("no stage has {} among its arguments{}", tensor.name,
                    tensor.output ? ", so it stays unwritten" : ""));
  }
}

void Linter::check_entries() {
  for (std::size_t i = 0; i < manifest_.stages.size(); ++i) {
    const std::string& entry = manifest_.stages[i].entry;
    const std::string_view function = function_of(entry);
    if (manifest_.stages[i].gemm || text_mentions(function.substr(function.rfind(':') + 1)))
      continue;
    add(Severity::kError, fmt::format("stages[{}].entry", i),
        fmt::format("{} and its headers have no {}", kernel_->source.path, entry));
  }
}

void Linter::check_static_shared() {
  const bool counted = std::ranges::any_of(manifest_.stages, [](const StageSpec& stage) {
    return !stage.gemm && (!stage.counts_static || stage.static_shared_bytes != "0");
  });
  if (counted || !declares_static_shared(kernel_->source.text)) return;
  add(Severity::kWarning, "stages",
      fmt::format("{} declares __shared__ arrays of fixed size, but every static_shared_bytes is 0",
                  kernel_->source.path));
}

void Linter::check_data() {
  if (declared_ == nullptr || manifest_.role != Role::kReference) return;
  for (const Problem& problem : declared_->typical_problems(manifest_.dtypes.front())) {
    const Status held = declared_->check_data(problem);
    if (held) continue;
    findings_.push_back({Severity::kError, manifest_.where,
                         held.error().message.substr(manifest_.where.size() + 2)});
    return;
  }
}

/// Checks that a stage with programmatic dependence waits for the preceding launch.
void Linter::check_early_starts() {
  for (std::size_t i = 0; i < manifest_.stages.size(); ++i) {
    const StageSpec& stage = manifest_.stages[i];
    if (stage.gemm || stage.dependent == "0" || text_mentions("griddepcontrol.wait")) continue;
    add(Severity::kError, fmt::format("stages[{}].dependent", i),
        fmt::format("{} and its headers never wait (griddepcontrol.wait) for the work in front",
                    kernel_->source.path));
  }
}

/// Examines every problem with every mask on every architecture.
std::vector<LintCase> Linter::cases_of(const std::vector<Problem>& problems) const {
  std::vector<LintCase> cases;
  for (const std::string_view arch_text : kArchs) {
    const Result<Arch> arch = parse_arch(arch_text);
    FATUNE_CHECK(static_cast<bool>(arch), "the architectures above are well-formed");
    const Result<DeviceLimits> limits = typical_limits(*arch);
    FATUNE_CHECK(static_cast<bool>(limits), "typical devices of the architectures above are known");
    for (const Problem& problem : problems) {
      if (problem.custom()) cases.push_back({problem, *limits});
      for (const MaskKind mask : manifest_.masks) {  // attention's
        Attention p = problem.as_attention();
        p.dtype = manifest_.dtypes.front();
        p.quant = usual_quant(manifest_);
        if (mask == MaskKind::kDocument) p.batch = 1;
        p.mask = narrowed(example_of(mask), p.batch, p.seq_q, p.seq_kv);
        if (kinds_of(p.mask).back() == mask && mask_fault(p).empty()) cases.push_back({p, *limits});
      }
    }
  }
  return cases;
}

void Linter::check_spaces_of(const std::vector<Problem>& problems) {
  for (const LintCase& each : cases_of(problems)) check_space(each.problem, each.limits);
}

void Linter::check_spaces() {
  excluded_.assign(manifest_.constraints.size(), 0);
  if (declared_ != nullptr) {
    check_spaces_of(declared_->typical_problems(manifest_.dtypes.front()));
  } else {
    check_spaces_of(standard_problems());
    if (spaces_ == 0) check_spaces_of(decoding_problems());
  }
  if (spaces_ == 0) {
    add(Severity::kWarning, "supports",
        fmt::format("no {} problem is supported, so no space was examined",
                    declared_ != nullptr ? "typical" : "standard"));
    return;
  }
  report(default_fails_, "parameters", "the default config is ruled out");
  report(empty_, "constraints", "no config is left");
  if (declared_ != nullptr) count_at_edges();
  report_idle_constraints();
}

/// A rule may exist for the edge problems alone.
void Linter::count_at_edges() {
  const DeviceLimits limits = *typical_limits(Arch{90, 'a'});
  for (const std::vector<NamedSize>& sizes : declared_->edges) {
    const Problem edge = *declared_->problem(sizes, manifest_.dtypes.front());
    const auto space = Space::build(kernel_, edge, limits);
    for (std::size_t i = 0; space && i < excluded_.size(); ++i)
      excluded_[i] += space->ruled_out()[i].points;
  }
}

void Linter::report(const Lacks& lacks, const std::string& path, std::string_view what) {
  std::size_t spaces = 0;
  for (const auto& [where, archs] : lacks) spaces += archs.size();
  for (const auto& [where, archs] : lacks) {
    add(spaces == spaces_ ? Severity::kError : Severity::kWarning, path,
        fmt::format("{} for {} on {}; the default: {}", what, where.first, fmt::join(archs, ", "),
                    where.second));
  }
}

void Linter::check_space(const Problem& problem, const DeviceLimits& limits) {
  const std::string place = fmt::format("{} on {}", describe(problem), name(limits.arch));
  const Result<std::string> unsupported = unsupported_reason(manifest_, problem, limits);
  if (unsupported && !unsupported->empty()) return;
  const Result<Space> space = Space::build(kernel_, problem, limits);
  if (!space) {
    findings_.push_back(
        {Severity::kError, manifest_.where,
         fmt::format("the space of {} cannot be built: {}", place, space.error().message)});
    return;
  }
  ++spaces_;
  for (std::size_t i = 0; i < manifest_.constraints.size(); ++i) {
    const RuledOut& rule = space->ruled_out()[i];
    excluded_[i] += rule.points;
    if (rule.points < space->raw_size()) continue;
    add(Severity::kError, fmt::format("constraints[{}].require", i),
        fmt::format("{} excludes every config for {}", rule.rule, place));
  }
  if (space->default_point()) return;
  const auto broken = infeasible_reason({kernel_, default_config(manifest_), problem}, limits);
  const std::string reason = broken ? *broken : broken.error().message;
  (space->size() == 0 ? empty_ : default_fails_)[{describe(problem), reason}].push_back(
      name(limits.arch));
}

void Linter::report_idle_constraints() {
  for (std::size_t i = 0; i < excluded_.size(); ++i) {
    if (excluded_[i] > 0) continue;
    add(Severity::kWarning, fmt::format("constraints[{}].require", i),
        fmt::format("{} excludes nothing that other rules leave, for any {} problem",
                    manifest_.constraints[i].require,
                    declared_ != nullptr ? "typical or edge" : "standard"));
  }
}

}  // namespace

std::string_view name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

std::vector<LintFinding> lint(const Kernel& kernel) { return Linter(kernel).run(); }

}  // namespace fatune
