// operation_parse.cpp: Reads a manifest's 'operation', declared or named.
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/kernel/operation.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

constexpr std::size_t kMostDimensions = 8;  // chosen: beyond any kernel's number
bool is_drawn(const TensorSpec& tensor) {
  return tensor.fill == "normal" || tensor.fill == "uniform";
}

constexpr std::int64_t kLargestWhole = std::int64_t{1} << 53;  // doubles hold it exactly
/// Chosen: sums of a million such elements fit into 32 bits.
constexpr std::int64_t kUsualWhole = 1000;

/// Returns the facts of an integer type or bool; null for other types.
const PlainFacts* whole_type(const TensorSpec& x) {
  const auto type = plain_type_named(x.type);
  return type && plain_facts(*type).whole ? &plain_facts(*type) : nullptr;
}

std::string fill_fault(const TensorSpec& x) {
  if (x.output && x.fill && !plain_type_named(x.type))
    return "is for inputs and plain types; references write such an output as float";
  if (x.fill == "normal" && whole_type(x) != nullptr)
    return fmt::format("is normal, but elements of {} are uniform, zeros, constant or file",
                       x.type);
  return x.fill || x.output ? "" : "is missing";
}

/// Returns the declared range of uniform integers, or the type's default.
Fill whole_fill(const TensorSpec& x, const PlainFacts& type) {
  const auto least = static_cast<std::int64_t>(type.least);
  const auto most = static_cast<std::int64_t>(type.most);
  const bool small = type.bytes <= 2;
  const std::int64_t from = x.from.value_or(small ? least : std::max(least, -kUsualWhole));
  const std::int64_t to = x.to.value_or(std::max(from, small ? most : kUsualWhole));
  return {Fill::Kind::kWhole, static_cast<double>(to - from), static_cast<double>(from)};
}

std::string bound_fault(const TensorSpec& x, const std::optional<std::int64_t>& bound) {
  if (!bound) return {};
  const PlainFacts* const type = whole_type(x);
  if (type == nullptr || x.fill != "uniform") return "is for integers that are filled with uniform";
  return value_fault(*type, static_cast<double>(*bound));
}

std::string to_fault(const TensorSpec& x) {
  if (x.from && x.to && *x.to < *x.from)
    return fmt::format("is {}, which is below 'from', {}", *x.to, *x.from);
  return bound_fault(x, x.to);
}

std::string draw_fault(const TensorSpec& x, const std::optional<double>& part) {
  if (!part) return {};
  if (whole_type(x) != nullptr) return "is for floating-point tensors; integers have from and to";
  return is_drawn(x) ? "" : "is for tensors that are filled with normal or uniform";
}

std::string constant_fault(const TensorSpec& x) {
  const bool constant = x.fill == "constant";
  const PlainFacts* const type = whole_type(x);
  if (constant && x.value && type != nullptr) return value_fault(*type, *x.value);
  if (constant == x.value.has_value()) return {};
  return constant ? "is missing: the value of every element of a constant tensor"
                  : "is for tensors that are filled with constant";
}

void tolerance_fields(DeclaredTolerance& x, FieldList& f) {
  f.by_hand();
  f.conditions(R"({"anyOf":[{"required":["absolute"]},{"required":["relative"]}]})");
  f("absolute", x.absolute).finite().at_least(0);
  f("relative", x.relative)
      .finite()
      .at_least(0)
      .schema(R"({"type":"number","minimum":0,"exclusiveMaximum":0.25})");
  f("why", x.why).filled();
  f.rule("relative", [&x] {
    return x.relative < 0.25 ? "" : "must be below 0.25, or outputs of zero come near to passing";
  });
  f.rule("", [&x]() -> std::string {
    if (x.absolute > 0 || x.relative > 0) return {};
    return "must have an 'absolute' or a 'relative' above 0";
  });
}

/// Checks the names of sizes; each differs from all names before it.
Status check_sizes(DeclaredOperation& operation, const Checks& check) {
  const std::vector<SizeSpec> sizes = std::exchange(operation.sizes, {});
  for (const SizeSpec& size : sizes) {
    const std::string fault = macro_fault(size.name, operation);
    if (!fault.empty())
      return check.error(fmt::format("sizes[{}].name", operation.sizes.size()), fault);
    operation.sizes.push_back(size);
  }
  return {};
}

/// `runtime`: names of the run-time sizes.
Status check_tensors(const std::vector<TensorSpec>& tensors,
                     const std::vector<std::string>& runtime, const Checks& check) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string path = fmt::format("tensors[{}]", i);
    if (find_named(tensors, tensors[i].name) != &tensors[i]) {
      return check.error(path + ".name",
                         fmt::format("is '{}', which names another tensor", tensors[i].name));
    }
    FATUNE_TRY_STATUS(check.texts(path + ".shape", tensors[i].shape));
    for (const std::string& extent : tensors[i].shape) {
      const std::string fault = runtime_fault(extent, runtime);
      if (!fault.empty())
        return check.error(path + ".shape", fmt::format("is '{}', which {}", extent, fault));
    }
  }
  if (std::ranges::none_of(tensors, &TensorSpec::output)) {
    return check.error("tensors",
                       "must have at least one with \"output\": true, or nothing is computed");
  }
  if (std::ranges::none_of(tensors, is_read))
    return check.error("tensors", "must have at least one input");
  return {};
}

