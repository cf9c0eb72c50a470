// external_description.cpp - finds and parses descriptions, fills in problems, applies what they
// support.
#include "worker/protocol/external_description.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/file.hpp"
#include "core/run_program.hpp"
#include "core/text.hpp"
#include "model/kernel/expression.hpp"

namespace fatune {
namespace {

constexpr std::string_view kExternalSchema = "fatune.external/1";
constexpr std::int64_t kMostSeconds = 100;  // the final phase waits 120 s for a sign of life

using Number = std::pair<std::string, std::int64_t>;

/// What placeholders and rules can name.
std::vector<Number> numbers_of(const Problem& problem) {
  std::vector<Number> numbers;
  if (problem.custom) {
    for (const NamedSize& size : problem.custom->sizes) numbers.emplace_back(size.name, size.value);
    return numbers;
  }
  return {{"batch", problem.batch}, {"heads", problem.heads},   {"kv_heads", problem.kv_heads},
          {"seq_q", problem.seq_q}, {"seq_kv", problem.seq_kv}, {"head_dim", problem.head_dim}};
}

Scope scope_of(const Problem& problem) {
  Scope scope;
  for (const auto& [name, value] : numbers_of(problem)) scope.set(name, static_cast<double>(value));
  return scope;
}

Result<std::string> value_of(std::string_view placeholder, const Problem& problem,
                             const std::string& where) {
  const bool causal = problem.mask == Mask::kCausal;
  for (const auto& [name, value] : numbers_of(problem)) {
    if (placeholder == name) return std::to_string(value);
  }
  if (placeholder == "dtype") return std::string(name(problem.dtype));
  if (problem.custom) {
    return file_error(
        fmt::format("{}: there is no placeholder {{{}}}; there are dtype and those "
                    "that 'sizes' names",
                    where, placeholder));
  }
  if (placeholder == "mask") return std::string(name(problem.mask));
  if (placeholder == "causal") return std::string(causal ? "1" : "0");
  constexpr std::string_view kChoice = "causal:";
  const std::size_t bar = placeholder.find('|');
  if (placeholder.starts_with(kChoice) && bar != std::string_view::npos) {
    return std::string(causal ? placeholder.substr(bar + 1)
                              : placeholder.substr(kChoice.size(), bar - kChoice.size()));
  }
  return file_error(fmt::format(
      "{}: there is no placeholder {{{}}}; there are batch, heads, kv_heads, seq_q, seq_kv, "
      "head_dim, dtype, mask, causal, causal:A|B",
      where, placeholder));
}

Result<std::vector<ExternalRule>> parse_rules(const Fields& supports, const Problem& trial) {
  std::vector<ExternalRule> rules;
  FATUNE_TRY(const auto entries, supports.objects_or_empty("rules"));
  for (const Fields& entry : entries) {
    FATUNE_TRY_STATUS(entry.only({"require", "why"}));
    ExternalRule rule;
    FATUNE_TRY(rule.require, entry.text("require"));
    FATUNE_TRY(rule.why, entry.text("why"));
    FATUNE_TRY(const Expression expression, Expression::parse(rule.require, entry.where()));
    FATUNE_TRY(const bool tried, expression.test(scope_of(trial)));
    static_cast<void>(tried);
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<std::vector<std::int64_t>> parse_head_dims(const Fields& supports) {
  std::vector<std::int64_t> sizes;
  if (!supports.has("head_dims")) return sizes;
  FATUNE_TRY(const Json* list, supports.value("head_dims"));
  if (!list->is_array()) return supports.error("head_dims", "must be a list of sizes");
  for (const Json& size : *list) {
    if (!size.is_number_integer()) return supports.error("head_dims", "must be a list of sizes");
    sizes.push_back(size.get<std::int64_t>());
  }
  return sizes;
}

/// A small problem of what the program computes, to try placeholders and rules on.
Result<Problem> parse_operation(const Fields& fields, ExternalDescription& description) {
  Problem trial;
  FATUNE_TRY(description.operation, fields.text_or("operation", description.operation));
  FATUNE_TRY(description.sizes, fields.texts_or("sizes", {}));
  const bool custom = fields.has("operation");
  if (custom == description.sizes.empty()) {
    return fields.error("sizes", custom ? "must name the operation's sizes, for placeholders"
                                        : "goes with 'operation', which is missing");
  }
  if (!custom) return trial;
  trial.custom.emplace().operation = description.operation;
  for (const std::string& name : description.sizes) trial.custom->sizes.push_back({name, 1});
  return trial;
}

Status parse_supports(const Fields& fields, const Problem& trial,
                      ExternalDescription& description) {
  if (!fields.has("supports")) return {};
  FATUNE_TRY(const Fields supports, fields.object("supports"));
  FATUNE_TRY_STATUS(supports.only({"dtypes", "masks", "head_dims", "rules"}));
  for (const char* field : {"masks", "head_dims"}) {
    if (trial.custom && supports.has(field))
      return supports.error(field, "is of attention, not of " + description.operation);
  }
  FATUNE_TRY(description.dtypes, supports.texts_or("dtypes", {}));
  for (const std::string& text : description.dtypes) {
    if (const auto dtype = parse_dtype(text); !dtype)
      return supports.error("dtypes", "is wrong: " + dtype.error().message);
  }
  FATUNE_TRY(description.masks, supports.texts_or("masks", {}));
  for (const std::string& text : description.masks) {
    if (const auto mask = parse_mask(text); !mask)
      return supports.error("masks", "is wrong: " + mask.error().message);
  }
  FATUNE_TRY(description.head_dims, parse_head_dims(supports));
  FATUNE_TRY(description.rules, parse_rules(supports, trial));
  return {};
}

Result<std::int64_t> count(const Fields& fields, std::string_view key, std::int64_t fallback,
                           std::int64_t most) {
  FATUNE_TRY(const std::int64_t number, fields.integer_or(key, fallback));
  if (number < 1 || number > most)
    return fields.error(key, fmt::format("must be between 1 and {}", most));
  return number;
}

/// Empty lists allow everything.
bool allowed(const std::vector<std::string>& list, std::string_view value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Result<std::string> fill_in(std::string_view text, const Problem& problem,
                            const std::string& where) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    filled += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos)
      return file_error(where + ": '" + std::string(text.substr(open)) + "' has no closing brace");
    FATUNE_TRY(const std::string value,
               value_of(text.substr(open + 1, close - open - 1), problem, where));
    filled += value;
    text.remove_prefix(close + 1);
  }
  return filled;
}

Result<ExternalDescription> parse_external(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_json(text, where));
  const Fields fields(document, where);
  FATUNE_TRY(const std::string schema, fields.text("schema"));
  if (schema != kExternalSchema) {
    return fields.error("schema",
                        fmt::format("is '{}'; this version reads '{}'", schema, kExternalSchema));
  }
  FATUNE_TRY_STATUS(fields.only({"schema", "name", "summary", "homepage", "licence", "install",
                                 "program", "operation", "sizes", "arguments", "supports", "output",
                                 "launches", "runs", "timeout_s", "verifies"}));
  ExternalDescription description;
  FATUNE_TRY(description.name, fields.text("name"));
  FATUNE_TRY(description.summary, fields.text("summary"));
  FATUNE_TRY(description.homepage, fields.text_or("homepage", ""));
  FATUNE_TRY(description.licence, fields.text_or("licence", ""));
  FATUNE_TRY(description.install, fields.text("install"));
  FATUNE_TRY(description.program, fields.text("program"));
  FATUNE_TRY(const Problem trial, parse_operation(fields, description));
  FATUNE_TRY(description.arguments, fields.texts_or("arguments", {}));
  for (const std::string& argument : description.arguments) {
    FATUNE_TRY(const std::string tried, fill_in(argument, trial, where + ": field 'arguments'"));
    static_cast<void>(tried);
  }
  FATUNE_TRY_STATUS(parse_supports(fields, trial, description));
  FATUNE_TRY(const Fields output, fields.object("output"));
  FATUNE_TRY(description.output, external_output_from_json(output));
  FATUNE_TRY(description.launches, count(fields, "launches", 1, 1'000'000));
  FATUNE_TRY(description.runs, count(fields, "runs", 3, 10'000));
  FATUNE_TRY(description.timeout_s, count(fields, "timeout_s", 60, kMostSeconds));
  FATUNE_TRY(description.verifies, fields.text("verifies"));
  return description;
}

Result<std::string> refusal(const ExternalDescription& description, const Problem& problem) {
  const std::string wanted(operation_name(problem));
  if (description.operation != wanted)
    return "it computes " + description.operation + ", not " + wanted;
  if (!allowed(description.dtypes, name(problem.dtype))) {
    return "it does " + join(description.dtypes, ", ") + ", not " +
           std::string(name(problem.dtype));
  }
  if (!problem.custom && !allowed(description.masks, name(problem.mask))) {
    return "it does the masks " + join(description.masks, ", ") + ", not " +
           std::string(name(problem.mask));
  }
  const auto& sizes = description.head_dims;
  if (!sizes.empty() && std::find(sizes.begin(), sizes.end(), problem.head_dim) == sizes.end()) {
    return fmt::format("it does the head dims {}, not {}", fmt::join(sizes, ", "),
                       problem.head_dim);
  }
  const Scope scope = scope_of(problem);
  for (const ExternalRule& rule : description.rules) {
    FATUNE_TRY(const Expression expression, Expression::parse(rule.require, description.name));
    FATUNE_TRY(const bool holds, expression.test(scope));
    if (!holds) return "it needs " + rule.require + ": " + rule.why;
  }
  return std::string();
}

Result<ExternalDescription> load_external(const std::string& name,
                                          const std::vector<std::filesystem::path>& folders) {
  const std::string file = name + ".json";
  for (const auto& folder : folders) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(folder / file, ignored)) continue;
    FATUNE_TRY(const std::string text, read_file(folder / file));
    return parse_external(text, (folder / file).string());
  }
  for (const EmbeddedFile& embedded : embedded_external_files()) {
    if (embedded.path == file) return parse_external(embedded.text, "configs/external/" + file);
  }
  const auto known = external_names(folders);
  const auto nearest = nearest_name(name, known);
  return usage_error("there is no external program '" + name + "'" +
                     (nearest ? "; did you mean " + *nearest + "?"
                              : "; there are " + join(known, ", ") +
                                    ", and those in folders given with --external-dir"));
}

std::optional<std::filesystem::path> find_external(const ExternalDescription& description,
                                                   const ExternalPlaces& places) {
  std::vector<std::filesystem::path> folders = places.folders;
  folders.insert(folders.end(), places.program_folders.begin(), places.program_folders.end());
  return find_program(description.program, folders);
}

Error no_external(const std::string& program, const std::string& install) {
  return environment_error("the program '" + program +
                           "' is neither beside its description nor on PATH; it is " + install);
}

Result<Json> external_settings(const std::string& name, const Problem& problem,
                               const ExternalPlaces& places) {
  FATUNE_TRY(const ExternalDescription description, load_external(name, places.folders));
  const auto program = find_external(description, places);
  Json settings = {
      {"name", description.name},           {"program", program ? program->string() : ""},
      {"wanted", description.program},      {"install", description.install},
      {"arguments", Json::array()},         {"output", to_json(description.output)},
      {"launches", description.launches},   {"runs", description.runs},
      {"timeout_s", description.timeout_s}, {"verifies", description.verifies}};
  FATUNE_TRY(settings["refusal"], refusal(description, problem));
  if (settings["refusal"] != "") return settings;
  for (const std::string& argument : description.arguments) {
    FATUNE_TRY(const std::string filled, fill_in(argument, problem, name));
    settings["arguments"].push_back(filled);
  }
  return settings;
}

std::vector<std::string> external_names(const std::vector<std::filesystem::path>& folders) {
  std::set<std::string> names;
  for (const EmbeddedFile& file : embedded_external_files())
    names.insert(std::filesystem::path(file.path).stem());
  for (const auto& folder : folders) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".json") names.insert(entry.path().stem());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace fatune
