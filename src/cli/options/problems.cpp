// problems.cpp: Resolves shapes, suites and configs into problems and candidates.
#include "cli/options/problems.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/file.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/problem/scores.hpp"

namespace fatune::cli {
namespace {

Result<Dtype> dtype_of(const std::string& flag, const std::string& text) {
  auto dtype = parse_dtype(text);
  if (!dtype) return usage_error(flag + ": " + dtype.error().message);
  return dtype;
}

Result<Dtype> resolve_dtype(const ProblemArgs& args) {
  return dtype_of("--dtype", args.dtype.empty() ? "f16" : args.dtype);
}

Result<std::optional<Dtype>> resolve_out_dtype(const ProblemArgs& args, Dtype dtype) {
  const std::optional<Dtype> usual = default_out_dtype(dtype);
  if (args.out_dtype.empty()) return usual;
  FATUNE_TRY(const Dtype typed, dtype_of("--out-dtype", args.out_dtype));
  if (!usual) {
    return usage_error(
        fmt::format("--out-dtype requires --dtype e4m3 or e5m2; the output of {} is {}",
                    name(dtype), name(dtype)));
  }
  if (size_of(typed) == 2) return std::optional(typed);
  return usage_error(fmt::format("--out-dtype: must be f16 or bf16, not {}", name(typed)));
}

Result<Quant> resolve_quant(const ProblemArgs& args, Dtype dtype) {
  if (args.quant.empty()) return Quant::kGiven;
  const auto quant = parse_quant(args.quant);
  if (!quant) return usage_error("--quant: " + quant.error().message);
  if (size_of(dtype) == 1) return *quant;
  return usage_error(
      fmt::format("--quant requires --dtype e4m3 or e5m2; {} is not quantized", name(dtype)));
}

/// Applies --layout. Errors begin with `place`, such as the name of a suite's problem.
Result<Attention> with_layouts(Attention problem, std::string_view layout, std::string_view place) {
  const auto refused = [&](const std::string& why) {
    return usage_error(fmt::format("--layout {}: {}{}", layout, place, why));
  };
  const Result<Layouts> layouts = parse_layouts(layout);
  if (!layouts) return refused(layouts.error().message);
  problem.layouts = *layouts;
  if (const Status valid = validate(problem); !valid) return refused(valid.error().message);
  return problem;
}

Result<Attention> scaled(Attention problem, const ProblemArgs& args) {
  problem.alibi = args.alibi;
  problem.sink = args.sink;
  if (!args.softcap.empty()) {
    problem.softcap = parse_number(args.softcap);
    if (!problem.softcap)
      return usage_error(fmt::format("--softcap: '{}' is not a number", args.softcap));
  }
  if (!args.bias.empty()) {
    auto bias = parse_bias(args.bias);
    if (!bias) return usage_error("--bias: " + bias.error().message);
    problem.bias = *bias;
  }
  for (const std::string& text : args.tensors) {
    auto tensor = parse_named_tensor(text);
    if (!tensor) return usage_error("--tensor: " + tensor.error().message);
    problem.tensors.push_back(*std::move(tensor));
  }
  if (const Status set = set_score(problem, args.score); !set)
    return usage_error("--score: " + set.error().message);
  if (args.scale.empty()) return problem;
  const auto scale = parse_number(args.scale);
  if (!scale) return usage_error(fmt::format("--scale: '{}' is not a number", args.scale));
  return with_scale(problem, *scale);
}

Result<Mask> resolve_mask(const ProblemArgs& args) {
  if (args.mask.empty()) return args.causal ? Mask::kCausal : Mask::kNone;
  if (args.causal) return usage_error("--causal and --mask exclude each other; leave one out");
  auto mask = parse_mask(args.mask);
  if (!mask) return usage_error("--mask: " + mask.error().message);
  return mask;
}

Result<Attention> resolve_shape(const std::string& shape, const ProblemArgs& args) {
  if (std::string commas = shape; shape.find(',') == std::string::npos) {
    std::replace(commas.begin(), commas.end(), 'x', ',');
    if (parse_shape(commas))
      return usage_error(fmt::format("--shape {}: did you mean --shape {}?", shape, commas));
  }
  FATUNE_TRY(Attention problem, parse_shape(shape));
  FATUNE_TRY(problem.dtype, resolve_dtype(args));
  FATUNE_TRY(problem.out_dtype, resolve_out_dtype(args, problem.dtype));
  FATUNE_TRY(problem.quant, resolve_quant(args, problem.dtype));
  problem.lse = args.lse;
  FATUNE_TRY(problem, scaled(problem, args));
  if (!args.kv_heads.empty()) {
    FATUNE_TRY(problem.kv_heads, whole_number("--kv-heads", args.kv_heads, 1));
    if (problem.heads % problem.kv_heads != 0) {
      return usage_error(fmt::format("--kv-heads: {} does not divide the {} heads of --shape {}",
                                     args.kv_heads, problem.heads, shape));
    }
  }
  if (!args.seq_kv.empty()) {
    FATUNE_TRY(problem.seq_kv, whole_number("--seq-kv", args.seq_kv, 1));
  }
  if (!args.value_dim.empty()) {
    FATUNE_TRY(const auto columns, whole_number("--value-dim", args.value_dim, 1));
    problem = with_value_dim(problem, columns);
  }
  FATUNE_TRY(const Mask mask, resolve_mask(args));
  problem.mask = canonical(mask, problem.seq_q, problem.seq_kv);
  if (auto valid = validate(problem); !valid)
    return usage_error("--shape " + shape + ": " + valid.error().message);
  return args.layout.empty() ? problem : with_layouts(problem, args.layout, "");
}

Error attention_only_error(const std::string& flag, const DeclaredOperation& operation) {
  return usage_error(flag + " is for attention; the kernel computes " + operation.name + ": " +
                     operation.example());
}

/// Typed options that only attention has, beside --shape.
std::vector<std::string> attention_flags(const ProblemArgs& args) {
  std::vector<std::string> flags;
  if (!args.out_dtype.empty()) flags.emplace_back("--out-dtype");
  if (!args.quant.empty()) flags.emplace_back("--quant");
  if (!args.mask.empty()) flags.emplace_back("--mask");
  if (args.causal) flags.emplace_back("--causal");
  if (args.lse) flags.emplace_back("--lse");
  if (!args.kv_heads.empty()) flags.emplace_back("--kv-heads");
  if (!args.seq_kv.empty()) flags.emplace_back("--seq-kv");
  if (!args.value_dim.empty()) flags.emplace_back("--value-dim");
  if (!args.layout.empty()) flags.emplace_back("--layout");
  if (!args.scale.empty()) flags.emplace_back("--scale");
  if (!args.softcap.empty()) flags.emplace_back("--softcap");
  if (!args.bias.empty()) flags.emplace_back("--bias");
  if (args.alibi) flags.emplace_back("--alibi");
  if (!args.score.empty()) flags.emplace_back("--score");
  if (!args.tensors.empty()) flags.emplace_back("--tensor");
  if (args.sink) flags.emplace_back("--sink");
  return flags;
}

/// Problems of --size and --dtype.
Result<std::vector<NamedProblem>> resolve_sizes(const ProblemArgs& args,
                                                const DeclaredOperation& operation) {
  if (!args.shapes.empty()) return attention_only_error("--shape", operation);
  if (!args.suite.empty()) return attention_only_error("--suite", operation);
  const std::vector<std::string> flags = attention_flags(args);
  if (!flags.empty()) return attention_only_error(flags.front(), operation);
  if (args.sizes.empty()) {
    return usage_error("no problem given: add the sizes of " + operation.name + ", such as " +
                       operation.example());
  }
  if (!operation.typed && !args.dtype.empty()) {
    return usage_error("--dtype: every tensor of " + operation.name +
                       " has a type of its own; leave it out");
  }
  FATUNE_TRY(const Dtype dtype, resolve_dtype(args));
  std::vector<NamedProblem> problems;
  for (const std::string& text : args.sizes) {
    FATUNE_TRY(const auto sizes, parse_sizes(text, "--size"));
    auto problem = operation.problem(sizes, dtype);
    if (!problem) return usage_error("--size " + text + ": " + problem.error().message);
    FATUNE_TRY_STATUS(operation.check_data(*problem));
    problems.push_back({"", *std::move(problem)});
  }
  return problems;
}

/// Whether the path looks like a task of another benchmark instead of a suite.
bool looks_like_task(const std::filesystem::path& path) {
  const std::filesystem::path extension = path.extension();
  return std::filesystem::is_directory(path) || extension == ".py" || extension == ".yml" ||
         extension == ".yaml";
}

Error task_error(const std::string& path) {
  return usage_error(
      fmt::format("--suite: '{0}' is not a suite. Turn a task of another benchmark into one: "
                  "python -m fatune import {0} -o suite.json",
                  path));
}

/// Loads a suite. --layout applies to all of its problems if the suite sets no layout.
Result<std::vector<NamedProblem>> resolve_suite(const ProblemArgs& args) {
  FATUNE_TRY(Suite suite, load_suite(args.suite));
  for (const std::string& each : suite.left_out) log::warn("left out: " + each);
  ProblemArgs others = args;
  others.layout.clear();
  FATUNE_TRY_STATUS(refuse_companions(others, "--suite " + args.suite));
  if (args.layout.empty()) return std::move(suite.problems);
  for (NamedProblem& named : suite.problems) {
    const Attention& problem = named.problem.as_attention();
    if (!problem.layouts.plain()) {
      return usage_error(
          fmt::format("--layout: --suite {} sets its own layouts ({} is {}); leave out --layout",
                      args.suite, named.name, name(problem.layouts)));
    }
    FATUNE_TRY(named.problem, with_layouts(problem, args.layout, named.name + ": "));
  }
  return std::move(suite.problems);
}

Status refuse_twice(const std::string& flag, const std::vector<std::string>& values) {
  for (auto value = values.begin(); value != values.end(); ++value) {
    if (std::find(values.begin(), value, *value) != value)
      return usage_error(fmt::format("{} {}: given twice", flag, *value));
  }
  return {};
}

Implementation finalist(const KernelRef& kernel, Config config, const NamedProblem& named) {
  Implementation chosen = implementation_of({kernel, std::move(config), named.problem});
  chosen.problem_name = named.name;
  return chosen;
}

Result<std::vector<Implementation>> from_kernel(const ChoiceArgs& args, const Catalog& catalog) {
  FATUNE_TRY(const KernelRef kernel, find_kernel(catalog, args.kernel));
  FATUNE_TRY(const auto problems, resolve_problems(args.problem, kernel->manifest.operation));
  std::vector<Implementation> chosen;
  for (const NamedProblem& named : problems)
    chosen.push_back(finalist(kernel, default_config(kernel->manifest), named));
  return chosen;
}

/// Chooses the config of each problem. Leaves out configs that cannot be used, if others can.
Result<std::vector<Implementation>> from_file(const ChoiceArgs& args, const Catalog& catalog) {
  FATUNE_TRY(const BestFile file, load_best_file(args.config));
  const std::vector<SavedConfig> saved = configs_of(file);
  FATUNE_TRY(const auto uses, config_uses(saved, args.problem, args.config, catalog));
  std::vector<Implementation> chosen;
  std::vector<Error> refused;
  for (const ConfigUse& use : uses) {
    auto candidate = chosen_of(saved[use.position], use.problem, args.config, catalog);
    if (candidate) {
      chosen.push_back(*std::move(candidate));
    } else {
      refused.push_back(std::move(candidate).error());
    }
  }
  if (chosen.empty()) return refused.front();
  for (const Error& each : refused) log::warn("left out: " + each.message);
  return chosen;
}

}  // namespace

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_config_files())
    names.push_back(std::filesystem::path(file.path).stem());
  return names;
}

