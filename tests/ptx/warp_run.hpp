// warp_run.hpp: Runs a warp for one turn: until its threads wait or the turn's quota is used.
#pragma once

#include "ptx/machine.hpp"

namespace fatune::ptx {

/// Registers of a warp that begins: special ones, and garbage.
void prepare(const Machine& machine, const Cta& cta, Warp& warp);

/// False when an instruction failed. Threads of the warp need not stand at the same instruction;
/// those that stand furthest behind run first.
bool run_warp(Machine& machine, Cluster& cluster, Cta& cta, Warp& warp);

/// The instruction that a live thread is at, or that made it wait.
std::uint32_t stands_at(const Warp& warp, int lane);

}  // namespace fatune::ptx
