// tensor_inputs.hpp - declared tensors, a distribution and a seed to bytes, on every machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/problem/tensor.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// An input as it goes to the device.
struct HostTensor {
  std::string name;
  std::vector<std::byte> bytes;
};

/// The inputs in their order. The distribution changes those whose values are drawn: normal leaves
/// them as declared, uniform draws from U[-1,1] instead, outliers adds N(0,100) to one draw in
/// 1024, and zeros draws nothing but zeros; others count as normal. The same bytes for any number
/// of threads.
std::vector<HostTensor> own_inputs(const OwnPlan& plan, const InputCase& which);

}  // namespace fatune