Result<Suite> load_suite(const std::string& name_or_file) {
  for (const EmbeddedFile& file : embedded_config_files()) {
    if (std::filesystem::path(file.path).stem() == name_or_file)
      return parse_suite(file.text, std::string(file.path));
  }
  if (!std::filesystem::exists(name_or_file)) {
    const std::vector<std::string> names = suite_names();
    return usage_error(fmt::format("--suite: '{}' is neither a suite ({}) nor a file{}",
                                   name_or_file, join(names, ", "),
                                   nearest_hint(name_or_file, names, "; did you mean {}?")));
  }
  if (looks_like_task(name_or_file)) return task_error(name_or_file);
  FATUNE_TRY(const std::string text, read_file(name_or_file));
  const Result<Json> document = parse_json(text, name_or_file);
  if (document && document->is_object() && document->contains("axes"))
    return task_error(name_or_file);
  return parse_suite(text, name_or_file);
}

bool names_problem(const ProblemArgs& args) {
  return !args.shapes.empty() || !args.sizes.empty() || !args.suite.empty();
}

Status refuse_companions(const ProblemArgs& args, const std::string& source) {
  std::vector<std::string> flags = attention_flags(args);
  if (!args.dtype.empty()) flags.insert(flags.begin(), "--dtype");
  if (flags.empty()) return {};
  return usage_error(join(flags, ", ") + ": valid only with --shape or --size; " + source +
                     " sets every property of its problems");
}

