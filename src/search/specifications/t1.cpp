// t1.cpp: Reads T1 files whole: space, kernel, sizes, arguments and reference data.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/kernel/includes.hpp"
#include "model/kernel/kernel.hpp"
#include "model/problem/plain_type.hpp"
#include "model/wisdom/scalar.hpp"
#include "search/datasets/spaces.hpp"
#include "search/specifications/specification.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kAxes = {"X", "Y", "Z"};
constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"bool", "bool"}, {"int8", "i8"},    {"uint8", "u8"},  {"int16", "i16"},  {"uint16", "u16"},
    {"int32", "i32"}, {"uint32", "u32"}, {"int64", "i64"}, {"uint64", "u64"}, {"int", "i32"},
    {"uint", "u32"},  {"half", "f16"},   {"float", "f32"}, {"double", "f64"}};

constexpr std::int64_t kMostGenerated = std::int64_t{1} << 27;  // chosen: 1 GiB of doubles

struct ElementType {
  std::string name;        ///< "f32"
  std::int64_t width = 1;  ///< of float4: 4
};

std::optional<ElementType> element_type(std::string_view text) {
  std::string_view base = text;
  for (std::int64_t width = 1;;) {
    const auto* found =
        std::ranges::find(kTypes, base, &std::pair<std::string_view, std::string_view>::first);
    if (found != std::end(kTypes)) return ElementType{std::string(found->second), width};
    base = text.substr(0, text.find_last_not_of("0123456789") + 1);
    const auto digits = parse_integer(text.substr(base.size()));
    if (width > 1 || !digits || *digits < 2) return std::nullopt;
    width = *digits;
  }
}

std::int64_t bytes_of(const ElementType& type) {
  const auto plain = plain_type_named(type.name);
  return plain ? static_cast<std::int64_t>(plain_facts(*plain).bytes) : 2;
}

/// Appends an element's bytes, little-endian.
void append(const PlainFacts& type, double value, std::string& bytes) {
  std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  if (type.whole) bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  if (type.name == "f32") bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  for (std::size_t i = 0; i < type.bytes; ++i) bytes += static_cast<char>(bits >> (8 * i));
}

class T1Reader {
 public:
  T1Reader(const Fields& kernel, const fs::path& file) : kernel_(kernel) {
    out_.where = file.string();
    const fs::path folder = fs::absolute(file).parent_path();
    out_.folders = {folder, folder.parent_path()};  // Kernel Tuner looks in both
  }

  Result<Specification> read(const Json& json) {
    FATUNE_TRY_STATUS(read_space(json));
    FATUNE_TRY_STATUS(read_kernel());
    FATUNE_TRY_STATUS(read_launch());
    FATUNE_TRY(const auto arguments, kernel_.objects_or_empty("Arguments"));
    for (const Fields& argument : arguments) FATUNE_TRY_STATUS(read_argument(argument));
    FATUNE_TRY(const auto references, kernel_.objects_or_empty("ReferenceArguments"));
    for (const Fields& reference : references) FATUNE_TRY_STATUS(read_reference(reference));
    return std::move(out_);
  }

 private:
  Status read_space(const Json& json) {
    FATUNE_TRY(Manifest space, read_t1_manifest(json, out_.where));
    out_.parameters = std::move(space.parameters);
    for (const Parameter& parameter : out_.parameters) {
      double largest = 0;
      for (const Value& value : parameter.values) {
        if (value.kind == Value::Kind::kWord && parse_number(value.word))
          return file_error(fmt::format(
              "{}: parameter {} has {}; whole numbers, truth values and words can be tuned",
              out_.where, parameter.name, value.word));
        largest = std::max(largest, static_cast<double>(value.number));
      }
      largest_.set(parameter.name, largest);
    }
    for (const Rule& rule : space.constraints) out_.rules.push_back(on_one_line(rule.require));
    return {};
  }

