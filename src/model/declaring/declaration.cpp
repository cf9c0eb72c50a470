// declaration.cpp: Reads statements, and checks them against the CUDA file and each other.
#include "model/declaring/declaration.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/entry.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/kernel/vocabulary.hpp"
#include "model/wisdom/scalar.hpp"

namespace fatune {
namespace {

class DeclarationReader {
 public:
  DeclarationReader(const DeclaredSource& source, Faults& faults)
      : said_(source.sayings),
        text_(source.text),
        usual_kernel_(source.usual_kernel),
        file_(source.file.string()),
        functions_(global_functions(source.text)),
        faults_(faults) {}

  Declaration read() {
    read_parameters();
    for (const Said& said : said_.of("size")) result_.sizes.push_back(said.name);
    result_.problems = read_problems("size");
    result_.edges = read_problems("edge");
    read_arrays();
    read_launches();
    for (DeclaredStage* stage : stages()) pass_arguments(*stage);
    read_constants();
    check_arrays();
    check_names();
    check_expressions();
    read_tolerance();
    return std::move(result_);
  }

 private:
  void read_parameters() {
    for (const Said& said : said_.of("param")) {
      const auto values = parse_values(said.text);
      if (!values) faults_.add(said.where, said.name + ": " + values.error().message);
      const Json list = values ? *values : Json({1});
      result_.parameters.push_back(
          {{"name", said.name}, {"values", list}, {"default", list.front()}});
      const Said* const first = said_.find("default", said.name);
      if (first == nullptr || !values) continue;
      const auto value = parse_values(first->text);
      if (value && value->size() == 1 && std::ranges::count(list, value->front()) > 0)
        result_.parameters.back()["default"] = value->front();
      else
        faults_.add(first->where,
                    fmt::format("{}={} is not one of {}", said.name, first->text, dump(list)));
    }
    for (const Said& said : said_.of("default")) require("param", said.name, said.where);
  }

  /// Returns a problem for each value of the word's sizes. A size with one value has it in all
  /// problems. One that is not listed has its first value as a size.
  std::vector<Json> read_problems(std::string_view word) {
    std::vector<Json> problems;
    std::map<std::string, Json> values;
    for (const Said& said : said_.of(word)) {
      auto list = parse_values(said.text);
      const bool known = list && std::ranges::all_of(*list, [](const Json& each) {
                           return each.is_number() && each.get<std::int64_t>() > 0;
                         });
      if (!known)
        faults_.add(said.where,
                    fmt::format("{}={} must be whole numbers of at least 1", said.name, said.text));
      if (!require("size", said.name, said.where)) continue;
      values[said.name] = known ? *std::move(list) : Json({1});
      problems.resize(std::max(problems.size(), values[said.name].size()));
    }
    for (const std::string& name : result_.sizes) {
      const Json list = values.contains(name) ? values[name] : result_.problems.front()[name];
      const bool one = !list.is_array() || list.size() == 1;
      if (!one && list.size() != problems.size())
        faults_.add(file_, fmt::format("{} {} has {} values, but another has {}", word, name,
                                       list.size(), problems.size()));
      for (std::size_t i = 0; i < problems.size(); ++i)
        problems[i][name] = !list.is_array() ? list : list[std::min(i, list.size() - 1)];
    }
    return problems;
  }

  void read_arrays() {
    for (const Said& said : said_.of("array")) result_.arrays.push_back(parse_array(said, faults_));
    for (const Said& said : said_.of("output")) {
      const auto array = std::ranges::find(result_.arrays, said.name, &DeclaredArray::name);
      if (require("array", said.name, said.where)) array->output = true;
    }
  }

  void read_launches() {
    if (const Said* said = said_.find("reference"))
      result_.reference = parse_launch(*said, faults_);
    for (const Said& said : said_.of("launch"))
      result_.stages.push_back(parse_launch(said, faults_));
    const Said* const kernel = said_.find("kernel");
    Said only{nullptr, "", usual_kernel_, file_};
    if (result_.reference && function_of(result_.reference->entry) == only.text) only.text.clear();
    if (kernel != nullptr) only = *kernel;
    if (only.text.empty() && functions_.size() == 1) only.text = functions_.front().name;
    for (const char* word : {"kernel", "grid", "block", "shared"}) {
      const Said* const said = said_.find(word);
      if (said == nullptr) continue;
      if (!result_.stages.empty())
        faults_.add(said->where, "excludes 'launch', which says the same");
      if (said != kernel) only.text += fmt::format(" {} {}", word, said->text);
    }
    if (result_.stages.empty()) result_.stages.push_back(parse_launch(only, faults_));
  }

