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

/// How a matrix will be multiplied with: the least and the largest number of columns (0 when no layer does), and
/// whether it stays for many passes, so that forms which make products faster are worth making.
struct Products {
  std::int64_t least = 0, most = 0;
  bool lasting = true;
};

/// Rank `device.rank()`'s rows of A~ under `placement`, whose step t is the graph's step first_step + t; `needs` are
/// the cells that its halo brings (may be empty lists). Cost O(rank's non-zeros + T N / P). Throws InvalidRequest when
/// a rank holds more than 2^31 - 1 rows.
SparseMatrix build_local_matrix(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                                const Placement& placement, const HaloNeeds& needs, const Products& products);

/// The same with the rank's rows of X. A~ is left out (no rows) when no layer multiplies with it.
LocalGraph build_local_graph(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                             const Placement& placement, const HaloNeeds& needs, const Products& products);

}  // namespace strobe
