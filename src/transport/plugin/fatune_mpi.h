// fatune_mpi.h - what libfatune_mpi offers the program that opens it at run time.
#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): C, too

// A C interface, so that program and plug-in may be of different compilers. Functions that can fail
// return 0 for success; fatune_mpi_error() says what did not succeed.
#define FATUNE_MPI_INTERFACE 1

#ifdef __cplusplus
extern "C" {
#endif

int fatune_mpi_interface(void);  ///< FATUNE_MPI_INTERFACE of the plug-in
int fatune_mpi_begin(void);      ///< once a process; collective
int fatune_mpi_rank(void);
int fatune_mpi_size(void);
const char* fatune_mpi_host(int rank);
const char* fatune_mpi_library(void);  ///< "Open MPI v4.1.4, ..."
/// Copies the bytes and returns at once.
int fatune_mpi_send(int to, const void* bytes, size_t size);
/// Whether a message is there (1) or not (0), whose it is, and its size; -1: an error.
int fatune_mpi_probe(int* from, size_t* size);
/// The message that was probed.
int fatune_mpi_receive(int from, void* bytes, size_t size);
/// Collective, but for ranks that died.
int fatune_mpi_end(void);
const char* fatune_mpi_error(void);

#ifdef __cplusplus
}
#endif
