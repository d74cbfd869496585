// The part of a prepared graph that one rank holds: its rows of A~ with columns renumbered to own and halo rows, and
// its rows of X, on its device.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "backends/device.hpp"
#include "harness/exchange/exchange_plan.hpp"

namespace strobe {

/// A~ and X of one rank. Without values on the device, shapes only.
struct LocalGraph {
  SparseMatrix a;        // [own rows, own + halo rows], columns of a row in vertex order
  Tensor features;       // [own rows, F]: X, or A~ X where that replaces it
  Tensor first_product;  // [own rows, F]: A~ X where X is kept beside it

  /// What the first layer is given.
  const Tensor& first_input() const { return first_product.defined() ? first_product : features; }
  std::uint64_t bytes() const { return a.bytes() + features.bytes() + first_product.bytes(); }
};

/// Host arrays of a rank's A~ before they move to the device.
struct HostCsr {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<float> values32;
  std::vector<double> values64;
};

/// A rank's rows of values of cells.
struct HostRows {
  bool gathered = false;
  std::vector<float> values32;
  std::vector<double> values64;
};

/// A rank's part of a graph as it lies on the host, ready to be moved in: kept where it will move again and again. X
/// and A~ X are in it only where the rank's rows of the graph's own do not lie together.
struct HostPart {
  bool has_matrix = false;
  HostCsr csr;
  HostRows features, product;
};

/// The parts that one block is built from, in the order in which they are asked for: made at the first visit.
class HostParts {
 public:
  /// Begins a visit.
  void rewind() { next_ = 0; }
  HostPart& take() {
    if (next_ == parts_.size()) parts_.emplace_back();
    return parts_[next_++];
  }

 private:
  std::deque<HostPart> parts_;
  std::size_t next_ = 0;
};

/// How a matrix will be multiplied with: the least and the largest number of columns (0 when no layer does), and
/// whether it stays for many passes, so that forms which make products faster are worth making.
struct Products {
  std::int64_t least = 0, most = 0;
  bool lasting = true;
  bool backward = true;  // whether gradients flow through any of them, by the transpose
};

/// Rank `device.rank()`'s rows of A~ under `placement`, whose step t is the graph's step first_step + t; `needs` are
/// the cells that its halo brings (may be empty lists). Cost O(rank's non-zeros + T N / P). Throws InvalidRequest when
/// a rank holds more than 2^31 - 1 rows.
/// With `parts`, what was made for the host is kept there and taken from there the next time.
SparseMatrix build_local_matrix(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                                const Placement& placement, const HaloNeeds& needs, const Products& products,
                                HostParts* parts = nullptr);

/// The same with the rank's rows of X and of A~ X. A~ is left out (no rows) when no layer multiplies with it.
LocalGraph build_local_graph(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                             const Placement& placement, const HaloNeeds& needs, const Products& products,
                             HostParts* parts = nullptr);

/// Makes the transpose of `a` on the device, beside it; `block_rows` as in TransposeCsr.
void add_transpose(Device& device, SparseMatrix& a, std::int64_t block_rows);

}  // namespace strobe