  std::vector<DeclaredStage*> stages() {
    std::vector<DeclaredStage*> all;
    for (DeclaredStage& stage : result_.stages) all.push_back(&stage);
    if (result_.reference) all.push_back(&*result_.reference);
    return all;
  }

  const GlobalFunction* function(std::string_view entry) const {
    const std::string_view name = function_of(entry);
    return find_named(functions_, name.substr(name.rfind(':') + 1));
  }

  void pass_arguments(DeclaredStage& stage) {
    const GlobalFunction* const known = function(stage.entry);
    if (known == nullptr) {
      const std::vector<std::string> names = names_of(functions_);
      faults_.add(stage.where,
                  fmt::format("{}; the __global__ functions of {} are: {}",
                              stage.entry.empty() ? "say which function is tuned: kernel NAME"
                                                  : "there is no function " + stage.entry,
                              file_, names.empty() ? "none" : join(names, ", ")));
      return;
    }
    if (!known->template_names.empty() && !is_instance(stage.entry))
      faults_.add(stage.where, fmt::format("{0} is a template; give its arguments: {0}<{1}>",
                                           stage.entry, join(known->template_names, ", ")));
    for (const DeclaredStage& other : result_.stages) {
      if (&other == &stage || (result_.reference && &stage == &*result_.reference)) break;
      if (function(other.entry) == known && other.entry != stage.entry)
        faults_.add(stage.where, fmt::format("launches {} with other template arguments; write a "
                                             "second function",
                                             known->name));
    }
    const std::vector<FunctionParameter> parameters = parameters_of(*known, stage.entry);
    if (stage.passed && stage.passed->size() != parameters.size()) {
      faults_.add(stage.where,
                  fmt::format("{} takes {}, not {}", stage.entry,
                              counted(parameters.size(), "argument"), stage.passed->size()));
      return;
    }
    for (std::size_t i = 0; i < parameters.size(); ++i)
      stage.arguments.push_back(
          argument(parameters[i], stage.passed ? (*stage.passed)[i] : parameters[i].name, stage));
  }

  /// Returns an argument of a manifest: an array's name, or "i32 n".
  std::string argument(const FunctionParameter& parameter, const std::string& text,
                       const DeclaredStage& stage) {
    const std::string title = fmt::format("parameter {} of {}", parameter.name, stage.entry);
    for (const std::string& name : {parameter.name, text}) {  // a macro would replace the name
      if (said_.find("size", name) != nullptr) result_.runtime.push_back(name);
    }
    if (parameter.pointer) {
      if (said_.find("array", text) == nullptr)
        faults_.add(
            stage.where,
            fmt::format("{0} is a pointer, but {1} is no array; add: array {1}[n]", title, text));
      take_type(text, parameter.type, stage.where);
      return text;
    }
    const auto type = element_type(parameter.type);
    if (!type || type->count > 1 || !plain_type_named(type->name))
      faults_.add(stage.where, fmt::format("{} has the type {}, which is not one of {}", title,
                                           parameter.type, scalar_types()));
    const Said* const scalar = said_.find("scalar", text);
    if (scalar != nullptr) passed_.push_back(text);
    if (said_.find("param", text) != nullptr && !stage.passed)
      faults_.add(stage.where, title + " has the name of a param, which is a macro; rename one");
    else if (scalar == nullptr && said_.find("size", text) == nullptr && !stage.passed)
      faults_.add(stage.where,
                  fmt::format("{0} has no value; add: size {1}=N or scalar {1}=X", title, text));
    return (type ? type->name : parameter.type) + " " + (scalar != nullptr ? scalar->text : text);
  }

  void take_type(const std::string& array, const std::string& type, const std::string& where) {
    const auto element = element_type(type);
    if (!element) {
      faults_.add(where, fmt::format("array {} has elements of the unknown type {}", array, type));
      return;
    }
    const ElementType& known = result_.types.try_emplace(array, *element).first->second;
    if (known.name != element->name || known.count != element->count)
      faults_.add(where, fmt::format("array {} is of {}, but also of {}", array, known.name,
                                     element->name));
  }

  void read_constants() {
    for (const Said& said : said_.of("constant")) {
      const std::string type = constant_type(text_, said.name);
      if (type.empty())
        faults_.add(said.where, "the file has no __constant__ variable " + said.name);
      else if (require("array", said.text, said.where))
        take_type(said.text, type, said.where);
    }
  }

