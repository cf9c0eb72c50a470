// own_reference.hpp - runs the declared reference and the low-precision reference on the device;
// gives values and limits of each output.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "worker/device/device_session.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/verify/tensor_check.hpp"

namespace fatune {

struct OwnReferences {
  std::vector<TensorReference> outputs;  ///< in their order, with limits
  Micros time{0};                        ///< of the reference
};

/// `inputs`: addresses by name. A reference that leaves an output unwritten, a twin that breaks its
/// own limits, and limits that an output of zeros meets are device errors: nothing may be measured
/// by them.
Result<OwnReferences> refer_own(DeviceSession& session, const BeginOrder& order,
                                const std::map<std::string, CUdeviceptr>& inputs);

}  // namespace fatune
