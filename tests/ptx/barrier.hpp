// barrier.hpp: Completes barriers that wait for all remaining threads when a warp exits.
#pragma once

#include "ptx/machine.hpp"

namespace fatune::ptx {

void settle_barriers(Cluster& cluster, Cta& cta);

}  // namespace fatune::ptx
