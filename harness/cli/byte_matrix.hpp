// Byte matrices of planned exchanges as files for nccl-tests' alltoallv_perf.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// One exchange of a plan in the format of alltoallv_perf.
struct ByteMatrixFile {
  std::string name;  // of the file: case, place in the plan, exchange
  std::string text;  // the matrix, one line per sender
  std::uint64_t most_bytes_of_a_rank =
      0;  // the most that a rank sends or receives; alltoallv_perf needs it as -b and -e
};

/// The exchanges of a case's plan (`plan_case`) that move bytes between ranks, in the order of the plan.
std::vector<ByteMatrixFile> byte_matrix_files(const Json& plan);

/// Creates `folder` and writes the files into it. Returns their number. Throws SystemError.
std::size_t write_byte_matrices(const std::string& folder, const Json& plan);

}  // namespace strobe
