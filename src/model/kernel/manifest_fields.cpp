// manifest_fields.cpp: Lists the members of a manifest, from which its reader and schema follow.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "model/kernel/gate_table.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/problem/suite.hpp"

namespace fatune {
namespace {

constexpr std::array kRoles = {Role::kAttention, Role::kReference, Role::kBaseline, Role::kFault};
const std::array<std::string, 4> kRoleNames = {"attention", "reference", "baseline",
                                               "fault"};  // indexed by Role
constexpr std::size_t kRank = 4;
constexpr std::int64_t kLargestNumber = std::int64_t{1} << 53;  // exact in expressions
constexpr const char* kValueSchema =
    R"({"anyOf":[{"type":"integer"},{"type":"boolean"},{"type":"string"}]})";
constexpr const char* kOperationConditions = R"({
  "if": {"not": {"required": ["operation"]}},
  "then": {"properties": {"supports": {"required": ["dtypes", "masks"]}},
           "required": ["supports"]},
  "else": {"properties": {
             "role": {"enum": ["reference", "baseline"]},
             "supports": {"not": {"anyOf": [{"required": ["masks"]}, {"required": ["lse"]},
                                            {"required": ["value_dim"]},
                                            {"required": ["quant"]}]}}},
           "not": {"required": ["tensor_maps"]}}})";

Result<Role> parse_role(std::string_view text) { return parse_word<Role>(text, kRoles); }

/// A value of a fixture's parameter.
struct FaultValue : Fault {
  std::string value, meaning;
};

void fields(FaultValue& x, FieldList& f) {
  f.record("fault", "A value of a fixture's parameter, and its expected fault");
  f.by_hand();
  f("value", x.value).required();
  f("meaning", x.meaning).required().filled();
  // model/results/outcome.hpp has all outcomes.
  f("outcome", x.outcome)
      .required()
      .one_of("infeasible, compile_error, launch_error, wrong_result, timeout, crashed, measured");
  f("gate", x.gate).required().one_of(gate_names());
  f.as<suite_fields>("problem", x.problem).about("The self-test's problem; absent: a small one");
  f("when", x.when.require).about("An expression: where the fault shows");
  f("persisting_window", x.persisting_window).one_of("q, k, v");
}

/// Converts a JSON scalar to a value; `position` is the number of a word. Empty for a type that is
/// not allowed.
std::optional<Value> value_from(const Json& json, std::size_t position) {
  Value value;
  if (json.is_boolean()) {
    value.kind = Value::Kind::kBoolean;
    value.number = json.get<bool>() ? 1 : 0;
  } else if (json.is_string()) {
    value.kind = Value::Kind::kWord;
    value.word = json.get<std::string>();
    value.number = static_cast<std::int64_t>(position);
    if (!matches(value.word, "[A-Za-z0-9_-]+")) return std::nullopt;
  } else if (json.is_number_integer()) {
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    value.number = json.get<std::int64_t>();
    if (value.number > kLargestNumber || value.number < -kLargestNumber) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return value;
}

/// Returns why the value cannot follow `values`; empty if it can.
std::string value_fault(const std::optional<Value>& value, const Json& json,
                        const std::vector<Value>& values) {
  if (!value) {
    return fmt::format(
        "is {}, which is neither a whole number, a word (letters, digits, _ and -) "
        "nor true or false",
        dump(json));
  }
  if (!values.empty() && value->kind != values.front().kind) {
    return fmt::format("is {}, which is not of the kind of {}", dump(json),
                       describe(values.front()));
  }
  const auto same = [&](const Value& other) { return describe(other) == describe(*value); };
  return std::ranges::any_of(values, same) ? "repeats " + describe(*value) : "";
}

/// Reads plain values, or those of a fixture with their faults.
Status read_values(Parameter& x, const Json& json, const FieldPlace& place) {
  if (!json.is_array() || json.empty() || json.size() > kMostValues)
    return place.error(fmt::format("must be a list of 1 to {} values", kMostValues));
  std::vector<FaultValue> faults;
  if (json.front().is_object())
    FATUNE_TRY_STATUS(field_type<std::vector<FaultValue>>().read(&faults, json, place, {}));
  for (std::size_t i = 0; i < json.size(); ++i) {
    const FieldPlace here(place, i);
    const Json plain = faults.empty() ? json[i] : Json(faults[i].value);
    auto value = value_from(plain, i);
    const std::string fault = value_fault(value, plain, x.values);
    if (!fault.empty()) return here.error(fault);
    x.values.push_back(*std::move(value));
    if (faults.empty()) continue;
    faults[i].when.where = FieldPlace(here, "when").text();
    x.faults.push_back(std::move(faults[i]));
  }
  x.ordinal = x.values.front().kind == Value::Kind::kNumber;
  return {};
}

Status read_when(Parameter& x, const Json& json, const FieldPlace& place) {
  if (!json.is_string()) {
    FATUNE_TRY_STATUS(field_type<std::vector<Rule>>().read(&x.when, json, place, {}));
    place_rules(x.when, place.text());
    return {};
  }
  Rule& rule = x.when.emplace_back();
  rule.require = json.get<std::string>();
  rule.why = "elsewhere the parameter is no choice";
  rule.where = place.text();
  rule.prunes = true;
  return {};
}

/// Reads one of the parameter's values, which are read before.
Status read_position(const Parameter& x, const Json& json, const FieldPlace& place,
                     std::size_t& position) {
  if (x.values.empty()) return {};  // "values is missing" is told
  const auto found = position_of(json, x);
  if (!found) return place.error(not_a_value(json, x));
  position = *found;
  return {};
}

Status read_default(Parameter& x, const Json& json, const FieldPlace& place) {
  FATUNE_TRY_STATUS(read_position(x, json, place, x.default_position));
  x.otherwise_position = x.default_position;
  return {};
}

Status read_otherwise(Parameter& x, const Json& json, const FieldPlace& place) {
  if (x.when.empty()) return place.error("is for a parameter with 'when'");
  return read_position(x, json, place, x.otherwise_position);
}

Status read_swizzle(TensorMapSpec& x, const Json& json, const FieldPlace& place) {
  if (json.is_string()) {
    x.swizzle = json.get<std::string>();
    return {};
  }
  x.swizzle = dump(json);
  if (json.is_number_integer() && is_swizzle(json.get<std::int64_t>())) return {};
  return place.error(
      fmt::format("is {}, which is not one of 0, 32, 64, 128 or an expression", x.swizzle));
}

/// Only the type: set_operation() reads the rest.
Status read_operation(Manifest&, const Json& json, const FieldPlace& place) {
  return json.is_string() || json.is_object() ? Status()
                                              : place.error(wrong_type("a string", json));
}

/// Returns "[1] repeats f16"; empty if all differ.
template <typename T>
std::string repeat_fault(const std::vector<T>& values) {
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (std::ranges::count(values.begin(), values.begin() + std::ptrdiff_t(i), values[i]) > 0)
      return fmt::format("[{}] repeats {}", i, name(values[i]));
  }
  return {};
}

