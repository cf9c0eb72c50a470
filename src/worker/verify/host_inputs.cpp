// host_inputs.cpp: Sorts a list of tensors into attention's inputs.
#include <algorithm>
#include <cstring>
#include <utility>

#include "worker/verify/inputs.hpp"

namespace fatune {

const std::vector<std::byte>& HostInputs::of(std::string_view name) const {
  const auto found = std::ranges::find(optional, name, &HostTensor::name);
  FATUNE_CHECK(found != optional.end(), "the problem has the tensor");
  return found->bytes;
}

HostInputs host_inputs(std::vector<HostTensor> tensors) {
  HostInputs inputs{std::move(tensors[0].bytes), std::move(tensors[1].bytes),
                    std::move(tensors[2].bytes)};
  for (std::size_t i = 3; i < tensors.size(); ++i) {
    HostTensor& tensor = tensors[i];
    if (tensor.name == "q_descale") inputs.q_descale = floats_of(tensor.bytes);
    if (tensor.name == "k_descale") inputs.k_descale = floats_of(tensor.bytes);
    if (tensor.name == "v_descale") inputs.v_descale = floats_of(tensor.bytes);
    if (is_optional(tensor.name)) inputs.optional.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace fatune
