// outcome.hpp - a value or a failure with the status that the C interface returns for it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "core/result.hpp"
#include "runtime/fatune_rt.h"

namespace fatune::rt {

struct Failure {
  fatune_rt_status status = FATUNE_RT_BAD_ARGUMENT;
  std::string message;
  std::int32_t driver_code = 0;  ///< a CUresult; 0 when no call of the driver failed
};

/// Files that cannot be read or understood; arguments that break a rule.
inline Failure failure_of(Error error) {
  const bool file = error.kind == ErrorKind::kFile;
  return {file ? FATUNE_RT_BAD_FILE : FATUNE_RT_BAD_ARGUMENT, std::move(error.message)};
}

/// As Result, with more kinds of failure; FATUNE_TRY works with it, and takes a Result inside.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // implicit by
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // design, all
  Outcome(Error error) : Outcome(failure_of(std::move(error))) {}                   // three

  explicit operator bool() const noexcept { return state_.index() == 0; }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  const Failure& error() const& { return std::get<1>(state_); }
  Failure&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Failure> state_;
};

/// The value of an operation that has none; FATUNE_TRY_STATUS works with its Outcome.
struct Done {};

}  // namespace fatune::rt
