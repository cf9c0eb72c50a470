// external_description.cpp - finds and parses descriptions, fills in problems, applies what they
// support; the line that a program prints to microseconds.
#include "worker/protocol/external_description.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include "core/embedded.hpp"
#include "core/fields.hpp"
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
  if (placeholder == "dtype") return std::string(name(in_given_types(problem).dtype));
  if (problem.custom) {
    return file_error(fmt::format(
        "{}: there is no placeholder {{{}}}; there are dtype and those that 'sizes' names", where,
        placeholder));
  }
  if (placeholder == "mask") return std::string(name(problem.mask));
  if (placeholder == "layout") return name(problem.layouts);
  if (placeholder == "causal") return std::string(causal ? "1" : "0");
  constexpr std::string_view kChoice = "causal:";
  const std::size_t bar = placeholder.find('|');
  if (placeholder.starts_with(kChoice) && bar != std::string_view::npos) {
    return std::string(causal ? placeholder.substr(bar + 1)
                              : placeholder.substr(kChoice.size(), bar - kChoice.size()));
  }
  return file_error(
      fmt::format("{}: there is no placeholder {{{}}}; there are batch, heads, kv_heads, seq_q, "
                  "seq_kv, head_dim, dtype, mask, layout, causal, causal:A|B",
                  where, placeholder));
}

/// A small problem of what the program computes, to try placeholders and rules on.
Problem trial_of(const ExternalDescription& description) {
  Problem trial;
  if (description.sizes.empty()) return trial;
  trial.custom.emplace().operation = description.operation;
  for (const std::string& name : description.sizes) trial.custom->sizes.push_back({name, 1});
  return trial;
}

/// Placeholders and rules, tried on a small problem.
Status check_description(const ExternalDescription& description, const std::string& where) {
  const Problem trial = trial_of(description);
  for (const std::string& argument : description.arguments)
    FATUNE_TRY_STATUS(fill_in(argument, trial, field_place(where, "arguments")));
  const std::string supports = field_place(where, "supports");
  for (std::size_t i = 0; i < description.rules.size(); ++i) {
    const std::string place = field_place(supports, fmt::format("rules[{}]", i));
    FATUNE_TRY(const Expression rule, Expression::parse(description.rules[i].require, place));
    FATUNE_TRY_STATUS(rule.test(scope_of(trial)));
  }
  return {};
}

/// Why one of the words means nothing; empty when each does.
template <typename Parse>
std::string fault_of_words(const std::vector<std::string>& words, const Parse& parse) {
  for (const std::string& word : words) {
    if (const auto parsed = parse(word); !parsed) return "is wrong: " + parsed.error().message;
  }
  return "";
}

void count(FieldList& f, const char* key, std::int64_t& number, std::int64_t most) {
  f(key, number);
  f.rule(key, [&number, most] {
    return number >= 1 && number <= most ? "" : fmt::format("must be between 1 and {}", most);
  });
}

/// Empty lists allow everything.
template <typename List, typename Value>
bool allowed(const List& list, const Value& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

/// RE2 matches in linear time and bounded memory, wherever the pattern is from.
using Pattern = std::unique_ptr<const RE2>;
using Groups = std::vector<re2::StringPiece>;  // the first is the whole match

Result<Pattern> compile_pattern(const std::string& pattern) {
  constexpr std::size_t kLongest = 1000;  // chosen
  if (pattern.size() > kLongest)
    return file_error(fmt::format("is a pattern of more than {} characters", kLongest));
  auto compiled = std::make_unique<const RE2>(pattern, RE2::Quiet);
  if (compiled->ok()) return Pattern(std::move(compiled));
  return file_error(fmt::format("'{}' is no regular expression: {}", pattern, compiled->error()));
}

std::size_t count_groups(const RE2& pattern) {
  return static_cast<std::size_t>(pattern.NumberOfCapturingGroups());
}

constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
    {{"us", 1.0}, {"ms", 1e3}, {"s", 1e6}}};

