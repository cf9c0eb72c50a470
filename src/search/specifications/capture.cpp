// capture.cpp: Reads captures of kernel_launcher, and tells which kind of file a JSON is.
#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "model/wisdom/scalar.hpp"
#include "search/datasets/formats.hpp"
#include "search/specifications/specification.hpp"

namespace fatune {
namespace {

namespace fs = std::filesystem;

/// Writes kernel_launcher's expression trees as texts.
class Trees {
 public:
  explicit Trees(const Json& problem_size) : problem_size_(problem_size) {}

  Result<std::string> text(const Json& tree, const std::string& where) const {
    if (tree.is_boolean()) return std::string(tree == true ? "1" : "0");
    if (tree.is_number()) return tree.dump();
    if (!tree.is_object()) return file_error(where + ": is " + tree.dump() + ", no expression");
    const Fields fields(tree, where);
    FATUNE_TRY(const std::string sign, fields.text("operator"));
    FATUNE_TRY(const Json* operands, fields.value("operands"));
    if (!operands->is_array() || operands->empty())
      return fields.error("operands", "must be a list of one or more");
    const Json& first = operands->front();
    if (sign == "parameter" && first.is_string()) return first.get<std::string>();
    if (sign == "problem_size" && first.is_number_unsigned() &&
        first.get<std::size_t>() < problem_size_.size())
      return problem_size_[first.get<std::size_t>()].dump();
    std::vector<std::string> of;
    for (const Json& each : *operands) {
      FATUNE_TRY(std::string operand, text(each, where));
      of.push_back(std::move(operand));
    }
    if (sign == "select" && of.size() > 1) return select(of);
    static const std::map<std::string, std::string_view> kUnary = {{"+", "({})"},
                                                                   {"-", "(-{})"},
                                                                   {"!", "(!{})"},
                                                                   {"ceil", "ceil_div({}, 1)"},
                                                                   {"floor", "floor_div({}, 1)"}};
    if (const auto known = kUnary.find(sign); of.size() == 1 && known != kUnary.end())
      return replaced(std::string(known->second), "{}", of[0]);
    static const std::string kBinary[] = {
        "+", "-", "*", "%", "==", "!=", "<", ">", "<=", ">=", "&&", "||"};
    if (of.size() == 2 && sign == "/") return fmt::format("floor_div({}, {})", of[0], of[1]);
    if (of.size() == 2 && contains(kBinary, sign))
      return fmt::format("({} {} {})", of[0], sign, of[1]);
    return fields.error("operator", "is " + sign + ", which manifests cannot express");
  }

 private:
  /// select(index, a, b, c) is one of a, b and c.
  static std::string select(const std::vector<std::string>& of) {
    std::string text = of.back();
    for (std::size_t i = of.size() - 2; i >= 1; --i)
      text = fmt::format("(({}) == {} ? {} : {})", of[0], i - 1, of[i], text);
    return text;
  }

  const Json& problem_size_;
};

class Capture {
 public:
  Capture(const Fields& capture, const Fields& kernel, const fs::path& file,
          const Json& problem_size)
      : json_(capture), kernel_(kernel), trees_(problem_size) {
    out_.where = file.string();
    out_.folders = {fs::absolute(file).parent_path()};
    out_.own_macros = true;
  }

  Result<Specification> read() {
    FATUNE_TRY_STATUS(read_space());
    FATUNE_TRY_STATUS(read_source());
    FATUNE_TRY_STATUS(read_macros());
    FATUNE_TRY_STATUS(read_axes("grid_size", out_.grid));
    FATUNE_TRY_STATUS(read_axes("block_size", out_.block));
    if (kernel_.has("shared_memory")) {
      FATUNE_TRY(out_.shared_bytes, tree(kernel_.json()["shared_memory"], "shared_memory"));
    }
    FATUNE_TRY(const auto arguments, json_.objects_or_empty("arguments"));
    for (const Fields& argument : arguments) FATUNE_TRY_STATUS(read_argument(argument));
    return std::move(out_);
  }

 private:
  Result<std::string> tree(const Json& json, const std::string& field) const {
    return trees_.text(json, field_place(kernel_.where(), field));
  }

