// work.cpp - a problem's sizes to its operations and bytes.
#include "model/problem/work.hpp"

namespace fatune {
namespace {

Bytes bytes_of(std::int64_t elements, Dtype dtype) {
  return Bytes(static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(size_of(dtype)));
}

}  // namespace

Flops flops(const Problem& problem) {
  if (problem.custom) return Flops(static_cast<double>(problem.custom->flops));
  // In floating point: the product of valid sizes need not fit 64 bits.
  const double full =
      4.0 * static_cast<double>(problem.query_elements()) * static_cast<double>(problem.seq_kv);
  return Flops(problem.mask == Mask::kCausal ? full / 2 : full);
}

bool counts_flops(const Problem& problem) { return !problem.custom || problem.custom->flops > 0; }

double gigabytes_per_second(const Problem& problem, Seconds time) {
  return static_cast<double>(least_bytes(problem).value) / time.value * 1e-9;
}

Bytes query_bytes(const Problem& problem) {
  return bytes_of(problem.query_elements(), problem.dtype);
}

Bytes key_bytes(const Problem& problem) { return bytes_of(problem.key_elements(), problem.dtype); }

Bytes lse_bytes(const Problem& problem) {
  return Bytes(problem.lse ? static_cast<std::uint64_t>(problem.rows()) * sizeof(float) : 0);
}

Bytes least_bytes(const Problem& problem) {
  if (problem.custom) {
    return Bytes(static_cast<std::uint64_t>(problem.custom->bytes_read) +
                 static_cast<std::uint64_t>(problem.custom->bytes_written));
  }
  return query_bytes(problem) * 2 + key_bytes(problem) * 2 + lse_bytes(problem);
}

}  // namespace fatune
