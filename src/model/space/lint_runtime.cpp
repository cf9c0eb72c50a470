// lint_runtime.cpp: Finds templates that use a run-time size as if it were a macro.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/tokens.hpp"
#include "model/kernel/includes.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/space/lint.hpp"

namespace fatune {
namespace {

/// Words that may stand before a name that they do not declare.
constexpr std::array<std::string_view, 6> kNoTypes = {"return", "case",  "else",
                                                      "goto",   "throw", "sizeof"};

/// How a file uses a name.
struct Use {
  bool used = false;
  bool declared = false;   ///< behind a word, as in "int n", or in a #define
  bool in_branch = false;  ///< in an #if, #ifdef or #elif
};

bool declares(std::string_view before) {
  return !before.empty() && starts_name(before.front()) &&
         std::ranges::count(kNoTypes, before) == 0;
}

Use use_of(std::string_view name, std::string_view text) {
  Use use;
  std::string before;
  for (const std::string& line : code_lines(text)) {
    const auto tokens = tokens_of(line, Syntax::kManifest);
    const bool directive = tokens.size() > 1 && tokens[0] == "#";
    const bool branch = directive && (tokens[1].starts_with("if") || tokens[1] == "elif");
    const bool define = directive && tokens[1] == "define";  // of the name or with the parameter
    for (const std::string_view token : tokens) {
      if (token == name) {
        use.used = true;
        use.in_branch = use.in_branch || branch;
        use.declared = use.declared || define || (!branch && declares(before));
      }
      before = token;
    }
  }
  return use;
}

}  // namespace

std::string compile_hint(const Manifest& manifest, std::string_view compile_problem) {
  for (const std::string& name : runtime_names(manifest)) {
    if (compile_problem.find(fmt::format("identifier \"{}\" is undefined", name)) !=
        std::string_view::npos)
      return fmt::format("; {} is a run-time size, hence no macro but an argument: \"i64 {}\"",
                         name, name);
  }
  if (compile_problem.find("nvrtc_builtin_header") != std::string_view::npos)
    return "; a parameter or size has a name that CUDA's own headers use, as w and width: rename "
           "it";
  return {};
}

std::vector<LintFinding> lint_runtime_sizes(const Kernel& kernel) {
  std::vector<SourceFile> files = {kernel.source};
  files.insert(files.end(), kernel.headers.begin(), kernel.headers.end());
  std::vector<LintFinding> findings;
  for (const std::string& name : runtime_names(kernel.manifest)) {
    for (const SourceFile& file : files) {
      if (file.path.starts_with("common/")) continue;  // knows no sizes of operations
      const Use use = use_of(name, file.text);
      if (!use.in_branch && (!use.used || use.declared)) continue;
      findings.push_back(
          {Severity::kError, file.path,
           fmt::format("{} {}: a run-time size is no macro. Give the kernel a parameter of this "
                       "name, and its stage the argument \"i64 {}\"",
                       name,
                       use.in_branch ? "is unknown to #if, which takes it for 0"
                                     : "would be an undeclared identifier",
                       name)});
    }
  }
  return findings;
}

}  // namespace fatune