  Status read_space() {
    FATUNE_TRY(const Fields space, json_.object("config_space"));
    FATUNE_TRY(const auto parameters, space.objects_or_empty("parameters"));
    for (const Fields& fields : parameters) {
      Parameter parameter;
      FATUNE_TRY(parameter.name, fields.text("name"));
      FATUNE_TRY(const Json* values, fields.value("values"));
      if (!values->is_array() || values->empty()) return fields.error("values", "must be a list");
      for (const Json& each : *values) {
        Value value = value_from_json(each);
        if (value.kind == Value::Kind::kWord) {
          if (!each.is_string())
            return fields.error("values", "has " + each.dump() +
                                              "; whole numbers, truth values "
                                              "and words can be tuned");
          value.number = static_cast<std::int64_t>(parameter.values.size());
        }
        if (fields.has("default") && each == fields.json()["default"])
          parameter.default_position = parameter.values.size();
        parameter.values.push_back(std::move(value));
      }
      out_.parameters.push_back(std::move(parameter));
    }
    if (!space.has("restrictions")) return {};
    for (const Json& each : space.json()["restrictions"]) {
      FATUNE_TRY(std::string rule, trees_.text(each, field_place(space.where(), "restrictions")));
      out_.rules.push_back(std::move(rule));
    }
    return {};
  }

  Status read_source() {
    FATUNE_TRY(out_.function, kernel_.text("name"));
    FATUNE_TRY(out_.options, kernel_.texts_or("compile_flags", {}));
    if (kernel_.has("source")) {
      FATUNE_TRY(out_.source, kernel_.text("source"));
    } else {
      FATUNE_TRY(const std::string file, kernel_.text("file"));
      // The path of the machine that captured, or the name beside the capture.
      std::vector<fs::path> folders = {fs::path(file).parent_path(), out_.folders.front()};
      FATUNE_TRY(out_.source, read_named(fs::path(file).filename().string(), folders,
                                         kernel_.error("file", "is '" + file +
                                                                   "', which is not there, nor "
                                                                   "beside the capture")));
      out_.folders.push_back(folders.front());
    }
    FATUNE_TRY(const auto headers, kernel_.objects_or_empty("headers"));
    for (const Fields& header : headers) {
      FATUNE_TRY(const std::string name, header.text("file"));
      if (!header.has("content") || header.json()["content"].is_null()) continue;
      FATUNE_TRY(std::string text, header.text("content"));
      out_.files.push_back({name, std::move(text)});
    }
    return {};
  }

  Status read_macros() {
    std::vector<std::string> types;
    if (kernel_.has("template_args")) {
      for (const Json& each : kernel_.json()["template_args"]) {
        const bool known =
            !each.is_object() || (each.contains("operator") && each["operator"] == "parameter");
        if (!known)
          return kernel_.error("template_args",
                               "has an expression; parameters, numbers and types are known");
        FATUNE_TRY(std::string text, each.is_string() ? Result<std::string>(each.get<std::string>())
                                                      : tree(each, "template_args"));
        types.push_back(std::move(text));
      }
    }
    if (!types.empty()) out_.function += "<" + join(types, ", ") + ">";
    if (!kernel_.has("defines")) return {};
    FATUNE_TRY(const Fields defines, kernel_.object("defines"));
    for (const auto& [name, value] : defines.json().items()) {
      if (value.is_string()) {
        out_.options.push_back("-D" + name + "=" + value.get<std::string>());
        continue;
      }
      FATUNE_TRY(std::string text, tree(value, "defines." + name));
      out_.defines.push_back({name, std::move(text)});
    }
    return {};
  }

  Status read_axes(const char* field, std::array<std::string, 3>& axes) {
    FATUNE_TRY(const Json* list, kernel_.value(field));
    if (!list->is_array()) return kernel_.error(field, "must be a list");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      axes[i] = "1";
      if (i < list->size()) {
        FATUNE_TRY(axes[i], tree((*list)[i], field));
      }
    }
    return {};
  }

