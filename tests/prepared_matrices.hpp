// Shared by the tests of Device::prepare of all devices: random matrices, what a device adds to them, and products by
// whatever it added. Values are small multiples of 1/8, so that sums are exact in any order and single precision, and a
// triple loop over the entries judges them to the bit.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/device.hpp"
#include "backends/matrix/host_csr.hpp"
#include "backends/matrix/matrix_use.hpp"
#include "core/random.hpp"

namespace strobe::prepared_matrices {

struct MatrixRecipe {
  std::vector<std::int64_t> rows_of_steps;  // snapshots of as many vertices, or none
  std::int64_t halo = 0;                    // columns of other ranks, of every step with rows
  bool overlap = true;                      // whether steps share nine tenths of their entries
};

inline std::unique_ptr<Device> device_named(const std::string& name, ElementType precision) {
  DeviceRequest request;
  request.precision = precision;
  return DeviceRegistry::instance().find(name).value(request);
}

inline double drawn_value(const RandomStream& random, std::uint64_t i) {
  return static_cast<double>(random.below(i, 17)) / 8.0 - 1.0;
}

/// A random matrix as the host has it, with values for both precisions.
struct DrawnMatrix {
  HostCsr host;
  std::vector<std::int64_t> step_halo = {0};
  std::int64_t rows = 0, columns = 0;

  DrawnMatrix(const MatrixRecipe& recipe, std::uint64_t seed) {
    for (const std::int64_t here : recipe.rows_of_steps) {
      if (here != 0) host.snapshot_rows = recipe.halo == 0 ? here : 0;
      rows += here;
      host.step_rows.push_back(rows);
      step_halo.push_back(step_halo.back() + (here == 0 ? 0 : recipe.halo));
    }
    columns = rows + step_halo.back();
    host.has_entries = true;
    for (std::size_t t = 0; t < recipe.rows_of_steps.size(); ++t) draw_step(recipe, seed, t);
  }

  void draw_step(const MatrixRecipe& recipe, std::uint64_t seed, std::size_t t) {
    constexpr double density = 0.15, lost = 0.1;
    const RandomStream common(seed, random_purpose::test, 1),
        own(seed, random_purpose::test, 2 + static_cast<std::uint32_t>(t));
    const std::int64_t here = recipe.rows_of_steps[t], block = here + recipe.halo;
    for (std::int64_t i = 0; i < here * block; ++i) {
      const std::uint64_t index = i;
      const bool shared = common.uniform(index) < density && own.uniform(index) >= lost;
      if (recipe.overlap ? shared : own.uniform(index) < density) {
        const std::int64_t column = i % block;
        host.columns.push_back(static_cast<std::int32_t>(column < here ? host.step_rows[t] + column
                                                                       : rows + step_halo[t] + column - here));
        host.values64.push_back(drawn_value(own, index + (std::uint64_t{1} << 32)));
        host.values32.push_back(static_cast<float>(host.values64.back()));
      }
      if (i % block == block - 1) host.offsets.push_back(static_cast<std::int64_t>(host.columns.size()));
    }
  }

  std::int64_t nonzeros() const { return host.offsets.back(); }

  /// In plain compressed rows.
  SparseMatrix on(Device& device) const {
    SparseMatrix a;
    a.rows = a.halo_begin = rows;
    a.columns = columns;
    a.nonzeros = nonzeros();
    a.steps = static_cast<std::int64_t>(host.step_rows.size()) - 1;
    a.row_offsets = device.move_in(host.offsets.data(), rows + 1, 1, ElementType::i64);
    a.column_indices = device.move_in(host.columns.data(), a.nonzeros, 1, ElementType::i32);
    a.values = device.move_in(host.values(device.precision()), a.nonzeros, 1, device.precision());
    a.step_rows = device.move_in(host.step_rows.data(), a.steps + 1, 1, ElementType::i64);
    a.step_halo = device.move_in(step_halo.data(), a.steps + 1, 1, ElementType::i64);
    return a;
  }

