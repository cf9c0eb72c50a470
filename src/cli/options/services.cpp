// services.cpp - hands cache, search paths and folders on.
#include "cli/options/services.hpp"

#include <chrono>
#include <ctime>

#include "cli/exit_code.hpp"

namespace fatune::cli {

int with_settings(const CommonArgs& args, const std::function<Result<int>(const Settings&)>& body) {
  const auto settings = resolve(args);
  if (!settings) return fail(settings.error());
  const auto code = body(*settings);
  return code ? *code : fail(code.error());
}

Result<CompilePool> open_pool(const Settings& settings, std::size_t jobs) {
  PoolOptions options;
  options.jobs = jobs;
  options.cache = settings.cache;
  options.search = settings.search;
  return CompilePool::start(options);
}

OutsideOptions outside_options(const Settings& settings) {
  OutsideOptions options;
  options.python = settings.python;
  for (const auto& root : settings.search.cuda_roots) {
    options.library_folders.push_back(root);
    // Of a wheel: SITE_PACKAGES/nvidia/cu13. The wheels of other libraries lie beside it.
    if (root.parent_path().filename() == "nvidia")
      options.library_folders.push_back(root.parent_path().parent_path());
  }
  options.external_folders = settings.external_dirs;
  options.program_folders = settings.program_folders;
  return options;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  char text[16];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &local));
}

}  // namespace fatune::cli
