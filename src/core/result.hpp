// result.hpp: Declares a value or the error that prevented it, and the check that stops on a bug.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#define FATUNE_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::fatune::fail_check(#condition, why, __FILE__, __LINE__))

namespace fatune {

/// Prints the failed condition and its reason to stderr and exits with code 70.
[[noreturn]] void fail_check(const char* condition, const char* why, const char* file,
                             int line) noexcept;

/// The kind decides the exit code; the message names flag, file or field.
enum class ErrorKind { kUsage, kEnvironment, kFile, kDevice, kInterrupted, kImpossible };
/// Words of the kinds, in their order.
inline constexpr std::string_view kErrorKinds[] = {"usage",  "environment", "files",
                                                   "device", "interrupted", "impossible"};
constexpr std::string_view name(ErrorKind kind) {
  return kErrorKinds[static_cast<std::size_t>(kind)];
}

/// Members are defined in result.cpp, because every call that can fail has code for an Error.
struct Error {
  Error();
  Error(ErrorKind what, std::string why);
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  ErrorKind kind = ErrorKind::kUsage;
  std::string message;
};

/// Prefixes the message with the caller's action: "while X: ...".
Error with_context(Error error, const std::string& doing);
Error usage_error(std::string message);
Error environment_error(std::string message);
Error file_error(std::string message);
Error device_error(std::string message);
/// Nothing that was asked for can be done: the answer is no.
Error impossible_error(std::string message);
/// Tells whether the error is of one problem, so that others of a suite can be done.
bool is_of_problem(const Error& error);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // implicit by design
  Result(Error error) : error_(std::move(error)) {}  // implicit by design

  explicit operator bool() const noexcept { return value_.has_value(); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(value()); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  T& value() {
    FATUNE_CHECK(value_.has_value(), "a failed Result has no value");
    return *value_;
  }
  const T& value() const {
    FATUNE_CHECK(value_.has_value(), "a failed Result has no value");
    return *value_;
  }
  std::optional<T> value_;
  std::optional<Error> error_;  ///< set if and only if value_ is not
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
/// `FATUNE_TRY_STATUS(f());` returns the error of a failed Status to the caller.
#define FATUNE_TRY_STATUS(expression) \
  if (auto fatune_status = (expression); !fatune_status) return std::move(fatune_status).error()