std::string arch_fault(const Manifest& x) {
  for (std::size_t i = 0; i < x.only_archs.size(); ++i) {
    if (x.only_archs[i].number < x.min_arch)
      return fmt::format("[{}] is {}, which is below 'min', {}", i, name(x.only_archs[i]),
                         x.min_arch);
  }
  return {};
}

}  // namespace

std::string_view name(Role role) { return kRoleNames.at(static_cast<std::size_t>(role)); }
FieldWord<Role> word_of(const Role*) { return {parse_role, kRoles}; }

static void fields(Rule& x, FieldList& f) {
  f.record("rule");
  f.by_hand();
  f("require", x.require).required().about("An expression; 0: the config is ruled out");
  f("why", x.why).filled();
  f("prunes", x.prunes).about("Such configs are correct, but pointless");
}

static void fields(Parameter& x, FieldList& f) {
  f.by_hand();
  f("name", x.name).required().matching(kTemplateName, kTemplateNoun);
  f.read_by("values", x, read_values)
      .required()
      .refers_to<FaultValue>()
      .schema(R"({"type":"array","minItems":1,"items":{"anyOf":[
                  {"type":"integer"},{"type":"boolean"},{"type":"string"},
                  {"$ref":"#/$defs/fault"}]}})");
  f.read_by("default", x, read_default).required().schema(kValueSchema);
  f("meaning", x.meaning).filled();
  f.read_by("when", x, read_when)
      .refers_to<Rule>()
      .schema(R"({"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/rule"}}]})")
      .about("Where the parameter is a choice; an expression is short for one rule that prunes");
  f.read_by("otherwise", x, read_otherwise)
      .schema(kValueSchema)
      .about("The parameter's value elsewhere; absent: the default");
}

static void fields(Term& x, FieldList& f) {
  f.by_hand();
  f("name", x.name).required().matching(kTemplateName, kTemplateNoun);
  f("value", x.value).required().about("An expression");
  f("meaning", x.meaning).filled();
}

static void fields(ScratchSpec& x, FieldList& f) {
  f.by_hand();
  f("name", x.name).required().matching(kTemplateName, kTemplateNoun);
  f("bytes", x.bytes).required().about("An expression");
}

static void fields(TensorMapSpec& x, FieldList& f) {
  f.by_hand();
  f("name", x.name).required().matching(kTemplateName, kTemplateNoun);
  f("tensor", x.tensor).required().about("q, k, v, out or a scratch's name");
  f("sizes", x.sizes).items(kRank).about("Of a scratch only: expressions, fastest dimension first");
  f("box", x.box).required().items(kRank).about("Expressions, fastest dimension first");
  f.read_by("swizzle", x, read_swizzle)
      .schema(R"({"anyOf":[{"type":"integer","enum":[0,32,64,128]},{"type":"string"}]})")
      .about("Bytes, or an expression");
}

