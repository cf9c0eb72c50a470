// confinement.hpp - takes from a worker process what its work does not need.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fatune {

/// What the system offers.
struct Confinement {
  int landlock = 0;  ///< version of the interface; 0: files are not confined
  bool seccomp = false;
};
Confinement confinement_here();
/// "landlock ABI 7, seccomp".
std::string describe(const Confinement& confinement);

// Both hold for this process until its end and for all that it starts, and take no effect where the
// system has nothing of the kind. Call them before the process has threads. Folders that are not
// there are passed over.

/// No network, no other program, no file but those below these folders. For compile workers.
struct ConfinedFolders {
  std::vector<std::filesystem::path> readable, writable;  ///< what is writable is readable
};
void confine(const ConfinedFolders& folders);
/// No network, and nothing is written but below these folders; sockets to neighbours on this
/// machine, other programs and reading stay. For device workers.
void confine_writing(const std::vector<std::filesystem::path>& folders);

}  // namespace fatune
