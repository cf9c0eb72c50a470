// handlers.cpp: Looks an opcode up in the table, then in the instruction families.
#include "ptx/handlers.hpp"

#include "core/text.hpp"

namespace fatune::ptx {
namespace {

Step leave(Turn&) { return Step::kExit; }
Step nothing(Turn&) { return Step::kNext; }
Step pause(Turn&) { return Step::kYield; }
Step trap(Turn& turn) { return turn.fail("the kernel gives up"); }

Table make_table() {
  Table table;
  table["bra"] = table["bra.uni"] = {};
  table["ret"] = table["exit"] = {leave};
  table["trap"] = {trap};
  table["nanosleep.u32"] = {pause};
  // No effect on values: memory is in order, and a grid has its predecessors' results.
  const std::string orders =
      "membar.cta membar.gl membar.sys fence.acq_rel.cta fence.acq_rel.gpu fence.acq_rel.sys "
      "fence.acq_rel.cluster fence.sc.cta fence.sc.gpu fence.sc.cluster fence.sc.sys "
      "fence.mbarrier_init.release.cluster fence.proxy.async fence.proxy.async.shared::cta "
      "fence.proxy.async.global griddepcontrol.wait griddepcontrol.launch_dependents "
      "prefetch.tensormap prefetch.global.L2 setmaxnreg.inc.sync.aligned.u32 "
      "setmaxnreg.dec.sync.aligned.u32";
  for (const std::string& order : split(orders, ' ')) table[order] = {nothing};
  add_integer(table);
  add_float(table);
  add_half(table);
  add_compare(table);
  add_move(table);
  add_warp(table);
  add_barrier(table);
  add_copy(table);
  return table;
}

}  // namespace

std::optional<Meaning> meaning_of(const std::string& opcode) {
  static const Table table = make_table();
  if (const auto found = table.find(opcode); found != table.end()) return found->second;
  const Parts parts = split(opcode, '.');
  for (const auto family : {load_meaning, convert_meaning, mma_meaning, wgmma_meaning,
                            mbarrier_meaning, bulk_meaning}) {
    if (auto meaning = family(parts)) return meaning;
  }
  return std::nullopt;
}

bool only(std::span<const std::string> parts, std::initializer_list<std::string_view> known) {
  return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return std::find(known.begin(), known.end(), part) != known.end();
  });
}

}  // namespace fatune::ptx
