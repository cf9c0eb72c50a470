// t1.cpp: Reads T1 files whole: space, kernel, sizes, arguments and reference data.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/declaring/signature.hpp"
#include "model/kernel/includes.hpp"
#include "model/kernel/kernel.hpp"
#include "model/wisdom/scalar.hpp"
#include "search/datasets/spaces.hpp"
#include "search/specifications/specification.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

constexpr std::array kAxes = {"X", "Y", "Z"};
constexpr std::array kDivisors = {"GridDivX", "GridDivY", "GridDivZ"};
constexpr std::int64_t kMostGenerated = std::int64_t{1} << 27;  // chosen: 1 GiB of doubles

/// Returns null for half.
const PlainFacts* plain(const ElementType& type) {
  const auto known = plain_type_named(type.name);
  return known ? &plain_facts(*known) : nullptr;
}

/// Reads "int32", "float" or "float4".
std::optional<ElementType> type_of(const std::string& text) {
  if (matches(text, "u?int(8|16|32|64)")) return element_type(text + "_t");
  const std::size_t end = text.find_last_not_of("0123456789") + 1;
  const std::string word = text.substr(0, end);
  const std::int64_t count = parse_integer(text.substr(end)).value_or(1);
  if (!matches(word, "half|float|double|u?int|bool") || count < 1) return std::nullopt;
  auto type = element_type(word);
  type->count = count;
  return type;
}

Result<double> number_or(const Fields& fields, const char* key, double fallback) {
  return fields.has(key) ? fields.number(key) : Result<double>(fallback);
}

class T1Reader {
 public:
  T1Reader(const Fields& kernel, const fs::path& file) : kernel_(kernel) {
    out_.where = file.string();
    const fs::path folder = fs::absolute(file).parent_path();
    out_.folders = {folder, folder.parent_path()};  // Kernel Tuner looks in both
  }

  Result<Specification> read(const Json& json) {
    if (kernel_.has("ProblemSize")) {
      const Json& size = kernel_.json()["ProblemSize"];
      for (const Json& each : size.is_array() ? size : Json::array({size}))
        problem_.push_back(each.is_string() ? each.get<std::string>() : each.dump());
    }
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
    for (const Rule& rule : space.constraints) out_.rules.push_back(expression(rule.require));
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
    FATUNE_TRY(out_.source, read_named(file, kernel_, "KernelFile", out_.folders));
    FATUNE_TRY(out_.options, kernel_.texts_or("CompilerOptions", {}));
    return {};
  }

