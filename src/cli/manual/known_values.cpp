// known_values.cpp - asks each part of the program for the names it knows.
#include "cli/manual/known_values.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/options/catalog.hpp"
#include "cli/options/services.hpp"
#include "core/embedded.hpp"
#include "out/export/formats.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune::cli {
namespace {

/// The fixtures that misbehave on purpose are not among them.
Result<std::vector<Word>> kernel_words(const Settings& settings) {
  FATUNE_TRY(const std::vector<KernelRef> catalog, load_catalog(settings));
  std::vector<Word> words;
  for (const KernelRef& kernel : catalog) {
    if (kernel->manifest.role == Role::kFault) continue;
    words.push_back({kernel->manifest.name, kernel->manifest.summary});
  }
  return words;
}

std::vector<Word> strategy_words() {
  std::vector<Word> words;
  for (const StrategyInfo& info : strategies())
    words.push_back({std::string(info.name), std::string(info.summary)});
  return words;
}

std::vector<Word> suite_words() {
  std::vector<Word> words;
  for (const EmbeddedFile& file : embedded_config_files())
    words.push_back({std::filesystem::path(file.path).stem(), ""});
  return words;
}

std::vector<Word> joined(std::vector<Word> words, const std::vector<Word>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

Result<ValueWords> known_values(const Settings& settings) {
  FATUNE_TRY(const std::vector<Word> kernels, kernel_words(settings));
  std::vector<Word> implementations;
  for (const std::string& name : implementation_names(outside_options(settings)))
    implementations.push_back({name, ""});
  implementations = joined(std::move(implementations), kernels);
  ValueWords words;
  for (const char* type : {"FILE", "PATH", "RUN"}) words.add(type, {}, Paths::kFiles);
  words.add("DIR", {}, Paths::kFolders);
  words.add("PROGRAM", {}, Paths::kPrograms);
  words.add("KERNEL", kernels);
  words.add("STRATEGY", strategy_words());
  words.add("SUITE", suite_words(), Paths::kFiles);
  words.add("IMPL", joined({{"none", "no baseline"}}, implementations));
  words.add("WHAT", implementations, Paths::kFiles);
  words.add("DEVICE", {{"auto", "the GPU, or a recording where there is none"},
                       {"recorded", "the recording that ships with fatune"},
                       {"cuda:0", "the first GPU"},
                       {"cuda:1", "the second GPU"}});
  std::vector<Word> formats;
  for (const ExportFormat& format : export_formats())
    formats.push_back({std::string(format.name), std::string(format.summary)});
  words.add("FORMAT", formats);
  words.add("sm_XX", {{"sm_80", "A100"},
                      {"sm_86", "RTX 30"},
                      {"sm_89", "L40S, RTX 40"},
                      {"sm_90a", "H100, H200"},
                      {"sm_100a", "B200"}});
  return words;
}

}  // namespace fatune::cli