  void check_arrays() {
    const bool all_known = std::ranges::all_of(
        stages(), [&](const DeclaredStage* each) { return function(each->entry) != nullptr; });
    for (const DeclaredArray& array : result_.arrays) {
      if (all_known && !result_.types.contains(array.name))
        faults_.add(array.where, "no launch takes " + array.name);
      if (array.scratch && (array.output || !array.fill.empty()))
        faults_.add(array.where, array.name + " is scratch, which is neither filled nor compared");
    }
    for (const Said& said : said_.of("scalar")) {
      if (all_known && !contains(passed_, said.name))
        faults_.add(said.where, "no launch takes " + said.name);
    }
    if (std::ranges::any_of(result_.arrays, &DeclaredArray::output)) return;
    std::vector<std::string> written;
    for (const GlobalFunction& function : functions_) {
      for (const FunctionParameter& each : function.parameters) {
        if (each.written && !contains(written, each.name)) written.push_back(each.name);
      }
    }
    faults_.add(file_, fmt::format("no array is an output; add: output {}",
                                   written.empty() ? "NAME" : join(written, ", ")));
  }

  /// A name has one meaning in expressions and arguments.
  void check_names() {
    if (result_.sizes.empty()) faults_.add(file_, "no size is said; add: size n=N");
    if (result_.parameters.empty())
      faults_.add(file_, "no param is said; add: param NAME=VALUES, a macro with values to try");
    std::map<std::string, std::string> taken;
    for (const char* word : {"size", "param", "array", "scalar"}) {
      for (const Said& said : said_.of(word)) {
        const auto [other, is_new] = taken.try_emplace(said.name, said.where);
        if (!is_new)
          faults_.add(said.where,
                      fmt::format("{} is said already, by {}", said.name, other->second));
      }
    }
  }

  void check_expressions() {
    DeclaredOperation operation;
    for (const std::string& size : result_.sizes) operation.sizes.push_back({size, "", false});
    const std::vector<std::string> of_sizes = problem_names(operation);
    std::vector<std::string> all = fixed_names(operation);
    for (const Json& parameter : result_.parameters) {
      all.push_back(parameter["name"]);
      for (const Json& value : parameter["values"]) {
        if (value.is_string()) all.push_back(word_constant(all.back(), value.get<std::string>()));
      }
    }
    const auto check = [&](std::vector<std::string> texts, const std::string& where,
                           const std::vector<std::string>& known) {
      for (const std::string& text : texts) faults_.take(check_expression(text, where, known));
    };
    for (const DeclaredArray& array : result_.arrays)
      check(array.extents, array.where, array.scratch ? all : of_sizes);
    for (const char* word : {"where", "scalar"}) {
      for (const Said& said : said_.of(word)) check({said.text}, said.where, all);
    }
    for (const DeclaredStage* stage : stages()) {
      const auto place = [&](std::string_view part) {
        const Said* const said = stage == &result_.stages.front() ? said_.find(part) : nullptr;
        return said != nullptr ? said->where : stage->where;
      };
      check(stage->grid, place("grid"), all);
      check(stage->block, place("block"), all);
      if (!stage->shared.empty()) check({stage->shared}, place("shared"), all);
    }
  }

  void read_tolerance() {
    const Said* const said = said_.find("tolerance");
    if (said == nullptr) return;
    std::vector<std::string> words = split(replaced(replaced(said->text, "=", " "), ",", " "), ' ');
    std::erase(words, "");
    Json& tolerance = result_.tolerance.emplace();
    for (std::size_t i = 0; i < words.size(); i += 2) {
      const auto number = i + 1 < words.size() ? parse_number(words[i + 1]) : std::nullopt;
      if (number && (words[i] == "relative" || words[i] == "absolute"))
        tolerance[words[i]] = *number;
      else
        return faults_.form(said->where, said->text, "relative=1e-4 absolute=1e-6");
    }
  }

  /// Reports a name that no statement of the word declares.
  bool require(std::string_view word, const std::string& name, const std::string& where) {
    if (said_.find(word, name) != nullptr) return true;
    std::vector<std::string> names;
    for (const Said& each : said_.of(word)) names.push_back(each.name);
    faults_.add(where, fmt::format("there is no {} {}{}", word, name,
                                   nearest_hint(name, names, "; did you mean {}?")));
    return false;
  }

  const Sayings& said_;
  const std::string& text_;
  const std::string& usual_kernel_;
  std::string file_;
  std::vector<GlobalFunction> functions_;
  Faults& faults_;
  Declaration result_;
  std::vector<std::string> passed_;  ///< scalars
};

}  // namespace

Declaration read_declaration(const DeclaredSource& source, Faults& faults) {
  return DeclarationReader(source, faults).read();
}

}  // namespace fatune
