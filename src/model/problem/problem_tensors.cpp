// problem_tensors.cpp: Computes a problem's scale and its tensors' types, sizes, strides and bytes.
#include <algorithm>
#include <cmath>

#include "model/problem/problem.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {
namespace {

constexpr double kSameScale = 1e-6;  ///< relative; scales are used as floats

double usual_scale(const Attention& p) { return 1.0 / std::sqrt(static_cast<double>(p.head_dim)); }

Bytes bytes_of(std::int64_t elements, Dtype dtype) {
  return Bytes(static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(size_of(dtype)));
}

}  // namespace

double scale_of(const Attention& problem) { return problem.scale.value_or(usual_scale(problem)); }

Attention with_scale(Attention problem, double scale) {
  const double usual = usual_scale(problem);
  problem.scale.reset();
  if (std::abs(scale - usual) > kSameScale * usual) problem.scale = scale;
  return problem;
}

Attention with_value_dim(Attention problem, std::int64_t columns) {
  problem.value_dim.reset();
  if (columns != problem.head_dim) problem.value_dim = columns;
  return problem;
}

Dtype out_dtype(const Attention& problem) { return problem.out_dtype.value_or(problem.dtype); }

std::optional<Dtype> default_out_dtype(Dtype dtype) {
  if (size_of(dtype) == 1) return Dtype::kBf16;
  return std::nullopt;
}

bool is_fp8(const Attention& problem) { return size_of(problem.dtype) == 1; }

bool is_fused(const Attention& problem) { return problem.quant != Quant::kGiven; }

bool smooths_k(const Attention& problem) { return problem.quant == Quant::kSmoothK; }

bool has_descales(const Attention& problem) { return is_fp8(problem) && !is_fused(problem); }

std::vector<std::string> attention_tensors(const Attention& problem) {
  std::vector<std::string> names = {"q", "k", "v"};
  if (has_descales(problem)) names.insert(names.end(), {"q_descale", "k_descale", "v_descale"});
  for (const TensorPlan& each : optional_tensors(problem)) names.push_back(each.name);
  names.insert(names.end(), {"out", "lse"});
  return names;
}

bool is_optional(std::string_view tensor) {
  return std::ranges::count(kOptionalTensors, tensor) > 0 || is_named_tensor(tensor);
}

Dtype dtype_of(const Attention& problem, std::string_view tensor) {
  return tensor == "out" || is_fused(problem) ? out_dtype(problem) : problem.dtype;
}

bool is_descale(std::string_view tensor) { return tensor.ends_with("_descale"); }

Attention unquantized(Attention problem) {
  problem.dtype = out_dtype(problem);
  problem.out_dtype.reset();
  problem.quant = Quant::kGiven;
  return problem;
}

Attention with_given_factors(Attention problem) {
  problem.quant = Quant::kGiven;
  return problem;
}

Attention in_given_types(const Attention& p) { return is_fused(p) ? unquantized(p) : p; }

TensorSizes sizes_of(const Attention& p, std::string_view tensor) {
  const bool query_like = tensor == "q" || tensor == "out";
  const bool value_like = tensor == "v" || tensor == "out";
  return {p.batch, query_like ? p.heads : p.kv_heads, query_like ? p.seq_q : p.seq_kv,
          value_like ? p.value_columns() : p.head_dim};
}

Strides strides_of(const Attention& p, std::string_view tensor) {
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

std::int64_t packed_offset(const Attention& p, std::string_view tensor) {
  if (p.layouts.of(tensor).kind != LayoutKind::kPacked || tensor == "q") return 0;
  return (tensor == "k" ? p.heads : p.heads + p.kv_heads) * p.head_dim;
}

Bytes query_bytes(const Attention& p) { return bytes_of(p.query_elements(), dtype_of(p, "q")); }
Bytes out_bytes(const Attention& p) { return bytes_of(p.rows() * p.value_columns(), out_dtype(p)); }
Bytes key_bytes(const Attention& p) { return bytes_of(p.key_elements(), dtype_of(p, "k")); }
Bytes value_bytes(const Attention& p) {
  return bytes_of(p.batch * p.kv_heads * p.seq_kv * p.value_columns(), dtype_of(p, "v"));
}

/// Returns the bytes of k and v without the keys that lengths hide.
static Bytes least_key_bytes(const Attention& p) {
  const Bytes all = key_bytes(p) + value_bytes(p);
  if (p.mask.lengths.kind == LengthsKind::kNone) return all;
  const double part = seen_keys(p) / static_cast<double>(p.seq_kv);
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(all.value) * part));
}

Bytes lse_bytes(const Attention& problem) {
  return Bytes(problem.lse ? static_cast<std::uint64_t>(problem.rows()) * sizeof(float) : 0);
}

Bytes least_bytes(const Problem& problem) {
  if (const CustomProblem* own = problem.custom())
    return Bytes(static_cast<std::uint64_t>(own->bytes_read)) +
           Bytes(static_cast<std::uint64_t>(own->bytes_written));
  const Attention& p = problem.as_attention();
  const std::int64_t factors = has_descales(p) ? 3 * p.batch * p.kv_heads : 0;
  Bytes bytes = query_bytes(p) + least_key_bytes(p) + out_bytes(p) + lse_bytes(p) +
                Bytes(static_cast<std::uint64_t>(factors) * sizeof(float));
  for (const TensorPlan& each : optional_tensors(p))
    if (!is_named_tensor(each.name)) bytes = bytes + Bytes(each.bytes());
  return bytes;
}

}  // namespace fatune
