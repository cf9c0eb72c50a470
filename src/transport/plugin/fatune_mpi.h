// fatune_mpi.h: Declares the interface of libfatune_mpi, which the program loads at run time.
#pragma once

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): C, too

// A C interface lets program and plug-in come from different compilers. Functions that can fail
// return 0 on success; otherwise fatune_mpi_error() describes the failure.
#define FATUNE_MPI_INTERFACE 1

#ifdef __cplusplus
extern "C" {
#endif

int fatune_mpi_interface(void);  ///< version of the plug-in
int fatune_mpi_begin(void);      ///< once per process; collective
int fatune_mpi_rank(void);
int fatune_mpi_size(void);
const char* fatune_mpi_host(int rank);
const char* fatune_mpi_library(void);  ///< "Open MPI v4.1.4, ..."
/// Copies the bytes and returns at once.
int fatune_mpi_send(int to, const void* bytes, size_t size);
/// Returns 1 and sets source and size if a message has arrived, 0 if none has, -1 on an error.
int fatune_mpi_probe(int* from, size_t* size);
/// Receives the probed message.
int fatune_mpi_receive(int from, void* bytes, size_t size);
/// Collective among living ranks.
int fatune_mpi_end(void);
const char* fatune_mpi_error(void);

#ifdef __cplusplus
}
#endif