/// Tensors of the type io need element types in 'supports'.
Status check_types(const DeclaredOperation& operation, const std::string& where) {
  const auto io = std::ranges::find(operation.tensors, "io", &TensorSpec::type);
  if (operation.typed || io == operation.tensors.end()) return {};
  return Checks{where}.error(
      "supports.dtypes",
      fmt::format("is missing: it lists the types that tensors of type io may have, as {}",
                  io->name));
}

/// A tolerance needs an output that may differ from the reference.
Status check_tolerance(const DeclaredOperation& operation, const Checks& check) {
  const auto equal = [](const TensorSpec& x) { return !x.output || whole_type(x) != nullptr; };
  if (!operation.tolerance || !std::ranges::all_of(operation.tensors, equal)) return {};
  return check.error("tolerance",
                     "is for floating-point outputs; integers must be equal to the "
                     "reference's");
}

Status check_least(const DeclaredOperation& operation, const Checks& check) {
  for (const auto& [key, text] : {std::pair("least.flops", &operation.flops),
                                  std::pair("least.bytes_read", &operation.bytes_read),
                                  std::pair("least.bytes_written", &operation.bytes_written)}) {
    if (!text->empty()) FATUNE_TRY_STATUS(check.text(key, *text));
  }
  return {};
}

/// Makes a problem of each list of sizes, in every type, and puts the sizes in order.
Status check_problems(const DeclaredOperation& operation, const char* key, const Checks& check,
                      std::vector<std::vector<NamedSize>>& problems) {
  for (std::size_t i = 0; i < problems.size(); ++i) {
    for (const Dtype dtype : {Dtype::kE5m2, Dtype::kE4m3, Dtype::kBf16, Dtype::kF16}) {
      const auto problem = operation.problem(problems[i], dtype);
      if (!problem)
        return check.error(fmt::format("{}[{}]", key, i), "is wrong: " + problem.error().message);
      if (dtype == Dtype::kF16) problems[i] = problem->custom()->sizes;
    }
  }
  return {};
}

/// A reference declares its operation; other kernels name the operation that they compute.
Status check_role(const Json& root, bool declares, const Manifest& manifest) {
  const Checks check{manifest.where};
  if (declares && manifest.role != Role::kReference) {
    return check.error("role",
                       "must be 'reference': the kernel that declares an operation is what "
                       "others are compared with");
  }
  if (!declares && manifest.role == Role::kReference) {
    return check.error("operation",
                       "must be an object that declares the operation, as this is its reference");
  }
  if (manifest.role == Role::kFault)
    return check.error("role", "is 'fault', which is for fixtures of attention");
  if (manifest.role == Role::kAttention && root.contains("role"))
    return check.error("role", "is 'attention', but 'operation' says otherwise; leave it out");
  return {};
}

Result<OperationRef> find_operation(const Manifest& manifest, const std::string& name,
                                    std::span<const OperationRef> operations) {
  std::vector<std::string> known;
  for (const OperationRef& each : operations) {
    if (each->name == name) return each;
    known.push_back(each->name);
  }
  return Checks{manifest.where}.error(
      "operation", fmt::format("is '{}', which no manifest of role 'reference' in this folder "
                               "declares{}",
                               name, nearest_hint(name, known, "; did you mean '{}'?")));
}

}  // namespace

Fill fill_of(const TensorSpec& tensor) {
  Fill fill;
  if (!is_read(tensor)) return fill;
  if (tensor.fill == "file") return {Fill::Kind::kFile};
  if (!is_drawn(tensor)) return {Fill::Kind::kConstant, 1, tensor.value.value_or(0)};
  if (const PlainFacts* type = whole_type(tensor)) return whole_fill(tensor, *type);
  fill.kind = tensor.fill == "normal" ? Fill::Kind::kNormal : Fill::Kind::kUniform;
  fill.scale = tensor.scale.value_or(1);
  fill.offset = tensor.offset.value_or(0);
  return fill;
}

static void fields(SizeSpec& x, FieldList& f) {
  f.by_hand();
  f("name", x.name).required().matching(kTemplateName, kTemplateNoun);
  f("meaning", x.meaning).filled();
  f("runtime", x.runtime).about("An argument by value of the kernels, and no macro");
}

