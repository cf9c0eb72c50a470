// mpi_transport.hpp - MPI as a transport, by a plug-in that is opened at run time.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "transport/transport.hpp"

namespace fatune {

inline constexpr const char* kMpiPlugin = "libfatune_mpi.so";

/// Opens the first plug-in that there is and joins the other ranks. An environment error without
/// one, or when MPI knows another number of ranks than `launched`, which the launcher started.
Result<std::unique_ptr<Transport>> open_mpi(const std::vector<std::filesystem::path>& places,
                                            int launched);

/// The first of the places that holds the plug-in; empty where none does.
std::filesystem::path find_mpi_plugin(const std::vector<std::filesystem::path>& places);
/// Opens it, and nothing of MPI; an environment error says why it cannot be.
Status try_mpi_plugin(const std::filesystem::path& plugin);

}  // namespace fatune
