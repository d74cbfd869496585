// The part of a prepared graph that one rank holds: its rows of A~ with columns renumbered to own and halo rows, and
// its rows of X, on its device.
#pragma once

#include "backends/device.hpp"
#include "harness/exchange_plan.hpp"

namespace strobe {

/// A~ and X of one rank. Without values on the device, shapes only.
struct LocalGraph {
  SparseMatrix a;   // [own rows, own + halo rows], columns of a row in vertex order
  Tensor features;  // [own rows, F]
};

/// Least and largest number of columns that layers multiply A~ with; 0 when none does.
struct ProductWidths {
  std::int64_t least = 0, most = 0;
};

/// Builds rank `device.rank()`'s part under `placement`; `needs` are the cells that its halo brings (may be empty
/// lists). A~ is left out (no rows) when no layer multiplies with it. Cost O(rank's non-zeros + T N / P). Throws
/// InvalidRequest when a rank holds more than 2^31 - 1 rows.
LocalGraph build_local_graph(Device& device, const PreparedGraph& graph, const Placement& placement,
                             const HaloNeeds& needs, const ProductWidths& widths);

}  // namespace strobe
