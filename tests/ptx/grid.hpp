// grid.hpp: Runs a grid: clusters one after another, the warps of a cluster in turn.
#pragma once

#include "core/result.hpp"
#include "ptx/machine.hpp"

namespace fatune::ptx {

/// Carries out every thread, and adds the multiplications of tensor cores to `products`. An error
/// names the line of an instruction that fails, or where threads stand that wait for each other. A
/// cluster that waits for a later one lets it begin.
Status run_grid(const Program& program, const Launch& launch, Memory& memory,
                Asynchrony asynchrony = Asynchrony::kLate, std::uint64_t* products = nullptr);

}  // namespace fatune::ptx
