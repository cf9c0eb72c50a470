// rmsnorm.cuh - what the kernel and its reference must agree on: the operation's one constant.
#pragma once

/// Added to the mean square, so that a row of zeros gives zeros; as PyTorch's models have it.
constexpr float kEpsilon = 1e-6f;
