// Arrays of NumPy's .npy files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/storage/column.hpp"

namespace strobe {

/// A row-major array of little-endian numbers.
struct NpyArray {
  std::string type;                 // "<f4", "<f8", "<i4" or "<i8"
  std::vector<std::int64_t> shape;  // [] is one number
  Column<char> bytes;               // of the elements
  bool fortran = false;             // column-major, which only `parse_npy` lets pass

  std::int64_t size() const;
  /// Element `i` in row-major order. An <i8 beyond 2^53 is rounded to the nearest double.
  double at(std::int64_t i) const;
};

/// Type and shape of the file, without elements. Throws like `read_npy`, except for what concerns the elements.
NpyArray read_npy_header(const std::string& path);

/// The whole array, plain or gzip. Under a bound of memory, a large one lies in a temporary file. Throws InvalidInput
/// for a file that is no .npy file, has a version other than 1.0 and 2.0, is in Fortran order, or holds objects or
/// another type. Also throws it for a file that is truncated or has bytes left over.
NpyArray read_npy(const std::string& path);

/// The same, as a view of the mapped file unless it is gzip.
NpyArray map_npy(const std::string& path);

/// The same of bytes that are one whole .npy file, as a view of them; `path` names them in messages. Takes Fortran
/// order, too.
NpyArray parse_npy(const Column<char>& bytes, const std::string& path);

}  // namespace strobe
