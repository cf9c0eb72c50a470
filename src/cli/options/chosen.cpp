// chosen.cpp - reads a config file or takes a kernel's default, for the problems asked for.
#include "cli/options/chosen.hpp"

#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "core/text.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune::cli {
namespace {

Implementation finalist(Candidate candidate, const std::string& problem_name) {
  Implementation chosen = implementation_of(std::move(candidate), "finalist");
  chosen.problem_name = problem_name;
  return chosen;
}

Result<std::vector<Implementation>> from_kernel(const ChoiceArgs& args,
                                                const std::vector<KernelRef>& catalog) {
  FATUNE_TRY(const KernelRef kernel, find_kernel(catalog, args.kernel));
  FATUNE_TRY(const auto problems, resolve_problems(args.problem, kernel->manifest.operation));
  std::vector<Implementation> chosen;
  for (const NamedProblem& named : problems) {
    chosen.push_back(
        finalist({kernel, default_config(kernel->manifest), named.problem}, named.name));
  }
  return chosen;
}

Result<std::vector<Implementation>> from_file(const ChoiceArgs& args,
                                              const std::vector<KernelRef>& catalog) {
  FATUNE_TRY(const BestFile file, load_best_file(args.config));
  const std::vector<SavedConfig> saved = configs_of(file);
  std::vector<Implementation> chosen;
  if (names_problem(args.problem) || !saved.front().problem) {
    FATUNE_TRY(const KernelRef kernel, find_kernel(catalog, saved.front().kernel));
    FATUNE_TRY(const auto problems, resolve_problems(args.problem, kernel->manifest.operation));
    for (const NamedProblem& named : problems) {
      FATUNE_TRY(const SavedConfig entry, config_for(saved, named.problem, args.config));
      FATUNE_TRY(Implementation candidate, chosen_of(entry, named, args.config, catalog));
      chosen.push_back(std::move(candidate));
    }
    return chosen;
  }
  FATUNE_TRY_STATUS(refuse_companions(args.problem, args.config));
  for (const SavedConfig& entry : saved) {
    if (!entry.problem) return usage_error(args.config + ": a config of it names no problem");
    const NamedProblem named{entry.problem_name, *entry.problem};
    FATUNE_TRY(Implementation candidate, chosen_of(entry, named, args.config, catalog));
    chosen.push_back(std::move(candidate));
  }
  return chosen;
}

}  // namespace

Result<Implementation> chosen_of(const SavedConfig& entry, const NamedProblem& problem,
                                 const std::string& file, const std::vector<KernelRef>& catalog) {
  std::string name = entry.kernel;
  Json settings = entry.config;
  update_names(catalog, name, settings);
  FATUNE_TRY(const KernelRef kernel, find_kernel(catalog, name));
  FATUNE_TRY(Config config, config_from_json(kernel->manifest, settings, file));
  return finalist({kernel, std::move(config), problem.problem}, problem.name);
}

Result<std::size_t> position_for(const std::vector<SavedConfig>& saved, const Problem& problem,
                                 const std::string& file) {
  std::vector<std::string> held;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].problem == problem) return i;
    if (saved[i].problem) held.push_back(describe(*saved[i].problem));
  }
  if (saved.size() == 1) return std::size_t{0};
  return usage_error(file + " has no config for " + describe(problem) + "; it has those for " +
                     join(held, "; "));
}

Result<SavedConfig> config_for(const std::vector<SavedConfig>& saved, const Problem& problem,
                               const std::string& file) {
  FATUNE_TRY(const std::size_t position, position_for(saved, problem, file));
  return saved[position];
}

Result<std::vector<Implementation>> resolve_choice(const ChoiceArgs& args,
                                                   const std::vector<KernelRef>& catalog) {
  if (args.config.empty() == args.kernel.empty()) {
    return usage_error("say what to take: --config FILE or --kernel NAME" +
                       std::string(args.config.empty() ? "" : ", not both"));
  }
  return args.config.empty() ? from_kernel(args, catalog) : from_file(args, catalog);
}

}  // namespace fatune::cli
