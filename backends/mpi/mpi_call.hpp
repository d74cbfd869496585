// MPI calls that throw instead of returning codes.
#pragma once

#include <mpi.h>

#include <string>

#include "core/errors.hpp"

namespace strobe::mpi {

/// Throws SystemError with MPI's own words unless `code` is MPI_SUCCESS. `call` names the MPI function.
inline void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw SystemError(
      std::string(call) + ": " +
      (length > 0 ? std::string(text, static_cast<std::size_t>(length)) : "error " + std::to_string(code)));
}

/// Whether a request has completed; MPI_REQUEST_NULL has.
inline bool test(MPI_Request& request) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

}  // namespace strobe::mpi
