#include "harness/full_batch/inputs/local_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace strobe {
namespace {

class LocalBuilder {
 public:
  LocalBuilder(const PreparedGraph& graph, std::int64_t first_step, const Placement& placement, const HaloNeeds& needs,
               Rank rank)
      : graph_(graph),
        first_step_(first_step),
        placement_(placement),
        needs_(needs),
        rank_(rank),
        rows_(placement.row_offsets(rank)),
        halo_(halo_offsets(needs, rank)) {}

  const std::vector<std::int64_t>& rows() const { return rows_; }
  const std::vector<std::int64_t>& halo() const { return halo_; }

  std::int64_t nonzeros() const {
    if (!graph_.has_structure()) return expected_nonzeros();
    std::int64_t total = 0;
    for_owned_runs([&](std::int64_t first, std::int64_t count) {
      total += graph_.row_offsets[first + count] - graph_.row_offsets[first];
    });
    return total;
  }

  HostCsr outline() const { return matrix_outline(placement_, rank_); }

  HostCsr structure(bool fp64) const {
    HostCsr csr = outline();
    csr.has_entries = true;
    const std::int64_t count = nonzeros();
    csr.offsets.reserve(static_cast<std::size_t>(rows_.back()) + 1);
    csr.columns.reserve(count);
    std::vector<std::int32_t> local(graph_.vertices);
    for (Step t = 0; t < placement_.steps(); ++t) append_step(t, local, fp64, csr);
    return csr;
  }

  /// The rank's rows of `all` [T * N * F]. Points into `all` if they are contiguous, else into `own`, where they are
  /// gathered.
  template <class T>
  const T* cells(const Column<T>& all, std::vector<T>& own, bool gathered) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces;  // begin, end
    for_owned_runs([&](std::int64_t first, std::int64_t count) {
      if (!pieces.empty() && pieces.back().second == first) {
        pieces.back().second += count;
      } else {
        pieces.emplace_back(first, first + count);
      }
    });
    if (pieces.size() == 1) return all.data() + pieces[0].first * graph_.feature_width;
    if (gathered) return own.data();
    own.reserve(rows_.back() * graph_.feature_width);
    for_owned_runs([&](std::int64_t first, std::int64_t count) {
      const auto begin = all.begin() + first * graph_.feature_width;
      own.insert(own.end(), begin, begin + count * graph_.feature_width);
    });
    return own.data();
  }

 private:
  /// For a graph that is known by its shape only: each vertex has an even share of a step's non-zeros.
  std::int64_t expected_nonzeros() const {
    double total = 0;
    for (Step t = 0; t < placement_.steps(); ++t) {
      total += static_cast<double>(graph_.step_nonzeros(static_cast<Step>(first_step_) + t)) *
               static_cast<double>(placement_.step_rows(rank_, t)) / static_cast<double>(graph_.vertices);
    }
    return std::llround(total);
  }

  /// The prepared graph's row of vertex 0 at step t of the placement.
  std::int64_t first_row(Step t) const { return (first_step_ + t) * graph_.vertices; }

  /// Calls visit(first row, rows), in the prepared graph's numbering and in local order.
  template <class Visit>
  void for_owned_runs(const Visit& visit) const {
    for (Step t = 0; t < placement_.steps(); ++t) {
      for (const Run& run : placement_.map(t).runs_of(rank_)) {
        visit(first_row(t) + run.first, run.count);
      }
    }
  }

  void append_step(Step t, std::vector<std::int32_t>& local, bool fp64, HostCsr& csr) const {
    const std::size_t step = t;
    const std::vector<Run>& owned = placement_.map(t).runs_of(rank_);
    std::int64_t next = rows_[step];
    for (const Run& run : owned) {
      for (std::int64_t v = run.first; v < run.first + run.count; ++v) {
        local[v] = static_cast<std::int32_t>(next++);
      }
    }
    next = rows_.back() + halo_[step];
    for (const VertexId v : needs_.of(rank_, t)) {
      local[v] = static_cast<std::int32_t>(next++);
    }
    for (const Run& run : owned) {
      const std::size_t first = first_row(t) + run.first;
      for (std::size_t row = first; row < first + static_cast<std::size_t>(run.count); ++row)
        append_row(row, local, fp64, csr);
    }
  }

  void append_row(std::size_t row, const std::vector<std::int32_t>& local, bool fp64, HostCsr& csr) const {
    const std::size_t begin = graph_.row_offsets[row];
    const std::size_t end = graph_.row_offsets[row + 1];
    for (std::size_t e = begin; e < end; ++e) csr.columns.push_back(local[graph_.columns[e]]);
    const auto first = static_cast<std::ptrdiff_t>(begin), last = static_cast<std::ptrdiff_t>(end);
    if (fp64) {
      csr.values64.insert(csr.values64.end(), graph_.values64.begin() + first, graph_.values64.begin() + last);
    } else {
      csr.values32.insert(csr.values32.end(), graph_.values32.begin() + first, graph_.values32.begin() + last);
    }
    csr.offsets.push_back(static_cast<std::int64_t>(csr.columns.size()));
  }

