// fatune_mpi.cpp: Implements the plug-in's interface with MPI calls.
#include "transport/plugin/fatune_mpi.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <vector>

#include <mpi.h>

#define FATUNE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kTag = 1;

/// A message in transit, whose bytes must stay until it is sent.
struct Sending {
  MPI_Request request;
  std::vector<char> bytes;
};

int rank = 0, size = 1;
std::vector<std::string> hosts;
std::list<Sending> sending;
std::string library, failure;

int checked(int code) {
  if (code == MPI_SUCCESS) return 0;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  failure.assign(text, static_cast<std::size_t>(length));
  return 1;
}

int gather_hosts() {
  char own[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  if (checked(MPI_Get_processor_name(own, &length))) return 1;
  std::vector<char> all(static_cast<std::size_t>(size) * sizeof own);
  constexpr int kLength = sizeof own;
  if (checked(MPI_Allgather(own, kLength, MPI_CHAR, all.data(), kLength, MPI_CHAR, MPI_COMM_WORLD)))
    return 1;
  for (std::size_t i = 0; i < all.size(); i += sizeof own) hosts.emplace_back(&all[i]);
  return 0;
}

/// Removes sent messages; messages to a dead rank are never sent, or fail harmlessly.
void forget_sent() {
  for (auto each = sending.begin(); each != sending.end();) {
    int done = 0;
    const int code = MPI_Test(&each->request, &done, MPI_STATUS_IGNORE);
    each = done || code != MPI_SUCCESS ? sending.erase(each) : std::next(each);
  }
}

}  // namespace

FATUNE_EXPORT int fatune_mpi_interface(void) { return FATUNE_MPI_INTERFACE; }

FATUNE_EXPORT int fatune_mpi_begin(void) {
  // Open MPI 4 reads long messages from the sender's memory, and hangs if the sender was killed.
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  if (checked(MPI_Init(nullptr, nullptr))) return 1;
  if (checked(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN))) return 1;
  if (checked(MPI_Comm_rank(MPI_COMM_WORLD, &rank))) return 1;
  if (checked(MPI_Comm_size(MPI_COMM_WORLD, &size))) return 1;
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  if (checked(MPI_Get_library_version(text, &length))) return 1;
  library.assign(text, std::strcspn(text, "\n"));
  return gather_hosts();
}

FATUNE_EXPORT int fatune_mpi_rank(void) { return rank; }
FATUNE_EXPORT int fatune_mpi_size(void) { return size; }
FATUNE_EXPORT const char* fatune_mpi_host(int of) {
  return hosts[static_cast<std::size_t>(of)].c_str();
}
FATUNE_EXPORT const char* fatune_mpi_library(void) { return library.c_str(); }

FATUNE_EXPORT int fatune_mpi_send(int to, const void* bytes, size_t count) {
  if (count > INT_MAX) {
    failure = "a message of more than 2 GiB";
    return 1;
  }
  const char* const begin = static_cast<const char*>(bytes);
  Sending& message = sending.emplace_back();
  message.bytes.assign(begin, begin + count);
  const int code = MPI_Isend(message.bytes.data(), static_cast<int>(count), MPI_BYTE, to, kTag,
                             MPI_COMM_WORLD, &message.request);
  // MPI refuses messages to a dead rank only, and the death of a rank is not reported.
  if (code != MPI_SUCCESS) sending.pop_back();
  return 0;
}

FATUNE_EXPORT int fatune_mpi_probe(int* from, size_t* count) {
  forget_sent();
  int there = 0, length = 0;
  MPI_Status status;
  if (checked(MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status))) return -1;
  if (!there) return 0;
  if (checked(MPI_Get_count(&status, MPI_BYTE, &length))) return -1;
  *from = status.MPI_SOURCE;
  *count = static_cast<std::size_t>(length);
  return 1;
}

FATUNE_EXPORT int fatune_mpi_receive(int from, void* bytes, size_t count) {
  return checked(MPI_Recv(bytes, static_cast<int>(count), MPI_BYTE, from, kTag, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
}

FATUNE_EXPORT int fatune_mpi_end(void) {
  forget_sent();
  return checked(MPI_Finalize());
}

FATUNE_EXPORT const char* fatune_mpi_error(void) { return failure.c_str(); }
