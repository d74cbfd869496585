#include "harness/inputs/local_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backends/operations/operations_store.hpp"

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
      total += graph_.row_offsets[static_cast<std::size_t>(first + count)] -
               graph_.row_offsets[static_cast<std::size_t>(first)];
    });
    return total;
  }

  HostCsr structure(bool fp64) const {
    HostCsr csr;
    const std::int64_t count = nonzeros();
    csr.offsets.reserve(static_cast<std::size_t>(rows_.back()) + 1);
    csr.columns.reserve(static_cast<std::size_t>(count));
    std::vector<std::int32_t> local(static_cast<std::size_t>(graph_.vertices));
    for (Step t = 0; t < placement_.steps(); ++t) append_step(t, local, fp64, csr);
    return csr;
  }

  /// The rank's rows of `all` [T * N * F]: where they lie when that is one piece, else gathered in `own`.
  template <class T>
  const T* cells(const std::vector<T>& all, std::vector<T>& own, bool gathered) const {
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
    own.reserve(static_cast<std::size_t>(rows_.back() * graph_.feature_width));
    for_owned_runs([&](std::int64_t first, std::int64_t count) {
      const auto begin = all.begin() + first * graph_.feature_width;
      own.insert(own.end(), begin, begin + count * graph_.feature_width);
    });
    return own.data();
  }

 private:
  /// Of a graph of which only the shape is known: a vertex has its even share of each step's non-zeros.
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

  /// visit(first row, rows) in the prepared graph's numbering, in local order.
  template <class Visit>
  void for_owned_runs(const Visit& visit) const {
    for (Step t = 0; t < placement_.steps(); ++t) {
      for (const Run& run : placement_.map(t).owned[static_cast<std::size_t>(rank_)]) {
        visit(first_row(t) + run.first, run.count);
      }
    }
  }

  void append_step(Step t, std::vector<std::int32_t>& local, bool fp64, HostCsr& csr) const {
    const auto step = static_cast<std::size_t>(t);
    const std::vector<Run>& owned = placement_.map(t).owned[static_cast<std::size_t>(rank_)];
    std::int64_t next = rows_[step];
    for (const Run& run : owned) {
      for (std::int64_t v = run.first; v < run.first + run.count; ++v) {
        local[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(next++);
      }
    }
    next = rows_.back() + halo_[step];
    for (const VertexId v : needs_.vertices[static_cast<std::size_t>(rank_)][step]) {
      local[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(next++);
    }
    for (const Run& run : owned) {
      const auto first = static_cast<std::size_t>(first_row(t) + run.first);
      for (std::size_t row = first; row < first + static_cast<std::size_t>(run.count); ++row)
        append_row(row, local, fp64, csr);
    }
  }

  void append_row(std::size_t row, const std::vector<std::int32_t>& local, bool fp64, HostCsr& csr) const {
    const auto begin = static_cast<std::size_t>(graph_.row_offsets[row]);
    const auto end = static_cast<std::size_t>(graph_.row_offsets[row + 1]);
    for (std::size_t e = begin; e < end; ++e) csr.columns.push_back(local[static_cast<std::size_t>(graph_.columns[e])]);
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

/// The transpose by counting sort: rows of a column stay in order, so sums have the order that scattering gives.
template <class T>
HostCsr transpose(const HostCsr& csr, std::int64_t columns, const std::vector<T>& from, std::vector<T> HostCsr::*to) {
  HostCsr result;
  result.offsets.assign(static_cast<std::size_t>(columns) + 1, 0);
  for (const std::int32_t column : csr.columns) ++result.offsets[static_cast<std::size_t>(column) + 1];
  for (std::size_t c = 1; c < result.offsets.size(); ++c) result.offsets[c] += result.offsets[c - 1];
  std::vector<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  result.columns.resize(csr.columns.size());
  (result.*to).resize(csr.columns.size());
  for (std::size_t row = 0; row + 1 < csr.offsets.size(); ++row) {
    for (std::int64_t e = csr.offsets[row]; e < csr.offsets[row + 1]; ++e) {
      const auto place =
          static_cast<std::size_t>(next[static_cast<std::size_t>(csr.columns[static_cast<std::size_t>(e)])]++);
      result.columns[place] = static_cast<std::int32_t>(row);
      (result.*to)[place] = from[static_cast<std::size_t>(e)];
    }
  }
  return result;
}

/// Whether pairs of steps serve products of this width: two rows in one register.
bool pairs_fit(const Device& device, std::int64_t width) {
  return width > 0 && 2 * width * static_cast<std::int64_t>(element_bytes(device.precision())) <= device.narrow_bytes();
}

/// `csr` two steps at a time, when every step that this rank holds has the same rows and needs no other rank's.
std::shared_ptr<const PairedMatrix> pairs_of(Device& device, const HostCsr& csr, const SparseMatrix& a,
                                             const std::vector<std::int64_t>& step_rows) {
  std::int64_t rows = 0;
  for (std::size_t t = 0; t + 1 < step_rows.size(); ++t) {
    const std::int64_t here = step_rows[t + 1] - step_rows[t];
    if (here != 0 && rows != 0 && here != rows) return nullptr;
    rows = std::max(rows, here);
  }
  if (a.columns != a.rows) return nullptr;
  if (device.precision() == ElementType::f64) {
    return pair_steps<double>(device, {csr.offsets, csr.columns, csr.values64}, rows);
  }
  return pair_steps<float>(device, {csr.offsets, csr.columns, csr.values32}, rows);
}

HostCsr transposed(const HostCsr& csr, std::int64_t columns, bool fp64) {
  return fp64 ? transpose(csr, columns, csr.values64, &HostCsr::values64)
              : transpose(csr, columns, csr.values32, &HostCsr::values32);
}

/// Whether rows by length serve products of this width (backends/cpu/kernels/sparse/length_sorted_rows.hpp).
bool sorted_fit(const Device& device, std::int64_t width) {
  return width > 0 && width * static_cast<std::int64_t>(element_bytes(device.precision())) <= 2 * device.narrow_bytes();
}

/// `csr`, the `rows` rows of `a` or of its transpose, with rows by length; of their number alone where there are no
/// values.
std::shared_ptr<const LengthSortedMatrix> sorted_of(Device& device, const HostCsr& csr, const SparseMatrix& a,
                                                    std::int64_t rows, const std::vector<std::int64_t>& step_rows) {
  if (!device.has_values()) {
    std::int64_t most = 0;
    for (std::size_t t = 0; t + 1 < step_rows.size(); ++t) most = std::max(most, step_rows[t + 1] - step_rows[t]);
    const std::int64_t span = a.columns != a.rows ? a.columns : std::min(a.columns, 2 * most);
    return length_sorted_shape(device, rows, a.nonzeros, span);
  }
  if (device.precision() == ElementType::f64) {
    return sort_by_length<double>(device, {csr.offsets, csr.columns, csr.values64});
  }
  return sort_by_length<float>(device, {csr.offsets, csr.columns, csr.values32});
}

/// Adds to `a` what makes products faster on this device. Where a form serves every product of the model, the plain
/// transpose is not stored beside its own.
void add_fast_forms(Device& device, const HostCsr& csr, const std::vector<std::int64_t>& step_rows,
                    const Products& products, SparseMatrix& a) {
  if (!products.lasting) return;
  const bool fp64 = device.precision() == ElementType::f64;
  const bool all_pairs = pairs_fit(device, products.most);
  // Whether steps overlap enough for pairs is not known of a shape: rows by length stand for them there.
  if (device.has_values() && pairs_fit(device, products.least)) a.paired = pairs_of(device, csr, a, step_rows);
  const std::int64_t least_unpaired = a.paired ? products.most : products.least;
  const bool sorted = !(a.paired && all_pairs) && sorted_fit(device, least_unpaired);
  if (sorted) a.by_length = sorted_of(device, csr, a, a.rows, step_rows);
  if (!products.backward || !device.wants_transpose()) return;
  const HostCsr t = device.has_values() ? transposed(csr, a.columns, fp64) : HostCsr();
  if (a.paired) a.paired_transpose = pairs_of(device, t, a, step_rows);
  if (a.paired_transpose && all_pairs) return;
  if (sorted && sorted_fit(device, products.most)) {
    a.transpose_by_length = sorted_of(device, t, a, a.columns, step_rows);
    return;
  }
  a.transposed_offsets = device.move_in(t.offsets.data(), a.columns + 1, 1, ElementType::i64);
  a.transposed_indices = device.move_in(t.columns.data(), a.nonzeros, 1, ElementType::i32);
  const void* values = fp64 ? static_cast<const void*>(t.values64.data()) : t.values32.data();
  a.transposed_values = device.move_in(values, a.nonzeros, 1, device.precision());
}

SparseMatrix matrix_on_device(Device& device, const LocalBuilder& builder, const Products& products, HostPart& part) {
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
  if (device.has_values() && !part.has_matrix) part.csr = builder.structure(fp64);
  part.has_matrix = device.has_values();
  const HostCsr& csr = part.csr;
  a.row_offsets = device.move_in(csr.offsets.data(), a.rows + 1, 1, ElementType::i64);
  a.column_indices = device.move_in(csr.columns.data(), a.nonzeros, 1, ElementType::i32);
  const void* values = fp64 ? static_cast<const void*>(csr.values64.data()) : csr.values32.data();
  a.values = device.move_in(values, a.nonzeros, 1, device.precision());
  add_fast_forms(device, csr, builder.rows(), products, a);
  a.step_rows = device.move_in(builder.rows().data(), a.steps + 1, 1, ElementType::i64);
  a.step_halo = device.move_in(builder.halo().data(), a.steps + 1, 1, ElementType::i64);
  return a;
}

/// The rank's rows of X or of A~ X, by its values in the precision of the device.
Tensor cells_on_device(Device& device, const PreparedGraph& graph, const LocalBuilder& builder,
                       const std::vector<float>& all32, const std::vector<double>& all64, HostRows& own) {
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

SparseMatrix build_local_matrix(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                                const Placement& placement, const HaloNeeds& needs, const Products& products,
                                HostParts* parts) {
  const LocalBuilder builder(graph, first_step, placement, needs, device.rank());
  HostPart passing;
  return matrix_on_device(device, builder, products, parts != nullptr ? parts->take() : passing);
}

LocalGraph build_local_graph(Device& device, const PreparedGraph& graph, std::int64_t first_step,
                             const Placement& placement, const HaloNeeds& needs, const Products& products,
                             HostParts* parts) {
  const LocalBuilder builder(graph, first_step, placement, needs, device.rank());
  HostPart passing;
  HostPart& part = parts != nullptr ? parts->take() : passing;
  LocalGraph local;
  if (products.most > 0) local.a = matrix_on_device(device, builder, products, part);
  local.features = cells_on_device(device, graph, builder, graph.features32, graph.features64, part.features);
  if (graph.features_kept) {
    local.first_product = cells_on_device(device, graph, builder, graph.products32, graph.products64, part.product);
  }
  return local;
}

void add_transpose(Device& device, SparseMatrix& a, std::int64_t block_rows) {
  a.transposed_offsets = device.allocate(a.columns + 1, 1, ElementType::i64);
  a.transposed_indices = device.allocate(a.nonzeros, 1, ElementType::i32);
  a.transposed_values = device.allocate(a.nonzeros, 1);
  device.run(TransposeCsr{a.row_offsets, a.column_indices, a.values, a.transposed_offsets, a.transposed_indices,
                          a.transposed_values, block_rows});
}

}  // namespace strobe
