// problem_tensors.cpp: Computes a problem's scale and its tensors' types, sizes, strides and bytes.
#include <cmath>

#include "model/problem/problem.hpp"

namespace fatune {
namespace {

constexpr double kSameScale = 1e-6;  ///< relative; scales are used as floats

double usual_scale(const Problem& problem) {
  return 1.0 / std::sqrt(static_cast<double>(problem.head_dim));
}

Bytes bytes_of(std::int64_t elements, Dtype dtype) {
  return Bytes(static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(size_of(dtype)));
}

}  // namespace

double scale_of(const Problem& problem) { return problem.scale.value_or(usual_scale(problem)); }

Problem with_scale(Problem problem, double scale) {
  const double usual = usual_scale(problem);
  problem.scale.reset();
  if (std::abs(scale - usual) > kSameScale * usual) problem.scale = scale;
  return problem;
}

Dtype out_dtype(const Problem& problem) { return problem.out_dtype.value_or(problem.dtype); }

std::optional<Dtype> default_out_dtype(Dtype dtype) {
  if (size_of(dtype) == 1) return Dtype::kBf16;
  return std::nullopt;
}

bool is_fp8(const Problem& problem) { return !problem.custom && size_of(problem.dtype) == 1; }

bool is_fused(const Problem& problem) { return problem.quant != Quant::kGiven; }

bool smooths_k(const Problem& problem) { return problem.quant == Quant::kSmoothK; }

bool has_descales(const Problem& problem) { return is_fp8(problem) && !is_fused(problem); }

std::vector<std::string> attention_tensors(const Problem& problem) {
  if (!has_descales(problem)) return {"q", "k", "v", "out", "lse"};
  return {"q", "k", "v", "q_descale", "k_descale", "v_descale", "out", "lse"};
}

Dtype dtype_of(const Problem& problem, std::string_view tensor) {
  return tensor == "out" || is_fused(problem) ? out_dtype(problem) : problem.dtype;
}

bool is_descale(std::string_view tensor) { return tensor.ends_with("_descale"); }

Problem unquantized(Problem problem) {
  problem.dtype = out_dtype(problem);
  problem.out_dtype.reset();
  problem.quant = Quant::kGiven;
  return problem;
}

Problem with_given_factors(Problem problem) {
  problem.quant = Quant::kGiven;
  return problem;
}

Problem in_given_types(const Problem& problem) {
  return is_fused(problem) ? unquantized(problem) : problem;
}

TensorSizes sizes_of(const Problem& p, std::string_view tensor) {
  const bool query_like = tensor == "q" || tensor == "out";
  return {p.batch, query_like ? p.heads : p.kv_heads, query_like ? p.seq_q : p.seq_kv, p.head_dim};
}

Strides strides_of(const Problem& p, std::string_view tensor) {
  const Layout& layout = p.layouts.of(tensor);
  switch (layout.kind) {
    case LayoutKind::kBhsd:
      return bhsd_strides(sizes_of(p, tensor));
    case LayoutKind::kBshd:
      return bshd_strides(sizes_of(p, tensor));
    case LayoutKind::kPacked:
      return bshd_strides({p.batch, p.heads + 2 * p.kv_heads, p.seq_q, p.head_dim});
    case LayoutKind::kStrides:
      return layout.strides;
  }
  return {};
}

std::int64_t packed_offset(const Problem& p, std::string_view tensor) {
  if (p.layouts.of(tensor).kind != LayoutKind::kPacked || tensor == "q") return 0;
  return (tensor == "k" ? p.heads : p.heads + p.kv_heads) * p.head_dim;
}

Bytes query_bytes(const Problem& problem) {
  return bytes_of(problem.query_elements(), dtype_of(problem, "q"));
}

Bytes out_bytes(const Problem& problem) {
  return bytes_of(problem.query_elements(), out_dtype(problem));
}

Bytes key_bytes(const Problem& problem) {
  return bytes_of(problem.key_elements(), dtype_of(problem, "k"));
}

Bytes lse_bytes(const Problem& problem) {
  return Bytes(problem.lse ? static_cast<std::uint64_t>(problem.rows()) * sizeof(float) : 0);
}

Bytes least_bytes(const Problem& problem) {
  if (problem.custom) {
    return Bytes(static_cast<std::uint64_t>(problem.custom->bytes_read) +
                 static_cast<std::uint64_t>(problem.custom->bytes_written));
  }
  const std::int64_t factors = has_descales(problem) ? 3 * problem.batch * problem.kv_heads : 0;
  return query_bytes(problem) + key_bytes(problem) * 2 + out_bytes(problem) + lse_bytes(problem) +
         Bytes(static_cast<std::uint64_t>(factors) * sizeof(float));
}

}  // namespace fatune
