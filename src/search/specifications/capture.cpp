// capture.cpp: Reads captures of kernel_launcher, and tells which kind of file a JSON is.
#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/wisdom/scalar.hpp"
#include "search/datasets/formats.hpp"
#include "search/specifications/specification.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

/// Operators of expression trees: {} is the next operand. Whole numbers are divided as in C.
const std::map<std::string, std::string_view> kOperators = {
    {"+", "({} + {})"},        {"-", "({} - {})"},   {"*", "({} * {})"},   {"%", "({} % {})"},
    {"==", "({} == {})"},      {"!=", "({} != {})"}, {"<", "({} < {})"},   {">", "({} > {})"},
    {"<=", "({} <= {})"},      {">=", "({} >= {})"}, {"&&", "({} && {})"}, {"||", "({} || {})"},
    {"/", "floor_div({}, {})"}};
const std::map<std::string, std::string_view> kSigns = {{"+", "({})"},
                                                        {"-", "(-{})"},
                                                        {"!", "(!{})"},
                                                        {"ceil", "ceil_div({}, 1)"},
                                                        {"floor", "floor_div({}, 1)"}};

class Capture {
 public:
  Capture(const Fields& capture, const Fields& kernel, const fs::path& file)
      : capture_(capture), kernel_(kernel) {
    out_.where = file.string();
    out_.folders = {fs::absolute(file).parent_path()};
    out_.own_macros = true;
  }

  Result<Specification> read() {
    FATUNE_TRY_STATUS(read_space());
    FATUNE_TRY_STATUS(read_source());
    FATUNE_TRY_STATUS(read_macros());
    FATUNE_TRY(const auto grid, texts_of(kernel_, "grid_size"));
    FATUNE_TRY(const auto block, texts_of(kernel_, "block_size"));
    for (std::size_t i = 0; i < out_.grid.size(); ++i) {
      out_.grid[i] = i < grid.size() ? grid[i] : "1";
      out_.block[i] = i < block.size() ? block[i] : "1";
    }
    if (kernel_.has("shared_memory")) {
      FATUNE_TRY(out_.shared_bytes, text_of(kernel_.json()["shared_memory"], "shared_memory"));
    }
    FATUNE_TRY(const auto arguments, capture_.objects_or_empty("arguments"));
    for (const Fields& argument : arguments) FATUNE_TRY_STATUS(read_argument(argument));
    return std::move(out_);
  }

 private:
  /// Writes an expression tree as a manifest's expression.
  Result<std::string> text_of(const Json& tree, const std::string& where) const {
    if (tree.is_boolean()) return std::string(tree == true ? "1" : "0");
    if (tree.is_number()) return tree.dump();
    const Fields fields(tree, field_place(out_.where, where));
    FATUNE_TRY(const std::string sign, fields.text("operator"));
    FATUNE_TRY(const Json* operands, fields.value("operands"));
    if (!operands->is_array() || operands->empty()) return fields.error("operands", "are missing");
    const Json& first = operands->front();
    if (sign == "parameter" && first.is_string()) return first.get<std::string>();
    const Json sizes = capture_.json().value("problem_size", Json::array());
    if (sign == "problem_size" && first.is_number_unsigned() && sizes.is_array() &&
        first < sizes.size())
      return sizes[first.get<std::size_t>()].dump();
    std::vector<std::string> of;
    for (const Json& each : *operands) {
      FATUNE_TRY(of.emplace_back(), text_of(each, where));
    }
    if (sign == "select" && of.size() > 1) {  // select(index, a, b, c)
      std::string text = of.back();
      for (std::size_t i = of.size() - 2; i >= 1; --i)
        text = fmt::format("({} == {} ? {} : {})", of[0], i - 1, of[i], text);
      return text;
    }
    const auto& known = of.size() == 1 ? kSigns : kOperators;
    if (const auto found = known.find(sign); found != known.end() && of.size() <= 2) {
      const std::string_view other = of.back();
      return fmt::vformat(found->second, fmt::make_format_args(of[0], other));
    }
    return fields.error("operator", "is " + sign + ", which manifests cannot express");
  }

  Result<std::vector<std::string>> texts_of(const Fields& fields, const char* field) const {
    std::vector<std::string> texts;
    if (!fields.has(field)) return texts;
    for (const Json& each : fields.json()[field]) {
      FATUNE_TRY(texts.emplace_back(), text_of(each, field));
    }
    return texts;
  }

  Status read_space() {
    FATUNE_TRY(const Fields space, capture_.object("config_space"));
    FATUNE_TRY(const auto parameters, space.objects_or_empty("parameters"));
    for (const Fields& fields : parameters) {
      Parameter& parameter = out_.parameters.emplace_back();
      FATUNE_TRY(parameter.name, fields.text("name"));
      FATUNE_TRY(const Json* values, fields.value("values"));
      if (!values->is_array() || values->empty()) return fields.error("values", "must be a list");
      for (const Json& each : *values) {
        Value value = value_from_json(each);
        const bool word = value.kind == Value::Kind::kWord;
        if (word && !each.is_string())
          return fields.error("values", "has " + each.dump() +
                                            "; whole numbers, truth values and words can be tuned");
        if (word) value.number = static_cast<std::int64_t>(parameter.values.size());
        if (fields.has("default") && each == fields.json()["default"])
          parameter.default_position = parameter.values.size();
        parameter.values.push_back(std::move(value));
      }
    }
    FATUNE_TRY(out_.rules, texts_of(space, "restrictions"));
    return {};
  }

