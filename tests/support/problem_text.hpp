// problem_text.hpp: Reads a problem from a text like that of describe(Problem).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "core/text.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/scores.hpp"

namespace fatune::test {

/// The number at the front of the text, which loses it.
inline std::int64_t take_number(std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_integer(text.substr(0, end));
  FATUNE_CHECK(number.has_value(), "a test's problem has its numbers in place");
  text.erase(0, end);
  return *number;
}

inline bool take(std::string& text, const std::string& part) {
  if (!text.starts_with(part)) return false;
  text.erase(0, part.size());
  return true;
}

/// A type behind `mark`, as in " e4m3" and ">bf16".
inline std::optional<Dtype> take_type(std::string& text, char mark) {
  for (const Dtype each : {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3, Dtype::kE5m2}) {
    if (take(text, mark + std::string(name(each)))) return each;
  }
  return std::nullopt;
}

/// "4,8(kv 2),512x300,64(v 128) e4m3>bf16 causal lse packed", nearly as describe(Problem) writes
/// it. Expressions have no blanks: "causal&&(k<4||q-k<64) score score+h tensor t=f32[4]".
inline Attention problem(const std::string& text) {
  std::string rest = text;
  Attention p;
  p.batch = take_number(rest);
  take(rest, ",");
  p.heads = p.kv_heads = take_number(rest);
  if (take(rest, "(kv ")) {
    p.kv_heads = take_number(rest);
    take(rest, ")");
  }
  take(rest, ",");
  p.seq_q = p.seq_kv = take_number(rest);
  if (take(rest, "x")) p.seq_kv = take_number(rest);
  take(rest, ",");
  p.head_dim = take_number(rest);
  if (take(rest, "(v ")) {
    p.value_dim = take_number(rest);
    take(rest, ")");
  }
  p.dtype = take_type(rest, ' ').value_or(Dtype::kF16);
  if (const auto out = take_type(rest, '>')) p.out_dtype = *out;
  const std::string word = rest.substr(0, rest.find(' ', 1));
  if (const auto mask = parse_mask(word)) {
    p.mask = canonical(*mask, p.seq_q, p.seq_kv);
    take(rest, word);
  }
  p.lse = take(rest, " lse");
  if (take(rest, " softcap ")) p.softcap = static_cast<double>(take_number(rest));
  if (take(rest, " bias ")) {
    const std::string bias = rest.substr(0, rest.find(' '));
    p.bias = *parse_bias(bias);
    take(rest, bias);
  }
  p.alibi = take(rest, " alibi");
  p.sink = take(rest, " sink");
  const std::string score = take(rest, " score ") ? rest.substr(0, rest.find(' ')) : "";
  take(rest, score);
  while (take(rest, " tensor ")) {
    const std::string tensor = rest.substr(0, rest.find(' '));
    p.tensors.push_back(*parse_named_tensor(tensor));
    take(rest, tensor);
  }
  FATUNE_CHECK(static_cast<bool>(set_score(p, score)), "a test's expression can be read");
  if (take(rest, " ")) p.layouts = *parse_layouts(std::exchange(rest, ""));
  FATUNE_CHECK(rest.empty() && validate(p), "a test's problem can be read");
  return p;
}

}  // namespace fatune::test
