// flatten.cpp: Writes a template with its includes replaced by the included lines, depth first.
#include <cctype>
#include <map>
#include <set>

#include "core/lines.hpp"
#include "core/text.hpp"
#include "export/export_kernel.hpp"
#include "model/kernel/includes.hpp"

namespace fatune {
namespace {

constexpr int kDeepest = 64;  ///< chosen; a deeper header includes itself

/// Returns "ifdef" for "#  ifdef X"; empty for a line without a directive.
std::string_view directive(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return {};
  line = trim(line.substr(1));
  return line.substr(0, line.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
}

bool is_pragma_once(std::string_view line) {
  if (directive(line) != "pragma") return false;
  line = line.substr(line.find("pragma") + std::string_view("pragma").size());
  return trim(line.substr(0, line.find('/'))) == "once";  // a comment may follow
}

/// Returns "FATUNE_COMMON_PRELUDE_CUH" for "common/prelude.cuh".
std::string guard_name(const std::string& path) {
  std::string guard = "FATUNE_";
  for (const char c : path) {
    const int letter = static_cast<unsigned char>(c);
    guard += std::isalnum(letter) != 0 ? static_cast<char>(std::toupper(letter)) : '_';
  }
  return guard;
}

class Flattener {
 public:
  explicit Flattener(const Kernel& kernel) {
    for (const SourceFile& header : kernel.headers) headers_[header.path] = &header;
  }

  Status add(const SourceFile& file, int depth) {
    if (depth > kDeepest) {
      return file_error(file.path + ": includes itself without #pragma once; add that line");
    }
    std::map<std::size_t, std::string> includes;
    for (const Include& each : includes_of(file.text)) {
      if (each.quoted) includes[each.line] = each.name;
    }
    std::string_view text = file.text;
    if (text.ends_with('\n')) text.remove_suffix(1);
    std::size_t number = 0;
    for (const std::string_view line : Lines(text)) {
      const auto found = includes.find(++number);
      const auto header = found == includes.end() ? headers_.end() : headers_.find(found->second);
      if (header != headers_.end()) {
        FATUNE_TRY_STATUS(include(*header->second, depth));
        continue;
      }
      if (is_pragma_once(line)) continue;
      count_condition(line);
      text_.append(line) += '\n';
    }
    return {};
  }

  const std::string& text() const { return text_; }

 private:
  void count_condition(std::string_view line) {
    const std::string_view word = directive(line);
    if (word == "if" || word == "ifdef" || word == "ifndef") ++conditions_;
    if (word == "endif") --conditions_;
  }

  /// Below a condition, writes the header at every include: only the preprocessor can decide.
  Status include(const SourceFile& header, int depth) {
    bool once = false;
    for (const std::string_view line : Lines(header.text)) once = once || is_pragma_once(line);
    if (once && written_.contains(header.path)) return {};
    const bool guarded = once && (conditions_ > 0 || guarded_.contains(header.path));
    if (once) (conditions_ > 0 ? guarded_ : written_).insert(header.path);
    const std::string guard = guard_name(header.path);
    text_ += "\n// ---- " + header.path + " ----\n";
    if (guarded) text_ += "#ifndef " + guard + "\n#define " + guard + "\n";
    FATUNE_TRY_STATUS(add(header, depth + 1));
    if (guarded) text_ += "#endif  // " + guard + "\n";
    text_ += "// ---- end of " + header.path + " ----\n\n";
    return {};
  }

  std::map<std::string, const SourceFile*> headers_;
  std::set<std::string> written_;  ///< headers with #pragma once, included outside conditions
  std::set<std::string> guarded_;
  int conditions_ = 0;  ///< open #if directives of all files above
  std::string text_;
};

}  // namespace

Result<std::string> flatten(const Kernel& kernel, const std::vector<std::string>& macros) {
  std::string text;
  for (const std::string& macro : macros) {
    std::string definition = macro;
    if (const auto equals = macro.find('='); equals != std::string::npos) definition[equals] = ' ';
    text += "#define " + definition + "\n";
  }
  Flattener flattener(kernel);
  FATUNE_TRY_STATUS(flattener.add(kernel.source, 0));
  return text + "\n" + flattener.text();
}

}  // namespace fatune