  Status read_argument(const Fields& argument) {
    FATUNE_TRY(std::string spelled, argument.text("type"));
    FATUNE_TRY(const std::string kind, argument.text("kind"));
    const bool constant = spelled.find("const") != std::string::npos;
    for (const char* word : {"const", "*"}) spelled = replaced(spelled, word, " ");
    const auto type = split_scalar(std::string(trim(spelled)) + " 0");
    const bool pointer = argument.json()["type"].get<std::string>().find('*') != std::string::npos;
    if (!type || (kind == "scalar") == pointer)
      return argument.error("type",
                            fmt::format("is {} of kind {}; arrays and scalars of {} are "
                                        "known",
                                        argument.json()["type"].dump(), kind, scalar_types()));
    if (kind == "scalar") return read_scalar(argument, *type->type);
    FATUNE_TRY(const std::string bytes, data(argument, "file"));
    const auto elements = static_cast<std::int64_t>(bytes.size() / type->type->bytes);
    if (elements == 0) return argument.error("file", "has no elements");
    SpecifiedTensor tensor{fmt::format("argument_{}", out_.arguments.size()),
                           std::string(type->type->name), elements};
    tensor.output = !constant;
    const std::string name = add(std::move(tensor), bytes);
    out_.arguments.push_back(name);
    if (constant || !argument.has("reference_file")) return {};
    FATUNE_TRY(const std::string after, data(argument, "reference_file"));
    if (after.size() != bytes.size())
      return argument.error("reference_file", "has another size than 'file'");
    SpecifiedTensor answer{name + "_answer", std::string(type->type->name), elements};
    answer.answer_of = name;
    add(std::move(answer), after);
    return {};
  }

  std::string add(SpecifiedTensor tensor, const std::string& bytes) {
    const std::string file = tensor.name + ".bin";
    tensor.fill_fields = Json({{"fill", "file"}, {"file", file}}).dump();
    out_.files.push_back({file, bytes});
    return out_.add(std::move(tensor)).name;
  }

  /// Reads captured bytes, which may be packed.
  Result<std::string> data(const Fields& argument, const char* field) {
    FATUNE_TRY(const std::string name, argument.text(field));
    return read_named(name, std::span(out_.folders).first(1),
                      argument.error(field, "is '" + name + "', which is not beside the capture"));
  }

  Status read_scalar(const Fields& argument, const PlainFacts& type) {
    FATUNE_TRY(const Json* data, argument.value("data"));
    if (!data->is_array() || data->size() != type.bytes)
      return argument.error("data", fmt::format("must be {} bytes", type.bytes));
    std::uint64_t bits = 0;
    if (!std::ranges::all_of(*data, [](const Json& each) { return each.is_number_unsigned(); }))
      return argument.error("data", "must be bytes");
    for (std::size_t i = 0; i < type.bytes; ++i) bits |= (*data)[i].get<std::uint64_t>() << (8 * i);
    double value = 0;
    if (type.name == "f64") {
      std::memcpy(&value, &bits, sizeof value);
    } else if (type.name == "f32") {
      float single = 0;
      std::memcpy(&single, &bits, sizeof single);
      value = static_cast<double>(single);
    } else if (type.least < 0) {
      const auto shift = static_cast<unsigned>(64 - 8 * type.bytes);
      value = static_cast<double>(static_cast<std::int64_t>(bits << shift) >> shift);
    } else {
      value = static_cast<double>(bits);
    }
    const auto text = scalar_of(type, value);
    if (!text) return argument.error("data", text.error().message);
    out_.arguments.push_back(*text);
    return {};
  }

  const Fields& json_;
  const Fields& kernel_;
  Trees trees_;
  Specification out_;
};

}  // namespace

Result<Specification> specification_of_capture(const Json& json, const fs::path& file) {
  const Fields fields(json, file.string());
  FATUNE_TRY(const Fields kernel, fields.object("kernel"));
  static const Json kNone = Json::array();
  const bool sized = json.contains("problem_size") && json["problem_size"].is_array();
  const Json& size = sized ? json["problem_size"] : kNone;
  return Capture(fields, kernel, file, size).read();
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
