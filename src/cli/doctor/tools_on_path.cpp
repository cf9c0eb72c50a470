// tools_on_path.cpp - a tool's name to the folders it may be in.
#include "cli/doctor/tools_on_path.hpp"

#include "core/run_program.hpp"

namespace fatune::cli {
std::vector<OptionalTool> optional_tools() {
  return {{"compute-sanitizer", "checks winners for races and bad accesses (sweep --sanitize)"},
          {"ncu", "reads hardware counters (profile)"},
          {"cuobjdump", "shows machine code (inspect --census)"}};
}

std::optional<std::filesystem::path> find_tool(const std::string& name, const Settings& settings) {
  std::vector<std::filesystem::path> folders = settings.program_folders;
  for (const auto& root : settings.search.cuda_roots) folders.push_back(root / "bin");
  return find_program(name, folders);
}

}  // namespace fatune::cli
