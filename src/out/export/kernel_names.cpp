// kernel_names.cpp - kernel and problem to a C identifier.
#include "out/export/kernel_names.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace fatune {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string export_name(std::string_view kernel, const Problem& p) {
  std::string text(kernel);
  if (p.custom) {
    for (const NamedSize& size : p.custom->sizes) {
      text += '_';
      for (const char c : size.name) text += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      text += fmt::format("{}", size.value);
    }
    text += fmt::format("_{}", name(p.dtype));
  } else {
    text += fmt::format("_b{}_h{}", p.batch, p.heads);
    if (p.kv_heads != p.heads) text += fmt::format("_kvh{}", p.kv_heads);
    text += fmt::format("_q{}_kv{}_d{}_{}", p.seq_q, p.seq_kv, p.head_dim, name(p.dtype));
    if (p.mask != Mask::kNone) text += fmt::format("_{}", name(p.mask));
    if (p.lse) text += "_lse";
  }
  for (char& c : text) {
    if (!is_letter(c) && !is_digit(c)) c = '_';
  }
  return text;
}

void make_distinct(std::vector<std::string>& names) {
  std::set<std::string> taken;
  for (std::string& name : names) {
    std::string distinct = name;
    for (int number = 2; !taken.insert(distinct).second; ++number)
      distinct = fmt::format("{}_{}", name, number);
    name = distinct;
  }
}

Status check_export_name(std::string_view name, std::string_view flag) {
  const bool right =
      !name.empty() && is_letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
  if (right) return {};
  return usage_error(fmt::format(
      "{}: '{}' is no C identifier: letters, digits and '_', the first no digit", flag, name));
}

}  // namespace fatune
