// compare.cpp: Executes setp, set, selp and predicate logic.
#include <cmath>

#include "ptx/half.hpp"
#include "ptx/lanes.hpp"

namespace fatune::ptx {
namespace {

struct Equal {
  template <typename T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Less {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct AtMost {
  template <typename T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct NotANumber {
  template <typename T>
  bool operator()(T a, T b) const {
    return a != a || b != b;
  }
};
template <typename Work>
struct Swapped {
  template <typename T>
  bool operator()(T a, T b) const {
    return Work()(b, a);
  }
};
template <typename Work>
struct Opposite {
  template <typename T>
  bool operator()(T a, T b) const {
    return !Work()(a, b);
  }
};
/// Of numbers alone; "ne" is false where an operand is NaN.
template <typename Work>
struct Ordered {
  template <typename T>
  bool operator()(T a, T b) const {
    return !NotANumber()(a, b) && Work()(a, b);
  }
};

template <typename Work>
struct OfF16 {
  bool operator()(std::uint16_t a, std::uint16_t b) const {
    return Work()(decoded<Dtype::kF16>(a), decoded<Dtype::kF16>(b));
  }
};
template <typename Work>
struct OfBf16 {
  bool operator()(std::uint16_t a, std::uint16_t b) const {
    return Work()(decoded<Dtype::kBf16>(a), decoded<Dtype::kBf16>(b));
  }
};

enum Combination : std::uint64_t { kAlone, kAnd, kOr, kXor };

/// setp p, a, b; setp p|q, a, b; and with .and, .or or .xor another predicate c.
template <typename T, typename Work>
Step set_predicate(Turn& turn) {
  const bool combined = turn.at.detail != kAlone;
  const int sources = turn.at.count - (combined ? 3 : 2);
  const auto a = turn.in<T>(sources), b = turn.in<T>(sources + 1);
  Mask holds = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    holds |= static_cast<Mask>(Work()(a[lane], b[lane])) << lane;
  const Mask c = combined ? turn.predicate(sources + 2) : 0;
  const auto with = [&](Mask value) {
    if (turn.at.detail == kAnd) return value & c;
    if (turn.at.detail == kOr) return value | c;
    return turn.at.detail == kXor ? value ^ c : value;
  };
  turn.set_predicate(turn.at.refs[0], with(holds));
  if (sources == 2) turn.set_predicate(turn.at.refs[1], with(~holds));
  return Step::kNext;
}

template <typename T, typename Work>
void add_comparison(Table& table, const std::string& comparison, const std::string& type) {
  const Handler handler = set_predicate<T, Work>;
  for (const char* flush : {".", ".ftz."}) {
    table["setp." + comparison + flush + type] = {handler, Collective::kNone, 0, kAlone};
    table["setp." + comparison + ".and" + flush + type] = {handler, Collective::kNone, 0, kAnd};
    table["setp." + comparison + ".or" + flush + type] = {handler, Collective::kNone, 0, kOr};
    table["setp." + comparison + ".xor" + flush + type] = {handler, Collective::kNone, 0, kXor};
  }
}

template <typename T, template <typename> typename Of>
void add_comparisons(Table& table, const std::string& type) {
  add_comparison<T, Of<Equal>>(table, "eq", type);
  add_comparison<T, Of<Ordered<Opposite<Equal>>>>(table, "ne", type);
  add_comparison<T, Of<Less>>(table, "lt", type);
  add_comparison<T, Of<AtMost>>(table, "le", type);
  add_comparison<T, Of<Swapped<Less>>>(table, "gt", type);
  add_comparison<T, Of<Swapped<AtMost>>>(table, "ge", type);
}

template <typename T, template <typename> typename Of>
void add_unordered(Table& table, const std::string& type) {
  add_comparison<T, Of<Opposite<Ordered<Opposite<Equal>>>>>(table, "equ", type);
  add_comparison<T, Of<Opposite<Equal>>>(table, "neu", type);
  add_comparison<T, Of<Opposite<Swapped<AtMost>>>>(table, "ltu", type);
  add_comparison<T, Of<Opposite<Swapped<Less>>>>(table, "leu", type);
  add_comparison<T, Of<Opposite<AtMost>>>(table, "gtu", type);
  add_comparison<T, Of<Opposite<Less>>>(table, "geu", type);
  add_comparison<T, Of<NotANumber>>(table, "nan", type);
  add_comparison<T, Of<Opposite<NotANumber>>>(table, "num", type);
}

template <typename Work>
using Plain = Work;

template <typename T>
void add_unsigned(Table& table, const std::string& type) {
  add_comparisons<T, Plain>(table, type);
  add_comparison<T, Less>(table, "lo", type);
  add_comparison<T, AtMost>(table, "ls", type);
  add_comparison<T, Swapped<Less>>(table, "hi", type);
  add_comparison<T, Swapped<AtMost>>(table, "hs", type);
}

template <typename T, template <typename> typename Of = Plain>
void add_floating(Table& table, const std::string& type) {
  add_comparisons<T, Of>(table, type);
  add_unordered<T, Of>(table, type);
}

template <typename T>
Step select(Turn& turn) {
  const auto a = turn.in<T>(1), b = turn.in<T>(2);
  const Mask first = turn.predicate(3);
  Row<T> d;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    d[lane] = (first >> lane & 1U) != 0 ? a[lane] : b[lane];
  turn.out(0, d);
  return Step::kNext;
}

template <typename Work>
Step predicate_logic(Turn& turn) {
  const Mask b = turn.at.count > 2 ? turn.predicate(2) : 0;
  turn.set_predicate(turn.at.refs[0], Work()(turn.predicate(1), b));
  return Step::kNext;
}
struct And {
  Mask operator()(Mask a, Mask b) const { return a & b; }
};
struct Or {
  Mask operator()(Mask a, Mask b) const { return a | b; }
};
struct Xor {
  Mask operator()(Mask a, Mask b) const { return a ^ b; }
};
struct Not {
  Mask operator()(Mask a, Mask) const { return ~a; }
};

/// From another predicate, or from a number.
Step move_predicate(Turn& turn) {
  const Ref& from = turn.at.refs[1];
  const Mask value =
      from.slot < 0 ? (turn.in<std::uint32_t>(1)[0] != 0 ? kAllLanes : 0) : turn.predicate(from);
  turn.set_predicate(turn.at.refs[0], value);
  return Step::kNext;
}

}  // namespace

void add_compare(Table& table) {
  add_comparisons<std::int16_t, Plain>(table, "s16");
  add_comparisons<std::int32_t, Plain>(table, "s32");
  add_comparisons<std::int64_t, Plain>(table, "s64");
  for (const char* sign : {"u", "b"}) {
    add_unsigned<std::uint16_t>(table, sign + std::string("16"));
    add_unsigned<std::uint32_t>(table, sign + std::string("32"));
    add_unsigned<std::uint64_t>(table, sign + std::string("64"));
  }
  add_floating<float>(table, "f32");
  add_floating<double>(table, "f64");
  add_floating<std::uint16_t, OfF16>(table, "f16");
  add_floating<std::uint16_t, OfBf16>(table, "bf16");
  for (const char* kind : {"b", "u", "s"}) {
    table[std::string("selp.") + kind + "16"] = {select<std::uint16_t>};
    table[std::string("selp.") + kind + "32"] = {select<std::uint32_t>};
    table[std::string("selp.") + kind + "64"] = {select<std::uint64_t>};
  }
  table["selp.f32"] = {select<std::uint32_t>};
  table["selp.f64"] = {select<std::uint64_t>};
  table["and.pred"] = {predicate_logic<And>};
  table["or.pred"] = {predicate_logic<Or>};
  table["xor.pred"] = {predicate_logic<Xor>};
  table["not.pred"] = {predicate_logic<Not>};
  table["mov.pred"] = {move_predicate};
}

}  // namespace fatune::ptx
