// torch_reference.hpp - a problem of attention as a function of PyTorch that model/interchange
// reads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/problem/problem.hpp"

namespace fatune {

/// Why such a function cannot say the problem, as a clause; empty: it can. Its tensors are
/// contiguous, in the order (batch, heads, rows, head_dim) or, if they are bshd, (batch, rows,
/// heads, head_dim).
std::string why_no_reference(const Problem& problem);
bool is_bshd(const Problem& problem, std::string_view tensor);
/// Sizes of q, k, v or out in that order.
std::array<std::int64_t, 4> stored_shape(const Problem& problem, std::string_view tensor);
/// The function's lines from its arguments q, k and v to its return: in fp32, with F for
/// torch.nn.functional. `options` of the call say mask and groups: ", is_causal=True".
std::string reference_body(const Problem& problem, std::string_view options);

}  // namespace fatune
