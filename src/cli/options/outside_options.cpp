// outside_options.cpp - names Python, folders of libraries and folders of descriptions.
#include "cli/options/outside_options.hpp"

namespace fatune::cli {

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

}  // namespace fatune::cli
