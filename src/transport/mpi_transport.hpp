// mpi_transport.hpp: Provides MPI as a transport, by a plug-in that is loaded at run time.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "transport/transport.hpp"

namespace fatune {

inline constexpr const char* kMpiPlugin = "libfatune_mpi.so";

/// Loads the first plug-in found and joins the other ranks. A missing plug-in is an environment
/// error, and so is an MPI whose number of ranks is not `launched`.
Result<std::unique_ptr<Transport>> open_mpi(const std::vector<std::filesystem::path>& places,
                                            int launched);

/// Returns the path of the first plug-in found; empty if there is none.
std::filesystem::path find_mpi_plugin(const std::vector<std::filesystem::path>& places);
/// Loads the plug-in without starting MPI; returns an environment error on failure.
Status try_mpi_plugin(const std::filesystem::path& plugin);

}  // namespace fatune
