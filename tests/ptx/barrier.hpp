// barrier.hpp - what the exit of a warp means to barriers that expect all who are left.
#pragma once

#include "ptx/machine.hpp"

namespace fatune::ptx {

void settle_barriers(Cluster& cluster, Cta& cta);

}  // namespace fatune::ptx
