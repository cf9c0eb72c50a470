// exit_code.cpp - the table of exit codes and the last word of a failed command.
#include "cli/exit_code.hpp"

#include "base/log.hpp"

namespace fatune::cli {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kUsage;
    case ErrorKind::kEnvironment:
      return kEnvironment;
    case ErrorKind::kFile:
      return kFiles;
    case ErrorKind::kDevice:
      return kDevice;
    case ErrorKind::kInterrupted:
      return kInterrupted;
  }
  return kBug;
}

int fail(const Error& error) {
  log::error(error.message);
  return exit_code(error.kind);
}

}  // namespace fatune::cli
