// confinement.hpp: Declares the confinement of worker processes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fatune {

/// Confinement that the system offers.
struct Confinement {
  int landlock = 0;  ///< ABI version; 0: files are not confined
  bool seccomp = false;
};
Confinement confinement_here();
/// Returns "landlock ABI 7, seccomp".
std::string describe(const Confinement& confinement);

// Confinement holds for this process and its children until they end, and has no effect on systems
// without support. Call before the process has threads. Missing folders are ignored.

/// For compile workers: no network, no other program, and only files below these folders.
struct ConfinedFolders {
  std::vector<std::filesystem::path> readable, writable;  ///< writable folders are readable, too
};
void confine(const ConfinedFolders& folders);
/// For device workers: no network, and writing only below these folders. Reading, other programs
/// and local sockets stay allowed.
void confine_writing(const std::vector<std::filesystem::path>& folders);

}  // namespace fatune