  Status read_source() {
    FATUNE_TRY(out_.function, kernel_.text("name"));
    FATUNE_TRY(out_.options, kernel_.texts_or("compile_flags", {}));
    if (kernel_.has("source")) {
      FATUNE_TRY(out_.source, kernel_.text("source"));
    } else {  // at the path of the machine that captured, or beside the capture
      FATUNE_TRY(const std::string named, kernel_.text("file"));
      const fs::path file(named);
      out_.folders.push_back(file.parent_path());
      FATUNE_TRY(out_.source, read_named(file.filename().string(), kernel_, "file", out_.folders));
    }
    FATUNE_TRY(const auto headers, kernel_.objects_or_empty("headers"));
    for (const Fields& header : headers) {
      if (header.json().value("content", Json()).is_null()) continue;
      SourceFile& file = out_.headers.emplace_back();
      FATUNE_TRY(file.path, header.text("file"));
      FATUNE_TRY(file.text, header.text("content"));
    }
    return {};
  }

  Status read_macros() {
    std::vector<std::string> types;
    for (const Json& each : kernel_.json().value("template_args", Json::array())) {
      const bool type = each.is_string();
      FATUNE_TRY(types.emplace_back(), type ? Result<std::string>(each.get<std::string>())
                                            : text_of(each, "kernel.template_args"));
      if (!type && !matches(types.back(), "[A-Za-z0-9_]+"))
        return kernel_.error("template_args",
                             "has an expression; parameters, numbers and types are known");
    }
    if (!types.empty()) out_.function += "<" + join(types, ", ") + ">";
    const Json defines = kernel_.json().value("defines", Json::object());
    for (const auto& [name, value] : defines.items()) {
      if (value.is_string()) {
        out_.options.push_back("-D" + name + "=" + value.get<std::string>());
        continue;
      }
      FATUNE_TRY(std::string text, text_of(value, "kernel.defines." + name));
      out_.defines.push_back({name, std::move(text)});
    }
    return {};
  }

  Status read_argument(const Fields& argument) {
    FATUNE_TRY(const std::string type, argument.text("type"));
    FATUNE_TRY(const std::string kind, argument.text("kind"));
    const bool constant = type.find("const") != std::string::npos;
    const std::string element = replaced(replaced(type, "const", " "), "*", " ");
    const auto known = split_scalar(std::string(trim(element)) + " 0");
    const bool scalar = kind == "scalar";
    if (!known || scalar == (type.find('*') != std::string::npos))
      return argument.error("type", fmt::format("is {} of kind {}; arrays and scalars of {} are "
                                                "known",
                                                type, kind, scalar_types()));
    if (scalar) return read_scalar(argument, *known->type);
    const auto own_folder = std::span(out_.folders).first(1);
    FATUNE_TRY(const std::string file, argument.text("file"));
    FATUNE_TRY(const std::string bytes, read_named(file, argument, "file", own_folder));
    const std::string wanted = fmt::format("argument_{}", out_.arguments.size());
    Json& tensor = out_.add(wanted, known->type->name, bytes.size() / known->type->bytes);
    out_.set_data(tensor, bytes);
    const std::string name = tensor["name"];
    out_.arguments.push_back(name);
    if (constant) return {};
    tensor["output"] = true;
    if (!argument.has("reference_file")) return {};
    FATUNE_TRY(const std::string after, argument.text("reference_file"));
    FATUNE_TRY(std::string right, read_named(after, argument, "reference_file", own_folder));
    if (right.size() != bytes.size())
      return argument.error("reference_file", "has another size than 'file'");
    out_.set_data(out_.add_answer(name), std::move(right));
    return {};
  }

  Status read_scalar(const Fields& argument, const PlainFacts& type) {
    FATUNE_TRY(const Json* data, argument.value("data"));
    const auto is_byte = [](const Json& each) { return each.is_number_unsigned() && each < 256; };
    if (!data->is_array() || data->size() != type.bytes || !std::ranges::all_of(*data, is_byte))
      return argument.error("data", fmt::format("must be {} bytes", type.bytes));
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < type.bytes; ++i) bits |= (*data)[i].get<std::uint64_t>() << (8 * i);
    const std::size_t unused = 64 - 8 * type.bytes;
    auto value = static_cast<double>(bits);
    if (type.least < 0)
      value = static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
    if (type.name == "f32")
      value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (type.name == "f64") value = std::bit_cast<double>(bits);
    return out_.pass(type, value, argument, "data");
  }

  const Fields& capture_;
  const Fields& kernel_;
  Specification out_;
};

}  // namespace

Result<Specification> specification_of_capture(const Json& json, const fs::path& file) {
  const Fields fields(json, file.string());
  FATUNE_TRY(const Fields kernel, fields.object("kernel"));
  return Capture(fields, kernel, file).read();
}

Result<Declared> declare_json(const fs::path& file, std::span<const Statement> typed) {
  if (!typed.empty())
    return usage_error(fmt::format("{}: does not go with {}; the file says what is tuned",
                                   typed.front().where, file.string()));
  FATUNE_TRY(const Json json, load_json(file));
  const bool t1 = json.is_object() && json.contains("ConfigurationSpace");
  if (!t1 && !(json.is_object() && json.contains("config_space")))
    return file_error(file.string() +
                      ": has neither ConfigurationSpace, as T1 files have, nor config_space, as "
                      "captures of kernel_launcher have");
  FATUNE_TRY(Specification found,
             t1 ? specification_of_t1(json, file) : specification_of_capture(json, file));
  return declared(std::move(found));
}

}  // namespace fatune