  Status read_kernel() {
    FATUNE_TRY(const std::string language, kernel_.text_or("Language", "CUDA"));
    if (lower(language) != "cuda")
      return kernel_.error("Language", "is " + language + "; fatune compiles CUDA alone");
    FATUNE_TRY(out_.function, kernel_.text("KernelName"));
    FATUNE_TRY(const auto types, kernel_.texts_or("KernelTypeNames", {}));
    if (!types.empty()) out_.function += "<" + join(types, ", ") + ">";
    FATUNE_TRY(const std::string file, kernel_.text("KernelFile"));
    FATUNE_TRY(out_.source,
               read_named(file, out_.folders,
                          kernel_.error("KernelFile", "is '" + file + "', which is not there")));
    if (!kernel_.has("CompilerOptions")) return {};
    FATUNE_TRY(const Json* options, kernel_.value("CompilerOptions"));
    if (options->is_string()) {
      out_.options = {options->get<std::string>()};
      return {};
    }
    FATUNE_TRY(out_.options, kernel_.texts_or("CompilerOptions", {}));
    return {};
  }

  /// The grid is ProblemSize over GridDiv, if the file has both; else GlobalSize.
  Status read_launch() {
    FATUNE_TRY_STATUS(read_problem_size());
    FATUNE_TRY(const Fields local, kernel_.object("LocalSize"));
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
      FATUNE_TRY(out_.block[i], text_or_one(local, kAxes[i]));
    }
    FATUNE_TRY(const std::string kind, kernel_.text_or("GlobalSizeType", "CUDA"));
    const std::array<const char*, 3> divisors = {"GridDivX", "GridDivY", "GridDivZ"};
    const bool divided = std::ranges::any_of(divisors, [&](auto* d) { return kernel_.has(d); });
    if (divided && !problem_.empty()) {
      for (std::size_t i = 0; i < divisors.size(); ++i) {
        FATUNE_TRY(out_.grid[i], divided_size(i, divisors[i]));
      }
    } else {
      FATUNE_TRY(const Fields global, kernel_.object("GlobalSize"));
      for (std::size_t i = 0; i < kAxes.size(); ++i) {
        FATUNE_TRY(out_.grid[i], text_or_one(global, kAxes[i]));
        if (lower(kind) == "opencl")
          out_.grid[i] = fmt::format("ceil_div({}, {})", out_.grid[i], out_.block[i]);
      }
    }
    if (!kernel_.has("SharedMemory") || kernel_.json()["SharedMemory"].is_null()) return {};
    // Without dynamic shared memory in the source, it would only cost occupancy.
    const auto dynamic = [](const std::string& line) {
      return mentions(line, "extern") && mentions(line, "__shared__");
    };
    if (std::ranges::none_of(code_lines(out_.source), dynamic)) return {};
    FATUNE_TRY(out_.shared_bytes, text_or_one(kernel_, "SharedMemory"));
    return {};
  }

  Status read_problem_size() {
    if (!kernel_.has("ProblemSize")) return {};
    const Json& size = kernel_.json()["ProblemSize"];
    for (const Json& each : size.is_array() ? size : Json::array({size})) {
      if (!each.is_number_integer() && !each.is_string())
        return kernel_.error("ProblemSize", "must be a whole number, a text, or a list of them");
      problem_.push_back(each.is_string() ? each.get<std::string>() : each.dump());
    }
    return {};
  }

  Result<std::string> divided_size(std::size_t axis, const char* field) {
    const std::string size = axis < problem_.size() ? on_one_line(problem_[axis]) : "1";
    FATUNE_TRY(std::vector<std::string> divisors, kernel_.texts_or(field, {}));
    if (divisors.empty()) return size;
    for (std::string& each : divisors) each = "(" + on_one_line(each) + ")";
    return fmt::format("ceil_div({}, {})", size, join(divisors, " * "));
  }

  /// Returns a member's expression, as a number or a text.
  Result<std::string> text_or_one(const Fields& fields, const char* key) {
    if (!fields.has(key)) return std::string("1");
    const Json& value = fields.json()[key];
    if (value.is_string()) return on_one_line(value.get<std::string>());
    if (value.is_number_integer()) return value.dump();
    return fields.error(key, "must be a whole number or the text of an expression");
  }

  /// Evaluates a count, in which max(PARAMETER) and PARAMETER are the parameter's largest value.
  Result<std::int64_t> count_of(const Fields& fields, const char* key) {
    FATUNE_TRY(const std::string text, text_or_one(fields, key));
    FATUNE_TRY(const Expression parsed,
               Expression::parse(text, field_place(fields.where(), key), Syntax::kPython));
    return parsed.count(largest_);
  }

  std::string on_one_line(std::string text) const {
    for (std::size_t i = 0; i < problem_.size(); ++i)
      text = replaced(std::move(text), fmt::format("ProblemSize[{}]", i), problem_[i]);
    std::ranges::replace_if(
        text, [](char c) { return in_class(c, "\t\r\n"); }, ' ');
    return text;
  }

  Status read_argument(const Fields& argument) {
    FATUNE_TRY(const std::string name, argument.text_or("Name", "argument"));
    FATUNE_TRY(const std::string memory, argument.text_or("MemoryType", "Vector"));
    FATUNE_TRY(const std::string word, argument.text_or("Type", "float"));
    const auto type = element_type(word);
    if (!type)
      return argument.error("Type", "is " + word +
                                        "; bool, integers, half, float, double and "
                                        "their vectors, such as float4, are known");
    if (memory == "Scalar") return read_scalar(argument, *type);
    if (memory == "Local") {
      FATUNE_TRY(const std::int64_t count, count_of(argument, "Size"));
      out_.shared_bytes += fmt::format(" + {}", count * type->width * bytes_of(*type));
      return {};
    }
    if (memory != "Vector" && memory != "Symbol")
      return argument.error("MemoryType",
                            "is " + memory + "; Vector, Scalar, Symbol and Local are known");
    FATUNE_TRY(const std::string access, argument.text_or("AccessType", "ReadWrite"));
    FATUNE_TRY(const std::string place, argument.text_or("MemType", "Global"));
    const bool symbol = memory == "Symbol" || place == "Constant";
    SpecifiedTensor tensor{name, type->name};
    tensor.output = !symbol && access != "ReadOnly";
    if (argument.has("Output") && !symbol) {
      const Json& output = argument.json()["Output"];
      tensor.output = tensor.output || (output.is_number() ? output != 0 : output == true);
    }
    FATUNE_TRY_STATUS(fill(argument, *type, tensor));
    const bool plain = plain_type_named(type->name).has_value();
    if (tensor.output && !plain && access == "WriteOnly") tensor.fill_fields.clear();
    if (tensor.output && !plain && !tensor.fill_fields.empty())
      return argument.error("AccessType", "is " + access +
                                              ", which half cannot have; WriteOnly "
                                              "and ReadOnly are known");
    const std::string known = out_.add(std::move(tensor)).name;
    if (symbol) out_.constants.push_back({name, known});
    if (memory == "Vector") out_.arguments.push_back(known);
    return {};
  }

  Status read_scalar(const Fields& argument, const ElementType& type) {
    const auto plain = plain_type_named(type.name);
    if (!plain || type.width > 1) return argument.error("Type", "is no number, as a Scalar is");
    FATUNE_TRY(const double value, argument.number("FillValue"));
    const auto text = scalar_of(plain_facts(*plain), value);
    if (!text) return argument.error("FillValue", text.error().message);
    out_.arguments.push_back(*text);
    return {};
  }

  /// Sets the tensor's number of elements and what they are.
  Status fill(const Fields& argument, const ElementType& type, SpecifiedTensor& tensor) {
    FATUNE_TRY(const std::string kind, argument.text_or("FillType", "Constant"));
    if (argument.has("Size")) {
      FATUNE_TRY(const std::int64_t count, count_of(argument, "Size"));
      tensor.elements = count * type.width;
    }
    if (kind == "BinaryRaw") return fill_from_file(argument, type, tensor);
    if (tensor.elements <= 0) return argument.error("Size", "is missing or 0");
    if (kind == "Uninitialized") {
      if (!tensor.output) tensor.fill_fields = R"({"fill":"zeros"})";
      return {};
    }
    if (kind == "Generator") return generate(argument, type, tensor);
    if (kind != "Constant" && kind != "Random")
      return argument.error("FillType", "is " + kind +
                                            "; Constant, Random, Generator and "
                                            "BinaryRaw are known");
    double value = kind == "Random" ? 1 : 0;
    if (argument.has("FillValue")) {
      FATUNE_TRY(value, argument.number("FillValue"));
    }
    Json fields = {{"fill", "constant"}, {"value", value}};
    if (value == 0) fields = {{"fill", "zeros"}};
    if (value != 0 && kind == "Random") {
      // KTT draws from 0 to FillValue.
      fields = {{"fill", "uniform"}, {"scale", std::abs(value) / 2}, {"offset", value / 2}};
      const auto plain = plain_type_named(type.name);
      if (plain && plain_facts(*plain).whole)
        fields = {{"fill", "uniform"},
                  {"from", static_cast<std::int64_t>(std::min(value, 0.0))},
                  {"to", static_cast<std::int64_t>(std::max(value, 0.0))}};
    }
    tensor.fill_fields = fields.dump();
    return {};
  }

  Status fill_from_file(const Fields& argument, const ElementType& type, SpecifiedTensor& tensor) {
    FATUNE_TRY(const std::string name, argument.text("DataSource"));
    const fs::path data = out_.folders.front() / name;
    std::error_code missing;
    const auto bytes = fs::file_size(data, missing);
    if (missing) return argument.error("DataSource", "is '" + name + "', which is not there");
    if (tensor.elements == 0) tensor.elements = static_cast<std::int64_t>(bytes) / bytes_of(type);
    tensor.fill_fields = Json({{"fill", "file"}, {"file", data.string()}}).dump();
    return {};
  }

  /// Evaluates DataSource, an expression over the element's number i, for each element.
  Status generate(const Fields& argument, const ElementType& type, SpecifiedTensor& tensor) {
    const auto plain = plain_type_named(type.name);
    if (!plain) return argument.error("FillType", "is Generator, which half cannot have");
    const PlainFacts& facts = plain_facts(*plain);
    if (tensor.elements > kMostGenerated)
      return argument.error("Size", fmt::format("is {} of a Generator; at most {} are made",
                                                tensor.elements, kMostGenerated));
    FATUNE_TRY(const std::string text, argument.text("DataSource"));
    const std::string where = field_place(argument.where(), "DataSource");
    FATUNE_TRY(const Expression parsed, Expression::parse(text, where, Syntax::kPython));
    SourceFile file{file_name(tensor.name) + ".bin", {}};
    Scope scope;
    for (std::int64_t i = 0; i < tensor.elements; ++i) {
      scope.set("i", static_cast<double>(i));
      FATUNE_TRY(double value, parsed.evaluate(scope));
      if (facts.whole) value = std::trunc(value);
      if (const std::string fault = value_fault(facts, value); !fault.empty())
        return argument.error("DataSource", fault + fmt::format(", for i={}", i));
      append(facts, value, file.text);
    }
    tensor.fill_fields = Json({{"fill", "file"}, {"file", file.path}}).dump();
    out_.files.push_back(std::move(file));
    return {};
  }

  Status read_reference(const Fields& reference) {
    FATUNE_TRY(const std::string target, reference.text("TargetName"));
    const SpecifiedTensor* const of = find_named(out_.tensors, target);
    if (of == nullptr || !of->output)
      return reference.error("TargetName", "is '" + target + "', which is no output");
    SpecifiedTensor answer{target + "_answer", of->type, of->elements};
    answer.answer_of = target;
    FATUNE_TRY_STATUS(fill(reference, {of->type}, answer));
    out_.add(std::move(answer));
    FATUNE_TRY(const std::string method,
               reference.text_or("ValidationMethod", "SideBySideComparison"));
    double threshold = 1e-4;
    if (reference.has("ValidationThreshold")) {
      FATUNE_TRY(threshold, reference.number("ValidationThreshold"));
    }
    double& limit = method == "SideBySideRelativeComparison" ? out_.relative : out_.absolute;
    limit = std::max(limit, threshold);
    return {};
  }

  const Fields& kernel_;
  Specification out_;
  Scope largest_;                     ///< of each parameter's values
  std::vector<std::string> problem_;  ///< ProblemSize
};

}  // namespace

Result<Specification> specification_of_t1(const Json& json, const fs::path& file) {
  FATUNE_TRY(const Fields kernel, Fields(json, file.string()).object("KernelSpecification"));
  return T1Reader(kernel, file).read(json);
}

}  // namespace fatune
