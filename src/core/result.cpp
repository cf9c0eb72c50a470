// result.cpp - adds what the caller was doing to an error.
#include "core/result.hpp"

namespace fatune {

Error with_context(Error error, const std::string& doing) {
  error.message = "while " + doing + ": " + error.message;
  return error;
}

}  // namespace fatune
