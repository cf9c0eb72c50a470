// compare.cpp: Executes setp, selp and predicate logic.
#include "ptx/lanes.hpp"

namespace fatune::ptx {
namespace {

/// How two values relate. A comparison is the set of relations for which it holds.
enum Relation : std::uint8_t { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };
struct Comparison {
  const char* name;
  int relations;
};
constexpr Comparison kComparisons[] = {{"eq", kEqual},   {"ne", kLess | kGreater},
                                       {"lt", kLess},    {"le", kLess | kEqual},
                                       {"gt", kGreater}, {"ge", kGreater | kEqual}};
constexpr Comparison kOfUnsigned[] = {
    {"lo", kLess}, {"ls", kLess | kEqual}, {"hi", kGreater}, {"hs", kGreater | kEqual}};
constexpr Comparison kOfFloats[] = {{"equ", kEqual | kUnordered},
                                    {"neu", kLess | kGreater | kUnordered},
                                    {"ltu", kLess | kUnordered},
                                    {"leu", kLess | kEqual | kUnordered},
                                    {"gtu", kGreater | kUnordered},
                                    {"geu", kGreater | kEqual | kUnordered},
                                    {"nan", kUnordered},
                                    {"num", kLess | kEqual | kGreater}};

enum class Combination : std::uint8_t { kAlone, kAnd, kOr, kXor };
struct Form {
  std::uint8_t relations = 0;
  Combination with = Combination::kAlone;
};

/// setp p, a, b; setp p|q, a, b; and with .and, .or or .xor another predicate c.
template <typename T>
Step set_predicate(Turn& turn) {
  const Form form = turn.at.detail_as<Form>();
  const bool combined = form.with != Combination::kAlone;
  const int sources = turn.at.count - (combined ? 3 : 2);
  const auto a = turn.in<T>(sources), b = turn.in<T>(sources + 1);
  Mask holds = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const T x = a[lane], y = b[lane];
    const int relation = x < y ? kLess : x == y ? kEqual : x > y ? kGreater : kUnordered;
    holds |= static_cast<Mask>((form.relations & relation) != 0) << lane;
  }
  const Mask c = combined ? turn.predicate(sources + 2) : 0;
  const auto with = [&](Mask value) {
    if (form.with == Combination::kAnd) return value & c;
    if (form.with == Combination::kOr) return value | c;
    return form.with == Combination::kXor ? value ^ c : value;
  };
  turn.set_predicate(turn.at.refs[0], with(holds));
  if (sources == 2) turn.set_predicate(turn.at.refs[1], with(~holds));
  return Step::kNext;
}

template <typename T>
void add_comparisons(Table& table, const std::string& type, std::span<const Comparison> more = {}) {
  static constexpr const char* kWith[] = {"", ".and", ".or", ".xor"};
  for (const auto list : {std::span<const Comparison>(kComparisons), more}) {
    for (const Comparison& each : list) {
      for (std::uint8_t with = 0; with < 4; ++with) {
        const Form form{static_cast<std::uint8_t>(each.relations), static_cast<Combination>(with)};
        for (const char* flush : {".", ".ftz."})
          table[std::string("setp.") + each.name + kWith[with] + flush + type] = {
              set_predicate<T>, Collective::kNone, 0, detail(form)};
      }
    }
  }
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

template <auto kWork>
Step predicate_logic(Turn& turn) {
  const Mask b = turn.at.count > 2 ? turn.predicate(2) : 0;
  turn.set_predicate(turn.at.refs[0], kWork(turn.predicate(1), b));
  return Step::kNext;
}

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
  add_comparisons<std::int16_t>(table, "s16");
  add_comparisons<std::int32_t>(table, "s32");
  add_comparisons<std::int64_t>(table, "s64");
  for (const char* sign : {"u", "b"}) {
    add_comparisons<std::uint16_t>(table, sign + std::string("16"), kOfUnsigned);
    add_comparisons<std::uint32_t>(table, sign + std::string("32"), kOfUnsigned);
    add_comparisons<std::uint64_t>(table, sign + std::string("64"), kOfUnsigned);
  }
  add_comparisons<float>(table, "f32", kOfFloats);
  for (const char* kind : {"b", "u", "s"}) {
    table[std::string("selp.") + kind + "16"] = {select<std::uint16_t>};
    table[std::string("selp.") + kind + "32"] = {select<std::uint32_t>};
    table[std::string("selp.") + kind + "64"] = {select<std::uint64_t>};
  }
  table["selp.f32"] = {select<std::uint32_t>};
  table["and.pred"] = {predicate_logic<[](Mask a, Mask b) { return a & b; }>};
  table["or.pred"] = {predicate_logic<[](Mask a, Mask b) { return a | b; }>};
  table["xor.pred"] = {predicate_logic<[](Mask a, Mask b) { return a ^ b; }>};
  table["not.pred"] = {predicate_logic<[](Mask a, Mask) { return ~a; }>};
  table["mov.pred"] = {move_predicate};
}

}  // namespace fatune::ptx
