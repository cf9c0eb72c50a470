// move.cpp: Executes mov, with its packed forms, and conversions between address spaces.
#include "ptx/lanes.hpp"

namespace fatune::ptx {
namespace {

/// mov d, a; mov d, variable + 4; mov {a, b}, d; mov d, {a, b}.
template <typename T>
Step move(Turn& turn) {
  const auto whole = [&](int operand) { return turn.at.refs[operand].bits; };
  if (turn.at.count == 2) {
    Row<T> values = turn.in<T>(1);
    const auto offset = static_cast<T>(turn.at.refs[1].offset);
    if (offset != 0) {
      for (T& value : values) value = static_cast<T>(value + offset);
    }
    turn.out(0, values);
    return Step::kNext;
  }
  const int pieces = turn.at.count - 1;
  const auto bits = static_cast<unsigned>(8 * sizeof(T)) / static_cast<unsigned>(pieces);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const bool splits = turn.at.refs[0].sink || whole(0) < static_cast<int>(8 * sizeof(T));
  for_lanes(turn.mask, [&](int lane) {
    std::uint64_t value = splits ? turn.bits_of(turn.at.refs[pieces], lane) : 0;
    for (int i = 0; i < pieces; ++i) {
      const unsigned shift = bits * static_cast<unsigned>(i);
      if (!splits) {
        value |= (turn.bits_of(turn.at.refs[i + 1], lane) & mask) << shift;
      } else if (!turn.at.refs[i].sink) {
        turn.set(turn.at.refs[i], lane, value >> shift & mask);
      }
    }
    if (!splits) turn.set(turn.at.refs[0], lane, value);
  });
  return Step::kNext;
}

/// Time passes from one reading to the next.
Step read_clock(Turn& turn) {
  constexpr std::uint64_t kTicks = 100;  // chosen
  Row<std::uint64_t> now;
  now.fill(turn.machine.clock += kTicks);
  turn.out(0, now);
  return Step::kNext;
}

/// cvta: to a generic address, or from one.
template <std::uint64_t kWindow, bool kTo>
Step convert_address(Turn& turn) {
  auto address = turn.in<std::uint64_t>(1);
  const auto offset = static_cast<std::uint64_t>(std::int64_t{turn.at.refs[1].offset});
  for (std::uint64_t& each : address)
    each = kTo ? each + offset - kWindow : each + offset + kWindow;
  turn.out(0, address);
  return Step::kNext;
}

Step is_shared(Turn& turn) {
  const auto address = turn.in<std::uint64_t>(1);
  Mask inside = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    inside |= static_cast<Mask>(address[lane] >> 56U == kSharedWindow >> 56U) << lane;
  turn.set_predicate(turn.at.refs[0], inside);
  return Step::kNext;
}

/// mapa: the address that corresponds in the shared memory of another CTA of the cluster.
template <typename T>
Step map_address(Turn& turn) {
  auto address = turn.in<T>(1);
  const auto rank = turn.in<std::uint32_t>(2);
  constexpr T kRanks = T{0xff} << kRankShift;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    address[lane] = (address[lane] & ~kRanks) | T{rank[lane]} << kRankShift;
  turn.out(0, address);
  return Step::kNext;
}

}  // namespace

void add_move(Table& table) {
  table["mov clock"] = {read_clock};
  for (const char* type : {"b16", "u16", "s16", "f16", "bf16"})
    table[std::string("mov.") + type] = {move<std::uint16_t>};
  for (const char* type : {"b32", "u32", "s32", "f32"})
    table[std::string("mov.") + type] = {move<std::uint32_t>};
  for (const char* type : {"b64", "u64", "s64", "f64"})
    table[std::string("mov.") + type] = {move<std::uint64_t>};
  table["cvta.to.global.u64"] = table["cvta.global.u64"] = {convert_address<0, true>};
  table["cvta.to.const.u64"] = table["cvta.const.u64"] = {convert_address<0, true>};
  table["cvta.shared.u64"] = {convert_address<kSharedWindow, false>};
  table["cvta.to.shared.u64"] = {convert_address<kSharedWindow, true>};
  table["cvta.local.u64"] = {convert_address<kLocalWindow, false>};
  table["cvta.to.local.u64"] = {convert_address<kLocalWindow, true>};
  table["cvta.param.u64"] = {convert_address<kParamWindow, false>};
  table["cvta.to.param.u64"] = {convert_address<kParamWindow, true>};
  table["isspacep.shared"] = {is_shared};
  table["mapa.shared::cluster.u32"] = {map_address<std::uint32_t>};
  table["mapa.u64"] = table["mapa.shared::cluster.u64"] = {map_address<std::uint64_t>};
}

}  // namespace fatune::ptx