static void fields(StageSpec& x, FieldList& f) {
  f.by_hand();
  if (f.chooses("gemm", x.gemm)) {
    f("gemm", *x.gemm).required();
    return;
  }
  f("when", x.when).about("An expression; 0 leaves the stage out");
  f("entry", x.entry)
      .required()
      .matching("[A-Za-z_][A-Za-z0-9_:]*(<[A-Za-z0-9_:<>, ]*>)?", "a function's name")
      .about("A __global__ function; of a template with its arguments: reduce<BLOCK, float>");
  f("grid", x.grid).required().items(kLaunchDimensions).about("Expressions");
  f("block", x.block).required().items(kLaunchDimensions).about("Expressions");
  f("arguments", x.arguments)
      .required()
      .filled()
      .about(
          "Tensors, such as q, k, v and out, names of scratch and tensor maps, values: i32 ROWS / "
          "2");
  f("cluster", x.cluster).items(kLaunchDimensions).about("Expressions");
  f("shared_bytes", x.shared_bytes).about("Dynamic shared memory: an expression");
  f("static_shared_bytes", x.static_shared_bytes)
      .about("An expression; absent: 0, or what the compiler says if the operation is declared");
  f("dependent", x.dependent).about("An expression; 1: programmatic dependent launch");
}

/// Returns why an option is none that a manifest may have; empty if all are. Include folders are
/// not allowed, because every included file belongs to the kernel's identity.
static std::string option_fault(const std::vector<std::string>& options) {
  constexpr const char* kAllowed =
      "--?(use_fast_math|extra-device-vectorization|lineinfo|generate-line-info|restrict|"
      "(ftz|prec-div|prec-sqrt|fmad)=(true|false)|std=c[+][+][0-9]+|maxrregcount=[0-9]+|"
      "define-macro=.+)|-D ?[A-Za-z_].*";
  for (const std::string& option : options) {
    if (!matches(option, kAllowed))
      return fmt::format(
          "has '{}', which is none of --use_fast_math, --std=c++20, --fmad=false, --ftz=true, "
          "--prec-div=false, --prec-sqrt=false, --maxrregcount=64, --extra-device-vectorization, "
          "--lineinfo, --restrict and -DNAME=VALUE",
          option);
  }
  return "";
}

void fields(Manifest& x, FieldList& f) {
  f.document("fatune.kernel");
  f.by_hand();
  f.conditions(kOperationConditions);
  f("name", x.name).required().matching(kIdentifier, kIdentifierNoun);
  f("summary", x.summary).filled();
  f("source", x.source).required().filled().about("The template, beside the manifest");
  f.group("supports", [&x](FieldList& g) {
    g.by_hand();
    g("dtypes", x.dtypes).filled().about("Left out where no tensor has the type io");
    g("masks", x.masks).filled();
    g("scores", x.scores).about("What the kernel can do to scores before their mask");
    g("lse", x.lse).about("The kernel can write the log-sum-exp");
    g("value_dim", x.value_dim).about("v and out may have VALUE_DIM columns, not HEAD_DIM");
    g("quant", x.quant)
        .one_of("given, fused, either")
        .about("fp8 only. given: inputs are fp8. fused: the kernel quantizes 16-bit inputs");
    g("rules", x.problem_rules);
    g.rule_within("dtypes", [&x] { return repeat_fault(x.dtypes); });
    g.rule_within("masks", [&x] { return repeat_fault(x.masks); });
  });
  f("stages", x.stages).required().filled();
  f("role", x.role);
  f("tuned_by_default", x.tuned_by_default);
  f("needs_toolkit_headers", x.needs_toolkit_headers);
  f("compiler_options", x.compiler_options)
      .about("Options of NVRTC that change the machine code, such as --use_fast_math");
  f.read_by("operation", x, read_operation)
      .refers_to<DeclaredOperation>()
      .schema(R"({"anyOf":[{"type":"string","pattern":"^[a-z][a-z0-9_]*$"},
                           {"$ref":"#/$defs/operation"}]})")
      .about(
          "A name: the operation that this kernel computes; an object, in the reference: declares "
          "the operation (docs/own_kernel.md)");
  f.group("arch", [&x](FieldList& g) {
    g.by_hand();
    g("min", x.min_arch).range(50, 999).about("A compute capability such as 80");
    g("only", x.only_archs).filled();
    g.rule_within("only", [&x] { return arch_fault(x); });
  });
  f("parameters", x.parameters);
  f("terms", x.terms);
  f("constraints", x.constraints);
  f("scratch", x.scratch);
  f("tensor_maps", x.tensor_maps);
  f.keyed<&ConstantSpec::symbol, &ConstantSpec::tensor>("constants", x.constants)
      .about("__constant__ variables by name: the input of an operation that fills each");
  f.keyed<&DefineSpec::name, &DefineSpec::value>("defines", x.defines)
      .about(
          "Macros in place of those of parameters: a parameter's name for its value or word, or an "
          "expression");
  f.rule("compiler_options", [&x] { return option_fault(x.compiler_options); });
  f.rule("tuned_by_default", [&x]() -> std::string {
    const bool tuned = x.tuned_by_default && x.role == Role::kBaseline;
    return tuned ? "is true, but a baseline is no candidate of sweeps" : "";
  });
}

}  // namespace fatune