const double* find_unit(std::string_view unit) {
  const auto found = std::ranges::find(kUnits, unit, [](const auto& each) { return each.first; });
  return found == kUnits.end() ? nullptr : &found->second;
}

/// Empty for no such group, or one that took no part in the match.
std::optional<double> number_in(const Groups& match, std::int64_t which) {
  const re2::StringPiece& group = match.at(static_cast<std::size_t>(which));
  if (which == 0 || group.data() == nullptr) return std::nullopt;
  return parse_number({group.data(), group.size()}).value_or(std::nan(""));
}

bool is_time(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value > 0;
}

Result<ExternalTimes> times_of(const Groups& match, const ExternalOutput& how) {
  const auto complain = [&](const std::string& problem) {
    return device_error(problem + " in '" + std::string(trim({match[0].data(), match[0].size()})) +
                        "'");
  };
  const auto hot = number_in(match, how.hot), cold = number_in(match, how.cold);
  if (!is_time(hot) || (cold && !is_time(cold))) return complain("there is a time that is none");
  ExternalTimes times;
  const double unit_us = how.unit_us ? *how.unit_us : *find_unit(how.unit);
  times.hot_us = *hot * unit_us;
  if (cold) times.cold_us = *cold * unit_us;
  times.tflops = number_in(match, how.tflops);
  times.error = number_in(match, how.error);
  // Written so that NaN is above every limit.
  if (times.error && how.error_limit && !(*times.error <= *how.error_limit)) {
    return complain(fmt::format("its own check found an error of {:.3g}, above {:.3g},",
                                *times.error, *how.error_limit));
  }
  return times;
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

void fields(ExternalRule& x, FieldList& f) {
  f.closed();
  f("require", x.require).required();
  f("why", x.why).required();
}

void fields(ExternalDescription& x, FieldList& f) {
  f.closed();
  f.derived("schema", std::string(kExternalSchema));
  f("name", x.name).required();
  f("summary", x.summary).required();
  f("homepage", x.homepage);
  f("licence", x.licence);
  f("install", x.install).required();
  f("program", x.program).required();
  f("operation", x.operation);
  f("sizes", x.sizes).omitted();
  f("arguments", x.arguments);
  f.group("supports", [&x](FieldList& g) {
    g.closed();
    g("dtypes", x.dtypes);
    g("masks", x.masks).omitted();
    g("head_dims", x.head_dims).omitted();
    g("layouts", x.layouts).omitted();
    g("rules", x.rules);
    g.rule("dtypes", [&x] { return fault_of_words(x.dtypes, parse_dtype); });
    g.rule("masks", [&x] { return fault_of_words(x.masks, parse_mask); });
    g.rule("layouts", [&x] { return fault_of_words(x.layouts, parse_layouts); });
  });
  f("output", x.output).required();
  count(f, "launches", x.launches, 1'000'000);
  count(f, "runs", x.runs, 10'000);
  count(f, "timeout_s", x.timeout_s, kMostSeconds);
  f("verifies", x.verifies).required();
}

Result<ExternalDescription> parse_external(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json document, parse_json(text, where));
  const Fields fields(document, where);
  FATUNE_TRY(const std::string schema, fields.text("schema"));
  if (schema != kExternalSchema) {
    return fields.error("schema",
                        fmt::format("is '{}'; this version reads '{}'", schema, kExternalSchema));
  }
  FATUNE_TRY(ExternalDescription description, from_json<ExternalDescription>(document, where));
  const bool custom = fields.has("operation");
  if (custom == description.sizes.empty()) {
    return fields.error("sizes", custom ? "must name the operation's sizes, for placeholders"
                                        : "goes with 'operation', which is missing");
  }
  for (const char* field : {"masks", "head_dims", "layouts"}) {
    if (custom && document.contains("supports") && document["supports"].contains(field)) {
      return file_error(fmt::format("{} is of attention, not of {}",
                                    field_place(field_place(where, "supports"), field),
                                    description.operation));
    }
  }
  FATUNE_TRY_STATUS(check_description(description, where));
  return description;
}

Result<std::string> refusal(const ExternalDescription& description, const Problem& asked) {
  const Problem problem = in_given_types(asked);
  const std::string wanted(operation_name(problem));
  if (description.operation != wanted)
    return "it computes " + description.operation + ", not " + wanted;
  if (!allowed(description.dtypes, name(problem.dtype))) {
    return fmt::format("it does {}, not {}", join(description.dtypes, ", "), name(problem.dtype));
  }
  if (!problem.custom && !allowed(description.masks, name(problem.mask))) {
    return fmt::format("it does the masks {}, not {}", join(description.masks, ", "),
                       name(problem.mask));
  }
  if (problem.scale) return std::string("it does the scale 1/sqrt(head_dim) alone");
  if (!allowed(description.head_dims, problem.head_dim)) {
    return fmt::format("it does the head dims {}, not {}", fmt::join(description.head_dims, ", "),
                       problem.head_dim);
  }
  const std::vector<std::string> layouts =
      description.layouts.empty() ? std::vector<std::string>{"bhsd"} : description.layouts;
  if (!allowed(layouts, name(problem.layouts))) {
    return fmt::format("it does the layouts {}, not {}", join(layouts, ", "),
                       name(problem.layouts));
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

Error no_external(const ExternalDescription& description) {
  return environment_error(
      fmt::format("the program '{}' is neither beside its description nor on PATH; it is {}",
                  description.program, description.install));
}

void fields(ExternalCommand& x, FieldList& f) {
  f("description", x.description).required();
  f("program", x.program).required();
  f("refusal", x.refusal).required();
}

Result<ExternalCommand> external_command(const std::string& name, const Problem& problem,
                                         const ExternalPlaces& places) {
  ExternalCommand command;
  FATUNE_TRY(command.description, load_external(name, places.folders));
  if (const auto program = find_external(command.description, places))
    command.program = program->string();
  FATUNE_TRY(command.refusal, refusal(command.description, problem));
  if (!command.refusal.empty()) return command;
  for (std::string& argument : command.description.arguments) {
    FATUNE_TRY(argument, fill_in(argument, problem, name));
  }
  return command;
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

void fields(ExternalOutput& x, FieldList& f) {
  f.closed();
  f("pattern", x.pattern).required();
  f("unit", x.unit);
  f("unit_us", x.unit_us).finite();
  const std::pair<const char*, std::int64_t*> groups[] = {
      {"hot_us", &x.hot}, {"cold_us", &x.cold}, {"tflops", &x.tflops}, {"error", &x.error}};
  for (const auto& [key, number] : groups) f(key, *number);
  f("error_limit", x.error_limit).finite();
  f.rule("", [&x] {
    const auto pattern = compile_pattern(x.pattern);
    return pattern ? "" : pattern.error().message;
  });
  for (const auto& [key, number] : groups) {
    f.rule(key, [&x, number = number] {
      const auto most = static_cast<std::int64_t>(count_groups(**compile_pattern(x.pattern)));
      if (*number >= 0 && *number <= most) return std::string();
      return fmt::format("is group {}; the pattern has {}", *number, most);
    });
  }
  f.rule("hot_us", [&x] { return x.hot == 0 ? "must name a group of the pattern" : ""; });
  f.rule("unit", [&x] {
    return find_unit(x.unit) ? "" : fmt::format("is '{}'; there are us, ms, s", x.unit);
  });
}

Result<ExternalTimes> read_external_output(std::string_view text, const ExternalOutput& how) {
  FATUNE_TRY(const Pattern pattern, compile_pattern(how.pattern));
  Groups match(count_groups(*pattern) + 1);
  for (const std::string& line : split(text, '\n')) {
    if (!pattern->Match(line, 0, line.size(), RE2::UNANCHORED, match.data(),
                        static_cast<int>(match.size())))
      continue;
    return times_of(match, how);
  }
  const std::string_view trimmed = trim(text);
  return device_error(trimmed.empty()
                          ? std::string("it printed nothing")
                          : "no line matches its description's pattern; it printed '" +
                                std::string(trimmed.substr(0, trimmed.find('\n'))) + "'");
}

}  // namespace fatune