Result<std::vector<NamedProblem>> resolve_problems(const ProblemArgs& args,
                                                   const OperationRef& operation) {
  FATUNE_TRY_STATUS(refuse_twice("--shape", args.shapes));
  FATUNE_TRY_STATUS(refuse_twice("--size", args.sizes));
  if (const DeclaredOperation* declared = operation->declared())
    return resolve_sizes(args, *declared);
  if (!args.sizes.empty()) {
    return usage_error(
        "--size is for kernels of a custom operation (docs/own_kernel.md): choose one with "
        "--kernel-dir and --kernel; the problems of attention are --shape B,H,S,D");
  }
  if (args.shapes.empty() && args.suite.empty()) {
    return usage_error(
        "no problem given: add --shape B,H,S,D (such as --shape 4,8,512,64) or --suite NAME");
  }
  if (!args.shapes.empty() && !args.suite.empty())
    return usage_error("--shape and --suite exclude each other; leave one out");
  if (!args.suite.empty()) return resolve_suite(args);
  std::vector<NamedProblem> problems;
  for (const std::string& shape : args.shapes) {
    FATUNE_TRY(problems.emplace_back().problem, resolve_shape(shape, args));
  }
  return problems;
}

Result<Implementation> chosen_of(const SavedConfig& entry, const NamedProblem& problem,
                                 const std::string& file, const Catalog& catalog) {
  auto kernel = find_kernel(catalog, entry.kernel, file + ": field 'kernel'");
  if (!kernel) return file_error(kernel.error().message);
  FATUNE_TRY(Config config, config_from_json((*kernel)->manifest, entry.config, file));
  return finalist(*kernel, std::move(config), problem);
}