  /// As `host`, for a device of this precision.
  HostCsr of(ElementType precision) const {
    HostCsr one = host;
    precision == ElementType::f64 ? one.values32.clear() : one.values64.clear();
    return one;
  }
};

/// One product of `columns` with a gradient, for many passes.
inline MatrixUse lasting_use(std::int64_t columns) {
  MatrixUse use;
  use.products.push_back({columns, true, {}});
  return use;
}

/// Names the forms that `prepare` added to `a`, in the order of SparseMatrix.
inline std::string forms_of(const SparseMatrix& a) {
  std::string forms;
  const auto add = [&](bool there, const char* name) {
    forms += there ? (forms.empty() ? "" : " ") + std::string(name) : "";
  };
  add(a.transposed_offsets.defined(), "transpose");
  add(a.paired != nullptr, "pairs");
  add(a.paired_transpose != nullptr, "transposed-pairs");
  add(a.by_length != nullptr, "lengths");
  add(a.transpose_by_length != nullptr, "transposed-lengths");
  return forms;
}

/// The drawn matrix on `device`, with the forms that `device` prepares for `use`.
inline SparseMatrix prepared(Device& device, const DrawnMatrix& drawn, const MatrixUse& use) {
  SparseMatrix a = drawn.on(device);
  device.prepare(a, drawn.of(device.precision()), use);
  return a;
}

inline Tensor dense_on(Device& device, const std::vector<double>& values, std::int64_t rows, std::int64_t width) {
  const std::vector<float> single(values.begin(), values.end());
  const bool fp64 = device.precision() == ElementType::f64;
  return device.move_in(fp64 ? static_cast<const void*>(values.data()) : single.data(), rows, width,
                        device.precision());
}

inline std::vector<double> values_of(Device& device, const Tensor& tensor) {
  std::vector<double> values(tensor.elements());
  std::vector<float> single(values.size());
  if (device.precision() == ElementType::f64) {
    device.move_out(tensor, values.data());
  } else {
    device.move_out(tensor, single.data());
    values.assign(single.begin(), single.end());
  }
  return values;
}

/// A x, or A^T x, by a loop over the entries.
inline std::vector<double> judged_product(const DrawnMatrix& m, const std::vector<double>& x, std::int64_t width,
                                          bool transpose) {
  std::vector<double> y((transpose ? m.columns : m.rows) * width, 0.0);
  for (std::int64_t row = 0; row < m.rows; ++row) {
    for (std::size_t e = m.host.offsets[row];
         e < static_cast<std::size_t>(m.host.offsets[static_cast<std::size_t>(row) + 1]); ++e) {
      const std::int64_t from = transpose ? row : m.host.columns[e], to = transpose ? m.host.columns[e] : row;
      for (std::int64_t f = 0; f < width; ++f) y[to * width + f] += m.host.values64[e] * x[from * width + f];
    }
  }
  return y;
}

/// Both products of `a`, which is `drawn` with whatever forms, and those of plain rows are the judge's.
inline void expect_products(Device& device, const DrawnMatrix& drawn, const SparseMatrix& a, std::int64_t width,
                            std::uint64_t seed) {
  const SparseMatrix plain = drawn.on(device);
  for (const bool transpose : {false, true}) {
    const std::int64_t in = transpose ? drawn.rows : drawn.columns, out = transpose ? drawn.columns : drawn.rows;
    const RandomStream random(seed, random_purpose::test, transpose ? 98 : 99);
    std::vector<double> x(in * width);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = drawn_value(random, i);
    const std::vector<double> expected = judged_product(drawn, x, width, transpose);
    for (const SparseMatrix& one : {plain, a}) {
      const Tensor from = dense_on(device, x, in, width), to = device.allocate(out, width);
      transpose ? device.run(SpmmTransposed{one, from, to}) : device.run(Spmm{one, from, to});
      EXPECT_EQ(values_of(device, to), expected)
          << forms_of(one) << (transpose ? ", transposed" : "") << ", width " << width << ", seed " << seed;
    }
  }
}

/// Products by what `device` prepares for many passes and for one, for several seeds, kinds of matrices and widths.
inline void expect_products_of_all_uses(Device& device, const std::vector<std::int64_t>& widths) {
  const std::vector<MatrixRecipe> recipes{
      {{40, 40, 40}, 0, true}, {{150, 150}, 0, false}, {{30, 0, 30}, 7, true}, {{0, 0}}};
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const MatrixRecipe& recipe : recipes) {
      const DrawnMatrix drawn(recipe, seed);
      for (const std::int64_t width : widths) {
        for (const bool lasting : {true, false}) {
          MatrixUse use = lasting_use(width);
          use.lasting = lasting;
          use.reads_entries = !lasting;
          expect_products(device, drawn, prepared(device, drawn, use), width, seed);
        }
      }
    }
  }
}

}  // namespace strobe::prepared_matrices
