// outcome.hpp: Declares a value or a failure with the status that the C interface returns.
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
  std::int32_t driver_code = 0;  ///< a CUresult; 0 if no driver call failed
};

/// Converts errors of files and arguments.
inline Failure failure_of(Error error) {
  const bool file = error.kind == ErrorKind::kFile;
  return {file ? FATUNE_RT_BAD_FILE : FATUNE_RT_BAD_ARGUMENT, std::move(error.message)};
}

/// Like Result with the C interface's failures. FATUNE_TRY works with it and converts a Result.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  // The constructors are implicit by design.
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
  Outcome(Error error) : Outcome(failure_of(std::move(error))) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  const Failure& error() const& { return std::get<1>(state_); }
  Failure&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Failure> state_;
};

/// The value of an operation without result; FATUNE_TRY_STATUS works with Outcome<Done>.
struct Done {};

}  // namespace fatune::rt
