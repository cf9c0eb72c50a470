// headers.cpp: Finds the headers of a user's CUDA text.
#include "model/declaring/headers.hpp"

#include <algorithm>

#include "core/file.hpp"
#include "model/kernel/includes.hpp"

namespace fatune {

namespace fs = std::filesystem;

void add_headers(std::string_view text, std::span<const fs::path> folders,
                 std::vector<SourceFile>& files) {
  for (const Include& include : includes_of(text)) {
    const fs::path name(include.name);
    const bool known = std::ranges::count(files, include.name, &SourceFile::path) > 0;
    if (!include.quoted || known || name.is_absolute() || *name.begin() == "..") continue;
    for (const fs::path& folder : folders) {
      auto header = read_found_file(folder / name);
      if (!header) continue;
      files.push_back({include.name, *header});
      add_headers(*header, folders, files);
      break;
    }
  }
}

bool includes_toolkit(std::span<const SourceFile> sources) {
  return std::ranges::any_of(sources, [](const SourceFile& source) {
    return !std::ranges::all_of(includes_of(source.text), &Include::quoted);
  });
}

}  // namespace fatune
