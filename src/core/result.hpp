// result.hpp - a value or the reason why there is none; how failures travel up.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/check.hpp"

namespace fatune {

/// Decides the exit code; the message is for people and names flag, file or field.
enum class ErrorKind { kUsage, kEnvironment, kFile, kDevice, kInterrupted };

struct Error {
  ErrorKind kind = ErrorKind::kUsage;
  std::string message;
};

/// Puts what the caller was doing in front of the message: "while X: ...".
inline Error with_context(Error error, const std::string& doing) {
  error.message = "while " + doing + ": " + error.message;
  return error;
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // implicit by design

  explicit operator bool() const noexcept { return state_.index() == 0; }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(value()); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::move(std::get<1>(state_)); }

 private:
  T& value() {
    FATUNE_CHECK(state_.index() == 0, "a failed Result has no value");
    return std::get<0>(state_);
  }
  const T& value() const {
    FATUNE_CHECK(state_.index() == 0, "a failed Result has no value");
    return std::get<0>(state_);
  }
  std::variant<T, Error> state_;
};

/// A Result without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // implicit by design
  explicit operator bool() const noexcept { return !error_.has_value(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

inline Error usage_error(std::string m) { return {ErrorKind::kUsage, std::move(m)}; }
inline Error environment_error(std::string m) { return {ErrorKind::kEnvironment, std::move(m)}; }
inline Error file_error(std::string m) { return {ErrorKind::kFile, std::move(m)}; }
inline Error device_error(std::string m) { return {ErrorKind::kDevice, std::move(m)}; }

}  // namespace fatune

#define FATUNE_JOIN2(a, b) a##b
#define FATUNE_JOIN(a, b) FATUNE_JOIN2(a, b)
/// `FATUNE_TRY(auto x, f());` binds the value or returns the error to the caller.
#define FATUNE_TRY(declaration, expression) \
  FATUNE_TRY_IMPL(FATUNE_JOIN(result_, __LINE__), declaration, expression)
#define FATUNE_TRY_IMPL(name, declaration, expression) \
  auto name = (expression);                            \
  if (!name) return std::move(name).error();           \
  declaration = *std::move(name)
/// The same for a Status: `FATUNE_TRY_STATUS(f());`.
#define FATUNE_TRY_STATUS(expression) \
  if (auto fatune_status = (expression); !fatune_status) return std::move(fatune_status).error()
