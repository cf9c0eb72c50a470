// torch_reference.cpp - transposes what lies otherwise, computes in fp32, and transposes back.
#include "out/export/torch_reference.hpp"

#include <fmt/format.h>

#include "model/interchange/reference.hpp"

namespace fatune {

bool is_bshd(const Problem& p, std::string_view tensor) {
  return p.layouts.of(tensor).kind == LayoutKind::kBshd;
}

std::string why_no_reference(const Problem& p) {
  if (p.custom) return "its reference cannot be written in PyTorch";
  if (has_descales(p)) return "its factors of fp8 are inputs that a reference here does not have";
  if (is_fused(p)) return "that q, k and v are quantized is nothing a reference here can say";
  if (p.lse) return "its log-sum-exp is an output that a reference here does not have";
  for (const char* tensor : {"q", "k", "v", "out"}) {
    const LayoutKind kind = p.layouts.of(tensor).kind;
    if (kind != LayoutKind::kBhsd && kind != LayoutKind::kBshd)
      return fmt::format("{} is no contiguous tensor", tensor);
  }
  return "";
}

std::array<std::int64_t, 4> stored_shape(const Problem& p, std::string_view tensor) {
  const TensorSizes sizes = sizes_of(p, tensor);
  if (is_bshd(p, tensor)) return {sizes.batch, sizes.rows, sizes.heads, sizes.columns};
  return {sizes.batch, sizes.heads, sizes.rows, sizes.columns};
}

std::string reference_body(const Problem& p, std::string_view options) {
  std::string text;
  for (const char* tensor : {"q", "k", "v"}) {
    if (is_bshd(p, tensor)) text += fmt::format("    {0} = {0}.transpose(1, 2)\n", tensor);
  }
  text += fmt::format(
      "    out = F.scaled_dot_product_attention(\n        q.float(), k.float(), v.float(){}\n"
      "    )\n",
      options);
  if (is_bshd(p, "out"))
    text += "    out = out.transpose(1, 2).contiguous()\n";
  else if (is_bshd(p, "q"))  // whose order PyTorch gives the output
    text += "    out = out.contiguous()\n";
  return text + fmt::format("    return out.to(torch.{})\n", torch_name(p.dtype));
}

}  // namespace fatune
