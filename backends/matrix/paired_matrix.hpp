// A sequence of overlapping snapshots stored two at a time, for products with narrow dense matrices. Snapshots t and t
// + 1 of a smoothed dynamic graph share most of their edges, so the union of the two has little more than half as many
// entries as they have together, and one index, one address and one line of gathered input serve both steps: with 6
// features, two rows of x side by side fill one 64-byte line.
// Rows are stored in blocks of 128 by length, as in length_sorted_matrix.hpp.
// Invariant: entry k of the row (pair p, v) has the values of row v at steps 2p and 2p + 1 in its column, zero where a
// step has no such entry; columns ascend within a row and count within the step.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/matrix/host_csr_view.hpp"
#include "backends/tensor.hpp"

namespace strobe {

class Device;

struct PairedMatrix {
  std::int64_t steps = 0;      // steps with rows; pair p holds steps 2p and 2p + 1, the last one may be single
  std::int64_t step_rows = 0;  // rows, and columns, of every step
  std::int64_t entries = 0;
  bool narrow = false;  // columns are u16, not i32
  Tensor offsets;       // i64 [pairs * step_rows + 1, 1], of rows as they are stored
  Tensor order;         // the row of its block that each stored row is
  Tensor columns;       // u8 [entries, 2 or 4]: the bytes of u16 or i32
  Tensor values;        // [entries, 2]

  std::int64_t pairs() const { return (steps + 1) / 2; }
  std::uint64_t bytes() const { return offsets.bytes() + order.bytes() + columns.bytes() + values.bytes(); }
};

/// Ratio of entries of the union to entries of both steps above which pairs are slower than single steps.
inline constexpr double most_union = 0.8;

/// `csr`, its columns ascending within a row, in pairs on the device, when it has square blocks of `step_rows` on its
/// diagonal and nothing else, and when the union of two steps is small enough to pay: null otherwise. Cost O(nnz)
/// twice.
template <class T>
std::shared_ptr<const PairedMatrix> pair_steps(Device& device, const HostCsrView<T>& csr, std::int64_t step_rows,
                                               double most = most_union);

}  // namespace strobe
