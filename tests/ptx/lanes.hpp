// lanes.hpp: Makes a handler for a whole warp of a function on one lane's operands.
#pragma once

#include <type_traits>

#include "ptx/handlers.hpp"

namespace fatune::ptx {

// Every lane is computed and only those of the mask are written: loops that a compiler can turn
// into vector instructions.

template <typename To, typename From, auto kWork>
Step unary(Turn& turn) {
  const auto a = turn.in<From>(1);
  Row<To> d;
  for (std::size_t lane = 0; lane < kLanes; ++lane) d[lane] = kWork(a[lane]);
  turn.out(0, d);
  return Step::kNext;
}

template <typename To, typename A, typename B, auto kWork>
Step binary(Turn& turn) {
  const auto a = turn.in<A>(1);
  const auto b = turn.in<B>(2);
  Row<To> d;
  for (std::size_t lane = 0; lane < kLanes; ++lane) d[lane] = kWork(a[lane], b[lane]);
  turn.out(0, d);
  return Step::kNext;
}

template <typename To, typename A, typename B, typename C, auto kWork>
Step ternary(Turn& turn) {
  const auto a = turn.in<A>(1);
  const auto b = turn.in<B>(2);
  const auto c = turn.in<C>(3);
  Row<To> d;
  for (std::size_t lane = 0; lane < kLanes; ++lane) d[lane] = kWork(a[lane], b[lane], c[lane]);
  turn.out(0, d);
  return Step::kNext;
}

template <typename T, auto kWork>
constexpr Handler unary_of = unary<T, T, kWork>;
template <typename T, auto kWork>
constexpr Handler binary_of = binary<T, T, T, kWork>;
template <typename T, auto kWork>
constexpr Handler ternary_of = ternary<T, T, T, T, kWork>;

}  // namespace fatune::ptx
