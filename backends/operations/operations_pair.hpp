// Two sparse products as one operation. A graph's two directions of walking are separate products at every hop, and one
// step's rows are too short to fill a GPU. Side by side the two take little longer than one.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

namespace operations_detail {
/// The work of both together; accesses through an index are counted by the rows of `a`.
inline Work beside(const Work& a, const Work& b) {
  return {a.flops + b.flops,
          a.bytes_read + b.bytes_read,
          a.bytes_written + b.bytes_written,
          {a.gather.accessed_bytes + b.gather.accessed_bytes, a.gather.distinct_bytes + b.gather.distinct_bytes,
           a.gather.window_bytes + b.gather.window_bytes, a.gather.row_bytes}};
}
}  // namespace operations_detail

/// Both products; neither reads or writes the other's output.
struct SpmmPair {
  static constexpr std::string_view name = "spmm_pair";
  Spmm first, second;
  Work work() const { return operations_detail::beside(first.work(), second.work()); }
};

/// Both products; neither reads the other's output. They may write the same x: then `second` adds to the result of
/// `first`.
struct SpmmTransposedPair {
  static constexpr std::string_view name = "spmm_transposed_pair";
  SpmmTransposed first, second;
  Work work() const { return operations_detail::beside(first.work(), second.work()); }
};

}  // namespace strobe