Result<std::size_t> position_for(const std::vector<SavedConfig>& saved, const Problem& problem,
                                 const std::string& file) {
  std::vector<std::string> held;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].problem == problem) return i;
    if (saved[i].problem) held.push_back(describe(*saved[i].problem));
  }
  if (saved.size() == 1) return std::size_t{0};
  return usage_error(file + " has no config for " + describe(problem) + "; it has configs for " +
                     join(held, "; "));
}

Result<std::vector<ConfigUse>> config_uses(const std::vector<SavedConfig>& saved,
                                           const ProblemArgs& args, const std::string& file,
                                           const Catalog& catalog) {
  std::vector<ConfigUse> uses;
  if (!names_problem(args) && saved.front().problem) {
    FATUNE_TRY_STATUS(refuse_companions(args, file));
    for (const SavedConfig& each : saved) {
      if (!each.problem)
        return usage_error(file + ": a config names no problem; name one with --shape");
      uses.push_back({uses.size(), {each.problem_name, *each.problem}});
    }
    return uses;
  }
  FATUNE_TRY(const auto problems,
             resolve_problems(args, operation_of({saved.front().kernel}, catalog)));
  for (const NamedProblem& named : problems) {
    FATUNE_TRY(const std::size_t position, position_for(saved, named.problem, file));
    uses.push_back({position, named});
  }
  return uses;
}

Result<std::vector<Implementation>> resolve_choice(const ChoiceArgs& args, const Catalog& catalog) {
  if (args.config.empty() == args.kernel.empty()) {
    return usage_error("choose a config: --config FILE or --kernel NAME" +
                       std::string(args.config.empty() ? "" : ", not both"));
  }
  return args.config.empty() ? from_kernel(args, catalog) : from_file(args, catalog);
}

}  // namespace fatune::cli
