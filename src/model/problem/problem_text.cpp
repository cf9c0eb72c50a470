// problem_text.cpp: Describes problems to people, and gives them stable keys.
#include <string>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

static std::string type_after(char mark, const CustomProblem& own) {
  return own.dtype ? fmt::format("{}{}", mark, name(*own.dtype)) : "";
}

std::string describe(const Problem& problem) {
  if (const CustomProblem* own = problem.custom())
    return fmt::format("{} {}{}", own->operation, describe(own->sizes), type_after(' ', *own));
  const Attention& p = problem.as_attention();
  std::string text = fmt::format("{},{}", p.batch, p.heads);
  if (p.kv_heads != p.heads) text += fmt::format("(kv {})", p.kv_heads);
  text += fmt::format(",{}", p.seq_q);
  if (p.seq_kv != p.seq_q) text += fmt::format("x{}", p.seq_kv);
  text += fmt::format(",{}", p.head_dim);
  if (p.value_dim) text += fmt::format("(v {})", *p.value_dim);
  text += fmt::format(" {}", name(p.dtype));
  if (p.out_dtype) text += fmt::format(" to {}", name(*p.out_dtype));
  if (is_fused(p)) text += fmt::format(" {}", name(p.quant));
  if (p.mask != Mask::kNone) text += fmt::format(" {}", name(p.mask));
  if (p.lse) text += " lse";
  if (p.scale) text += fmt::format(" scale {}", *p.scale);
  if (p.softcap) text += fmt::format(" softcap {}", *p.softcap);
  if (p.bias) text += fmt::format(" bias {}", name(*p.bias));
  if (p.alibi) text += " alibi";
  if (p.sink) text += " sink";
  if (!p.score.empty()) text += fmt::format(" score '{}'", p.score);
  for (const NamedTensor& each : p.tensors) text += fmt::format(" tensor {}", excerpt(name(each)));
  if (!p.layouts.plain()) text += " " + name(p.layouts);
  return text;
}

/// Keys have no blanks.
static std::string squeezed(std::string text) {
  std::erase(text, ' ');
  return text;
}

std::string key(const Problem& problem) {
  if (const CustomProblem* own = problem.custom())
    return fmt::format("{}:{}{}", own->operation, describe(own->sizes), type_after(':', *own));
  const Attention& p = problem.as_attention();
  std::string tensors;
  for (const NamedTensor& each : p.tensors) tensors += "-tensor:" + name(each);
  return fmt::format("b{}-h{}-kv{}-sq{}-skv{}-d{}{}-{}{}{}-{}{}{}{}{}{}{}{}{}{}", p.batch, p.heads,
                     p.kv_heads, p.seq_q, p.seq_kv, p.head_dim,
                     p.value_dim ? fmt::format("-v{}", *p.value_dim) : "", name(p.dtype),
                     p.out_dtype ? fmt::format("-{}", name(*p.out_dtype)) : "",
                     is_fused(p) ? fmt::format("-{}", name(p.quant)) : "", squeezed(name(p.mask)),
                     p.lse ? "-lse" : "", p.scale ? fmt::format("-scale{}", *p.scale) : "",
                     p.softcap ? fmt::format("-softcap{}", *p.softcap) : "",
                     p.bias ? fmt::format("-bias{}", name(*p.bias)) : "", p.alibi ? "-alibi" : "",
                     p.sink ? "-sink" : "", squeezed(p.score.empty() ? "" : "-score:" + p.score),
                     tensors, p.layouts.plain() ? "" : "-" + name(p.layouts));
}

}  // namespace fatune
