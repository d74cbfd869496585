// The part of a prepared graph that one rank holds on its device: its rows of A~ and of X. Columns of A~ are renumbered
// to own and halo rows.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "backends/device.hpp"
#include "backends/matrix/host_csr.hpp"
#include "backends/matrix/matrix_use.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// A~ and X of one rank. Without values on the device, shapes only.
struct LocalGraph {
  SparseMatrix a;        // [own rows, own + halo rows], columns of a row in vertex order
  Tensor features;       // [own rows, F]: X, or A~ X if that replaces it
  Tensor first_product;  // [own rows, F]: A~ X if X is kept too

  /// The input of the first layer.
  const Tensor& first_input() const { return first_product.defined() ? first_product : features; }
  std::uint64_t bytes() const { return a.bytes() + features.bytes() + first_product.bytes(); }
};

/// A rank's rows of values of cells.
struct HostRows {
  bool gathered = false;
  std::vector<float> values32;
  std::vector<double> values64;
};

/// A rank's part of a graph on the host, ready to be moved in. It is kept if it will move again. It holds X and A~ X
/// only if the rank's rows are not contiguous in the graph.
struct HostPart {
  HostCsr csr;
  HostRows features, product;
};

/// The parts of one block, in the order in which they are requested. The first visit makes them.
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

/// Facts about the matrix of `rank` under `placement` that the host knows without its entries.
HostCsr matrix_outline(const Placement& placement, Rank rank);

/// The rows of A~ of `rank`, or of `device.rank()`, under `placement`. Step t of the placement is the graph's step
/// first_step + t. `needs` are the cells that its halo brings (may be empty lists). Cost O(rank's non-zeros + T N / P).
/// Throws InvalidRequest when a rank holds more than 2^31 - 1 rows. The device prepares a lasting matrix for its use
/// while the host has the entries; for others see prepare_passing. With `parts`, the host's work is kept there and
/// reused the next time.
SparseMatrix build_local_matrix(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                                const Placement& placement, const HaloNeeds& needs, const MatrixUse& use,
                                HostParts* parts = nullptr);
SparseMatrix build_local_matrix(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                                const Placement& placement, const HaloNeeds& needs, const MatrixUse& use, Rank rank,
                                HostParts* parts = nullptr);

/// The same with the rank's rows of X and of A~ X. A~ is left out (no rows) when the use has no product.
LocalGraph build_local_graph(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                             const Placement& placement, const HaloNeeds& needs, const MatrixUse& use,
                             HostParts* parts = nullptr);

/// Lets the device prepare a matrix that it has of `rank`, or of `device.rank()`, under `placement` for one pass, from
/// the data on the device. Leaves lasting matrices alone.
void prepare_passing(Device& device, const Placement& placement, const MatrixUse& use, SparseMatrix& a);
void prepare_passing(Device& device, const Placement& placement, const MatrixUse& use, Rank rank, SparseMatrix& a);

}  // namespace strobe