  /// The grid is ProblemSize over GridDiv, if the file has both; else GlobalSize.
  Status read_launch() {
    FATUNE_TRY(const Fields local, kernel_.object("LocalSize"));
    FATUNE_TRY(const Fields global, kernel_.object("GlobalSize"));
    FATUNE_TRY(const std::string kind, kernel_.text_or("GlobalSizeType", "CUDA"));
    const bool divided = !problem_.empty() && std::ranges::any_of(kDivisors, [&](const char* each) {
      return kernel_.has(each);
    });
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
      FATUNE_TRY(out_.block[i], text_or_one(local, kAxes[i]));
      FATUNE_TRY(out_.grid[i], text_or_one(global, kAxes[i]));
      FATUNE_TRY(std::vector<std::string> divisors, kernel_.texts_or(kDivisors[i], {}));
      if (!divided && lower(kind) == "opencl") divisors = {out_.block[i]};
      if (divided) out_.grid[i] = i < problem_.size() ? expression(problem_[i]) : "1";
      for (std::string& each : divisors) each = "(" + expression(each) + ")";
      if (!divisors.empty())
        out_.grid[i] = fmt::format("ceil_div({}, {})", out_.grid[i], join(divisors, " * "));
    }
    // Without dynamic shared memory in the source, it would only cost occupancy.
    const auto is_dynamic = [](const std::string& line) {
      return mentions(line, "extern") && mentions(line, "__shared__");
    };
    const bool asked = kernel_.has("SharedMemory") && !kernel_.json()["SharedMemory"].is_null();
    if (!asked || std::ranges::none_of(code_lines(out_.source), is_dynamic)) return {};
    FATUNE_TRY(out_.shared_bytes, text_or_one(kernel_, "SharedMemory"));
    return {};
  }

  /// Returns a member's expression, as a number or a text.
  Result<std::string> text_or_one(const Fields& fields, const char* key) const {
    if (!fields.has(key)) return std::string("1");
    const Json& value = fields.json()[key];
    if (value.is_string()) return expression(value.get<std::string>());
    if (value.is_number_integer()) return value.dump();
    return fields.error(key, "must be a whole number or the text of an expression");
  }

  /// Writes ProblemSize[i] as its value, on one line.
  std::string expression(std::string text) const {
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
    const auto type = type_of(word);
    if (!type)
      return argument.error("Type", "is " + word +
                                        "; bool, int8 to uint64, half, float, double and "
                                        "vectors such as float4 are known");
    if (memory == "Scalar") {
      if (plain(*type) == nullptr || type->count > 1)
        return argument.error("Type", "is no number, as a Scalar is");
      FATUNE_TRY(const double value, argument.number("FillValue"));
      return out_.pass(*plain(*type), value, argument, "FillValue");
    }
    if (memory != "Vector" && memory != "Symbol")
      return argument.error("MemoryType", "is " + memory + "; Vector, Scalar and Symbol are known");
    FATUNE_TRY(const std::string access, argument.text_or("AccessType", "ReadWrite"));
    FATUNE_TRY(const std::string place, argument.text_or("MemType", "Global"));
    FATUNE_TRY(const std::size_t count, count_of(argument, *type));
    Json& tensor = out_.add(name, type->name, count);
    const bool symbol = memory == "Symbol" || place == "Constant";
    const Json told = argument.json().value("Output", Json(0));
    if (!symbol && (access != "ReadOnly" || told == 1 || told == true)) tensor["output"] = true;
    FATUNE_TRY_STATUS(fill(argument, *type, count, tensor));
    if (plain(*type) == nullptr && access == "WriteOnly") tensor.erase("fill");
    const std::string known = tensor["name"];
    if (symbol) out_.constants.push_back({name, known});
    if (memory == "Vector") out_.arguments.push_back(known);
    return {};
  }

  /// Returns the number of numbers; max(PARAMETER) in Size is the parameter's largest value.
  Result<std::size_t> count_of(const Fields& argument, const ElementType& type) const {
    if (!argument.has("Size") && argument.has("DataSource")) {
      FATUNE_TRY(const fs::path data, data_file(argument));
      std::error_code ignored;
      return fs::file_size(data, ignored) / type.bytes;
    }
    if (!argument.has("Size")) return argument.error("Size", "is missing");
    FATUNE_TRY(const std::string text, text_or_one(argument, "Size"));
    const std::string where = field_place(argument.where(), "Size");
    FATUNE_TRY(const Expression parsed, Expression::parse(text, where, Syntax::kPython));
    FATUNE_TRY(const std::int64_t count, parsed.count(largest_));
    return static_cast<std::size_t>(count * type.count);
  }

  /// Sets what the elements are.
  Status fill(const Fields& argument, const ElementType& type, std::size_t count, Json& tensor) {
    FATUNE_TRY(const std::string kind, argument.text_or("FillType", "Constant"));
    if (kind == "BinaryRaw") {
      FATUNE_TRY(const fs::path data, data_file(argument));
      tensor.update({{"fill", "file"}, {"file", data.string()}});
      return {};
    }
    if (kind == "Generator") return generate(argument, type, count, tensor);
    if (kind != "Constant" && kind != "Random")
      return argument.error("FillType", "is " + kind +
                                            "; Constant, Random, Generator and BinaryRaw "
                                            "are known");
    const bool random = kind == "Random";
    FATUNE_TRY(const double value, number_or(argument, "FillValue", random ? 1 : 0));
    if (value == 0) {
      tensor["fill"] = "zeros";
    } else if (!random) {
      tensor.update({{"fill", "constant"}, {"value", value}});
    } else if (plain(type) != nullptr && plain(type)->whole) {
      const auto end = static_cast<std::int64_t>(value);
      tensor.update({{"fill", "uniform"},
                     {"from", std::min(end, std::int64_t{0})},
                     {"to", std::max(end, std::int64_t{0})}});
    } else {  // from 0 to FillValue, as KTT draws
      tensor.update({{"fill", "uniform"}, {"scale", std::abs(value) / 2}, {"offset", value / 2}});
    }
    return {};
  }

  Result<fs::path> data_file(const Fields& argument) const {
    FATUNE_TRY(const std::string name, argument.text("DataSource"));
    std::error_code ignored;
    const fs::path data = out_.folders.front() / name;
    if (fs::is_regular_file(data, ignored)) return data;
    return argument.error("DataSource", "is '" + name + "', which is not there");
  }

  /// Evaluates DataSource, an expression over the element's number i, for each element.
  Status generate(const Fields& argument, const ElementType& type, std::size_t count,
                  Json& tensor) {
    const PlainFacts* const facts = plain(type);
    if (facts == nullptr) return argument.error("FillType", "is Generator, which half cannot have");
    if (count > kMostGenerated)
      return argument.error(
          "Size", fmt::format("is {} of a Generator; at most {} are made", count, kMostGenerated));
    FATUNE_TRY(const std::string text, argument.text("DataSource"));
    const std::string where = field_place(argument.where(), "DataSource");
    FATUNE_TRY(const Expression parsed, Expression::parse(text, where, Syntax::kPython));
    std::string bytes;
    Scope scope;
    for (std::size_t i = 0; i < count; ++i) {
      scope.set("i", static_cast<double>(i));
      FATUNE_TRY(double value, parsed.evaluate(scope));
      if (facts->whole) value = std::trunc(value);
      if (const std::string fault = value_fault(*facts, value); !fault.empty())
        return argument.error("DataSource", fmt::format("{}, for i={}", fault, i));
      const std::uint64_t bits = bits_of(*facts, value);
      for (std::size_t byte = 0; byte < facts->bytes; ++byte)
        bytes += static_cast<char>(bits >> (8 * byte));
    }
    out_.set_data(tensor, std::move(bytes));
    return {};
  }

  Status read_reference(const Fields& reference) {
    FATUNE_TRY(const std::string target, reference.text("TargetName"));
    const auto found = std::ranges::find_if(out_.tensors, [&](const Json& each) {
      return each["name"] == target && each.contains("output");
    });
    if (found == out_.tensors.end())
      return reference.error("TargetName", "is '" + target + "', which is no output");
    Json& answer = out_.add_answer(target);
    const ElementType type{answer["type"]};
    const auto count = parse_integer(answer["shape"][0].get<std::string>());
    FATUNE_TRY_STATUS(fill(reference, type, static_cast<std::size_t>(count.value_or(0)), answer));
    FATUNE_TRY(const std::string method, reference.text_or("ValidationMethod", ""));
    FATUNE_TRY(const double threshold, number_or(reference, "ValidationThreshold", 1e-4));
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
