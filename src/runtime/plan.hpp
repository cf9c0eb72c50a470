// plan.hpp - a chosen kernel, loaded: what fatune_rt_plan is, and its launch.
#pragma once

#include "runtime/choice.hpp"
#include "runtime/program.hpp"

/// Made by Wisdom::find, which owns it; never changes.
struct fatune_rt_plan {
  const fatune::rt::Driver* driver = nullptr;
  const fatune::rt::Program* program = nullptr;
  std::size_t kernel = 0;  ///< index in the wisdom
  CUdevice device = 0;
  fatune::rt::Fit fit;
  fatune::rt::PartBytes parts;
  bool lse = false;
};

namespace fatune::rt {

/// All launches of the plan. Memory that the plan needs and the tensors lack is allocated and freed
/// in stream order.
Outcome<Done> launch(const fatune_rt_plan& plan, const fatune_rt_tensors& tensors, CUstream stream);

}  // namespace fatune::rt