  const PreparedGraph& graph_;
  std::int64_t first_step_;
  const Placement& placement_;
  const HaloNeeds& needs_;
  Rank rank_;
  std::vector<std::int64_t> rows_, halo_;
};

SparseMatrix matrix_on_device(Device& device, const LocalBuilder& builder, const MatrixUse& use, HostPart& part) {
  SparseMatrix a;
  a.rows = builder.rows().back();
  a.columns = a.rows + builder.halo().back();
  a.halo_begin = a.rows;
  a.steps = static_cast<std::int64_t>(builder.rows().size()) - 1;
  a.nonzeros = builder.nonzeros();
  if (a.columns > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidRequest("/ranks", "a rank would hold more than 2^31 - 1 rows; use more ranks");
  }
  const bool fp64 = device.precision() == ElementType::f64;
  if (!part.csr.has_entries) {
    const bool needed = device.has_values() || device.entries_decide(use);
    part.csr = needed ? builder.structure(fp64) : builder.outline();
  }
  const HostCsr& csr = part.csr;
  a.row_offsets = device.move_in(csr.offsets.data(), a.rows + 1, 1, ElementType::i64);
  a.column_indices = device.move_in(csr.columns.data(), a.nonzeros, 1, ElementType::i32);
  a.values = device.move_in(csr.values(device.precision()), a.nonzeros, 1, device.precision());
  if (use.lasting) device.prepare(a, csr, use);
  a.step_rows = device.move_in(builder.rows().data(), a.steps + 1, 1, ElementType::i64);
  a.step_halo = device.move_in(builder.halo().data(), a.steps + 1, 1, ElementType::i64);
  return a;
}

/// The rank's rows of X or of A~ X, with values in the precision of the device.
Tensor cells_on_device(Device& device, const PreparedGraph& graph, const LocalBuilder& builder,
                       const Column<float>& all32, const Column<double>& all64, HostRows& own) {
  const PartScope part(device, MemoryPart::features);
  const void* from = nullptr;
  if (device.has_values()) {
    from = device.precision() == ElementType::f64
               ? static_cast<const void*>(builder.cells(all64, own.values64, own.gathered))
               : builder.cells(all32, own.values32, own.gathered);
    own.gathered = true;
  }
  return device.move_in(from, builder.rows().back(), graph.feature_width, device.precision());
}

}  // namespace

HostCsr matrix_outline(const Placement& placement, Rank rank) {
  HostCsr csr;
  csr.step_rows = placement.row_offsets(rank);
  csr.snapshot_rows = placement.vertices;
  for (Step t = 0; t < placement.steps(); ++t) {
    const std::int64_t rows = placement.step_rows(rank, t);
    if (rows != 0 && rows != placement.vertices) csr.snapshot_rows = 0;
  }
  return csr;
}

SparseMatrix build_local_matrix(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                                const Placement& placement, const HaloNeeds& needs, const MatrixUse& use,
                                HostParts* parts) {
  return build_local_matrix(device, graph, first_step, placement, needs, use, device.rank(), parts);
}

SparseMatrix build_local_matrix(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                                const Placement& placement, const HaloNeeds& needs, const MatrixUse& use, Rank rank,
                                HostParts* parts) {
  const LocalBuilder builder(graph, first_step, placement, needs, rank);
  HostPart passing;
  return matrix_on_device(device, builder, use, parts != nullptr ? parts->take() : passing);
}

LocalGraph build_local_graph(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                             const Placement& placement, const HaloNeeds& needs, const MatrixUse& use,
                             HostParts* parts) {
  const LocalBuilder builder(graph, first_step, placement, needs, device.rank());
  HostPart passing;
  HostPart& part = parts != nullptr ? parts->take() : passing;
  LocalGraph local;
  if (!use.products.empty()) local.a = matrix_on_device(device, builder, use, part);
  local.features = cells_on_device(device, graph, builder, graph.features32, graph.features64, part.features);
  if (graph.features_kept) {
    local.first_product = cells_on_device(device, graph, builder, graph.products32, graph.products64, part.product);
  }
  return local;
}

void prepare_passing(Device& device, const Placement& placement, const MatrixUse& use, SparseMatrix& a) {
  prepare_passing(device, placement, use, device.rank(), a);
}

void prepare_passing(Device& device, const Placement& placement, const MatrixUse& use, Rank rank, SparseMatrix& a) {
  if (!use.lasting) device.prepare(a, matrix_outline(placement, rank), use);
}

}  // namespace strobe