static void fields(TensorSpec& x, FieldList& f) {
  f.record("tensor");
  f.by_hand();
  f.conditions(R"({"anyOf": [{"properties": {"output": {"const": true}}, "required": ["output"]},
                             {"required": ["fill"]}]})");
  f("name", x.name).required().matching(kTemplateName, kTemplateNoun);
  f("type", x.type)
      .one_of("io, f32, f16, bf16, e4m3, e5m2, f64, i8, u8, i16, u16, i32, u32, i64, u64, bool")
      .about("io: the problem's type, which is the default");
  f("shape", x.shape).required().filled().about("Expressions, the fastest dimension last");
  f("output", x.output);
  f("fill", x.fill)
      .one_of("normal, uniform, zeros, constant, file")
      .about("Required of an input; an output with a fill is read, too");
  f("file", x.file)
      .filled()
      .about("The .npy of fill file, or its bytes alone, from the manifest's folder");
  f("scale", x.scale).finite().about("Of normal and uniform");
  f("offset", x.offset).finite().about("Of normal and uniform");
  f("from", x.from)
      .range(-kLargestWhole, kLargestWhole)
      .about("The least of uniform integers; absent: that of 8 and 16 bits, -1000 or 0 of others");
  f("to", x.to)
      .range(-kLargestWhole, kLargestWhole)
      .about("The largest of uniform integers; absent: that of 8 and 16 bits, 1000 of others");
  f("value", x.value).finite().about("Of constant, which requires it");
  f.rule("shape", [&x] {
    return x.shape.size() > kMostDimensions ? "must be a list of 1 to 8 expressions" : "";
  });
  f.rule("fill", [&x] { return fill_fault(x); });
  f.rule("file", [&x]() -> std::string {
    if ((x.fill == "file") == !x.file.empty()) return {};
    return x.file.empty() ? "is missing: the file with the elements" : "is for the fill file";
  });
  f.rule("scale", [&x] { return draw_fault(x, x.scale); });
  f.rule("offset", [&x] { return draw_fault(x, x.offset); });
  f.rule("from", [&x] { return bound_fault(x, x.from); });
  f.rule("to", [&x] { return to_fault(x); });
  f.rule("value", [&x] { return constant_fault(x); });
}

void fields(DeclaredOperation& x, FieldList& f) {
  f.record("operation");
  f.by_hand();
  f("name", x.name).required().matching(kIdentifier, kIdentifierNoun);
  f("summary", x.summary).filled();
  f("sizes", x.sizes).required().filled();
  f("tensors", x.tensors).required().filled();
  f.keyed<&NamedSize::name, &NamedSize::value>("typical", x.typical)
      .filled()
      .range(1, kLargestRuntimeSize)
      .about("Sizes that the operation is used with, by name");
  f.keyed<&NamedSize::name, &NamedSize::value>("edges", x.edges)
      .range(1, kLargestRuntimeSize)
      .about("Small problems that finalists must solve");
  f("hard_inputs", x.hard_inputs).one_of("uniform, outliers, zeros");
  f.as<tolerance_fields>("tolerance", x.tolerance);
  f.group("least", [&x](FieldList& g) {
     g.by_hand();
     g("flops", x.flops).filled();
     g("bytes_read", x.bytes_read).filled();
     g("bytes_written", x.bytes_written).filled();
   }).about("Least work of any correct kernel: expressions");
  f.rule("name", [&x] {
    return std::string(x.name == "attention" ? "is 'attention', which fatune defines itself" : "");
  });
}

Result<DeclaredOperation> parse_operation(const Json& root, const std::string& where) {
  const std::string place = field_place(where, "operation");
  const Json& json = root.at("operation");
  FATUNE_TRY(DeclaredOperation operation, read_value<DeclaredOperation>(json, place));
  operation.where = place;
  operation.text = dump(json);
  const auto supports = root.find("supports");
  operation.typed = supports != root.end() && supports->is_object() && supports->contains("dtypes");
  Checks check{place};
  FATUNE_TRY_STATUS(check_sizes(operation, check));
  check.known = problem_names(operation);
  FATUNE_TRY_STATUS(check_tensors(operation.tensors, runtime_sizes(operation), check));
  FATUNE_TRY_STATUS(check_types(operation, where));
  FATUNE_TRY_STATUS(check_tolerance(operation, check));
  FATUNE_TRY_STATUS(check_least(operation, check));
  auto typical = std::exchange(operation.typical, {});  // no examples before they are checked
  if (typical.empty()) typical = operation.edges;
  if (typical.empty()) typical = {operation.smallest_problem().custom()->sizes};
  FATUNE_TRY_STATUS(check_problems(operation, "typical", check, typical));
  operation.typical = std::move(typical);
  FATUNE_TRY_STATUS(check_problems(operation, "edges", check, operation.edges));
  return operation;
}

Status set_operation(const Json& root, std::span<const OperationRef> operations,
                     Manifest& manifest) {
  const auto found = root.find("operation");
  if (found == root.end()) return {};
  FATUNE_TRY_STATUS(check_role(root, found->is_object(), manifest));
  if (!found->is_object()) {
    FATUNE_TRY(manifest.operation, find_operation(manifest, found->get<std::string>(), operations));
    return {};
  }
  FATUNE_TRY(DeclaredOperation operation, parse_operation(root, manifest.where));
  const auto loaded = std::ranges::find(operations, operation.name,
                                        [](const OperationRef& each) { return each->name; });
  if (loaded != operations.end()) {  // with the folder of its data
    manifest.operation = *loaded;
    return {};
  }
  manifest.operation = std::make_shared<const DeclaredOperation>(std::move(operation));
  return {};
}

}  // namespace fatune
