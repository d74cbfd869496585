// A compressed sparse matrix in host memory, as the code that makes other forms of it reads it.
#pragma once

#include <cstdint>
#include <span>

namespace strobe {

/// CSR on the host: `offsets` [rows + 1], `columns` ascending within a row unless said otherwise, absolute.
template <class T>
struct HostCsrView {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> columns;
  std::span<const T> values;
};

}  // namespace strobe
