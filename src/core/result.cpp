// result.cpp: Implements the shared error handling of Result and Status.
#include "core/result.hpp"

namespace fatune {

Error::Error() = default;
Error::Error(ErrorKind what, std::string why) : kind(what), message(std::move(why)) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

Error with_context(Error error, const std::string& doing) {
  error.message = "while " + doing + ": " + error.message;
  return error;
}

Error usage_error(std::string message) { return {ErrorKind::kUsage, std::move(message)}; }
Error environment_error(std::string message) {
  return {ErrorKind::kEnvironment, std::move(message)};
}
Error file_error(std::string message) { return {ErrorKind::kFile, std::move(message)}; }
Error device_error(std::string message) { return {ErrorKind::kDevice, std::move(message)}; }

}  // namespace fatune
