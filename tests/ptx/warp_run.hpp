// warp_run.hpp - a warp's turn: its threads run on until they wait, or have had their share.
#pragma once

#include "ptx/machine.hpp"

namespace fatune::ptx {

/// Registers of a warp that begins: special ones, and garbage.
void prepare(const Machine& machine, const Cta& cta, Warp& warp);

/// False when an instruction failed. Threads of the warp need not stand at the same instruction;
/// those that stand furthest behind run first.
bool run_warp(Machine& machine, Cluster& cluster, Cta& cta, Warp& warp);

/// "CTA 3, warp 0: fa_mma, PTX line 12: bar.sync (32 threads)", a line for each place where its
/// threads stand.
std::string where_threads_stand(const Machine& machine, const Cta& cta, const Warp& warp);

}  // namespace fatune::ptx
