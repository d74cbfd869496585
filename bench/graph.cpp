#include "bench/graph.hpp"

#include <algorithm>

#include "bench/machine.hpp"
#include "core/random.hpp"

namespace strobe::bench {
namespace {

/// Row lists of one snapshot: f N edges (row, column), both uniform.
std::vector<std::vector<std::int32_t>> draw_snapshot(const GraphSize& size, std::int64_t step) {
  const RandomStream random(1, random_purpose::generator, static_cast<std::uint32_t>(step));
  std::vector<std::vector<std::int32_t>> rows(size.vertices);
  const std::uint64_t n = size.vertices;
  for (std::uint64_t e = 0; e < static_cast<std::uint64_t>(size.density) * n; ++e) {
    rows[random.below(2 * e, n)].push_back(static_cast<std::int32_t>(random.below(2 * e + 1, n)));
  }
  return rows;
}

struct HostTranspose {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> indices;
  std::vector<float> values;
};

HostTranspose transpose(const HostMatrix& a) {
  HostTranspose t{std::vector<std::int64_t>(a.offsets.size(), 0), std::vector<std::int32_t>(a.indices.size()),
                  std::vector<float>(a.values.size())};
  for (const std::int32_t column : a.indices) ++t.offsets[static_cast<std::size_t>(column) + 1];
  for (std::size_t r = 1; r < t.offsets.size(); ++r) t.offsets[r] += t.offsets[r - 1];
  std::vector<std::int64_t> next(t.offsets.begin(), t.offsets.end() - 1);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::size_t k = a.offsets[r]; k < static_cast<std::size_t>(a.offsets[static_cast<std::size_t>(r) + 1]); ++k) {
      const std::size_t place = next[a.indices[k]]++;
      t.indices[place] = static_cast<std::int32_t>(r);
      t.values[place] = a.values[k];
    }
  }
  return t;
}

template <class T>
Tensor column(Device& device, const std::vector<T>& values) {
  return device.move_in(values.data(), static_cast<std::int64_t>(values.size()), 1, element_type_of<T>);
}

}  // namespace

HostMatrix make_graph(const GraphSize& size) {
  HostMatrix a{size.steps * size.vertices, size.steps, size.vertices, {0}, {}, {}};
  std::vector<std::vector<std::vector<std::int32_t>>> window;  // snapshots that the step's union covers
  std::vector<std::int32_t> row;
  for (std::int64_t t = 0; t < size.steps; ++t) {
    window.push_back(draw_snapshot(size, t));
    if (static_cast<std::int64_t>(window.size()) > size.window) window.erase(window.begin());
    for (std::int64_t v = 0; v < size.vertices; ++v) {
      row.assign(1, static_cast<std::int32_t>(v));
      for (const auto& snapshot : window) {
        const auto& list = snapshot[v];
        row.insert(row.end(), list.begin(), list.end());
      }
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      const float value = 1.0f / static_cast<float>(row.size());
      for (const std::int32_t c : row) a.indices.push_back(static_cast<std::int32_t>(t * size.vertices) + c);
      a.values.insert(a.values.end(), row.size(), value);
      a.offsets.push_back(static_cast<std::int64_t>(a.indices.size()));
    }
  }
  return a;
}

const HostMatrix& standard_graph() {
  static const HostMatrix graph = make_graph(GraphSize{64, shrunk(16384), 3, 5});
  return graph;
}

const HostMatrix& wide_graph() {
  static const HostMatrix graph = make_graph(GraphSize{32, shrunk(4096), 8, 5});
  return graph;
}

HostMatrix one_step(const HostMatrix& host, std::int64_t step, bool turned) {
  const std::int64_t first_row = step * host.step_rows;
  const auto row = static_cast<std::size_t>(first_row), rows = static_cast<std::size_t>(host.step_rows);
  HostMatrix one{host.step_rows, 1, host.step_rows, {}, {}, {}};
  const std::int64_t begin = host.offsets[row], end = host.offsets[row + rows];
  for (std::size_t r = row; r <= row + rows; ++r) one.offsets.push_back(host.offsets[r] - begin);
  for (std::int64_t k = begin; k < end; ++k) {
    one.indices.push_back(host.indices[k] - static_cast<std::int32_t>(first_row));
    one.values.push_back(host.values[k]);
  }
  if (!turned) return one;
  HostTranspose t = transpose(one);
  return {one.rows, 1, one.rows, std::move(t.offsets), std::move(t.indices), std::move(t.values)};
}

SparseMatrix upload(Device& device, const HostMatrix& host, bool with_transpose, bool with_forms) {
  SparseMatrix a;
  a.rows = a.columns = a.halo_begin = host.rows;
  a.nonzeros = static_cast<std::int64_t>(host.indices.size());
  a.steps = host.steps;
  a.row_offsets = column(device, host.offsets);
  a.column_indices = column(device, host.indices);
  a.values = column(device, host.values);
  std::vector<std::int64_t> step_rows, step_halo(static_cast<std::size_t>(host.steps) + 1, 0);
  for (std::int64_t s = 0; s <= host.steps; ++s) step_rows.push_back(s * host.step_rows);
  a.step_rows = column(device, step_rows);
  a.step_halo = column(device, step_halo);
  const auto forms = [&](const HostCsrView<float>& csr, auto& paired, auto& by_length) {
    if (!with_forms) return;
    paired = pair_steps<float>(device, csr, host.step_rows);
    by_length = sort_by_length<float>(device, csr);
  };
  forms({host.offsets, host.indices, host.values}, a.paired, a.by_length);
  if (with_transpose) {
    const HostTranspose t = transpose(host);
    forms({t.offsets, t.indices, t.values}, a.paired_transpose, a.transpose_by_length);
    a.transposed_offsets = column(device, t.offsets);
    a.transposed_indices = column(device, t.indices);
    a.transposed_values = column(device, t.values);
  }
  return a;
}

}  // namespace strobe::bench
