// Cases and judges of the sparse products. The judge walks a list of (row, column, value) entries.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

/// The recipe of a test matrix: `steps` blocks of `step_rows` rows, and per step `halo` columns after the own ones.
struct SparseRecipe {
  const char* name;
  std::int64_t steps, step_rows, halo;
  double mean_nonzeros;  // per row
  bool skewed;           // every 61st row holds most of the non-zeros, many rows are empty
};

struct Entry3 {
  std::int64_t row, column;
  double value;
};

/// A test matrix: entries sorted by row, then column; columns numbered as SparseMatrix says.
struct TestMatrix {
  SparseRecipe recipe;
  std::int64_t rows, columns;
  std::vector<Entry3> entries;
};

inline std::int64_t row_length(const SparseRecipe& recipe, const RandomStream& random, std::int64_t row,
                               std::int64_t block) {
  const double mean = recipe.mean_nonzeros;
  double length = 2.0 * mean * random.uniform(static_cast<std::uint64_t>(row));
  if (recipe.skewed) length = row % 61 == 7 ? 40.0 * mean : (row % 3 == 0 ? 0.0 : length / 4.0);
  return std::min(block, static_cast<std::int64_t>(std::lround(length)));
}

inline TestMatrix draw_matrix(const SparseRecipe& recipe) {
  TestMatrix m{recipe, recipe.steps * recipe.step_rows, recipe.steps * (recipe.step_rows + recipe.halo), {}};
  const RandomStream lengths(5, random_purpose::test, 1), places(5, random_purpose::test, 2);
  const std::int64_t block = recipe.step_rows + recipe.halo;
  std::uint64_t drawn = 0;
  for (std::int64_t row = 0; row < m.rows; ++row) {
    const std::int64_t step = row / recipe.step_rows;
    std::vector<std::int64_t> columns;
    for (std::int64_t k = row_length(recipe, lengths, row, block); k > 0; --k) {
      const std::int64_t local = places.below(drawn++, static_cast<std::uint64_t>(block));
      columns.push_back(local < recipe.step_rows ? step * recipe.step_rows + local
                                                 : m.rows + step * recipe.halo + local - recipe.step_rows);
    }
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (const std::int64_t column : columns) {
      m.entries.push_back({row, column, static_cast<double>(static_cast<float>(places.uniform(drawn++) - 0.25))});
    }
  }
  return m;
}

/// The matrix of a recipe; drawn once.
inline const TestMatrix& make_matrix(const SparseRecipe& recipe) {
  static std::map<std::string, TestMatrix> drawn;
  const auto position = drawn.find(recipe.name);
  return position != drawn.end() ? position->second : drawn.emplace(recipe.name, draw_matrix(recipe)).first->second;
}

struct HostCsr {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> indices;
  std::vector<double> values;
};

inline HostCsr compress(const std::vector<Entry3>& entries, std::int64_t rows) {
  HostCsr csr{std::vector<std::int64_t>(static_cast<std::size_t>(rows) + 1, 0), {}, {}};
  for (const Entry3& e : entries) {
    ++csr.offsets[static_cast<std::size_t>(e.row) + 1];
    csr.indices.push_back(static_cast<std::int32_t>(e.column));
    csr.values.push_back(e.value);
  }
  for (std::size_t r = 1; r < csr.offsets.size(); ++r) csr.offsets[r] += csr.offsets[r - 1];
  return csr;
}

inline HostCsr compress_transpose(const TestMatrix& m) {
  std::vector<Entry3> turned;
  for (const Entry3& e : m.entries) turned.push_back({e.column, e.row, e.value});
  std::sort(turned.begin(), turned.end(),
            [](const Entry3& p, const Entry3& q) { return p.row != q.row ? p.row < q.row : p.column < q.column; });
  return compress(turned, m.columns);
}

/// `csr` two steps at a time, whatever it costs; null for recipes with a halo.
inline std::shared_ptr<const PairedMatrix> upload_pairs(Device& device, const HostCsr& csr,
                                                        const SparseRecipe& recipe) {
  constexpr double always = 2.0;
  if (recipe.halo != 0) return nullptr;
  if (device.precision() == ElementType::f64) {
    return pair_steps<double>(device, {csr.offsets, csr.indices, csr.values}, recipe.step_rows, always);
  }
  const std::vector<float> values(csr.values.begin(), csr.values.end());
  return pair_steps<float>(device, {csr.offsets, csr.indices, values}, recipe.step_rows, always);
}

/// `csr` with rows by length; of recipes with a halo by wide columns, so that both kinds are judged.
inline std::shared_ptr<const LengthSortedMatrix> upload_by_length(Device& device, const HostCsr& csr,
                                                                  const SparseRecipe& recipe) {
  const std::int64_t most_narrow = recipe.halo != 0 ? 1 : most_narrow_columns;
  if (device.precision() == ElementType::f64) {
    return sort_by_length<double>(device, {csr.offsets, csr.indices, csr.values}, most_narrow);
  }
  const std::vector<float> values(csr.values.begin(), csr.values.end());
  return sort_by_length<float>(device, {csr.offsets, csr.indices, values}, most_narrow);
}

inline SparseMatrix upload_matrix(Device& device, const TestMatrix& m, bool with_transpose) {
  const HostCsr csr = compress(m.entries, m.rows);
  SparseMatrix a;
  a.rows = a.halo_begin = m.rows;
  a.columns = m.columns;
  a.nonzeros = static_cast<std::int64_t>(m.entries.size());
  a.steps = m.recipe.steps;
  std::vector<std::int64_t> step_rows, step_halo;
  for (std::int64_t s = 0; s <= m.recipe.steps; ++s) {
    step_rows.push_back(s * m.recipe.step_rows);
    step_halo.push_back(s * m.recipe.halo);
  }
  a.row_offsets = upload(device, csr.offsets);
  a.column_indices = upload(device, csr.indices);
  a.values = upload(device, csr.values, a.nonzeros, 1);
  a.step_rows = upload(device, step_rows);
  a.step_halo = upload(device, step_halo);
  a.paired = upload_pairs(device, csr, m.recipe);
  a.by_length = upload_by_length(device, csr, m.recipe);
  if (with_transpose) {
    const HostCsr& transposed = judged_once(m.recipe.name, [&] { return compress_transpose(m); });
    a.transposed_offsets = upload(device, transposed.offsets);
    a.transposed_indices = upload(device, transposed.indices);
    a.transposed_values = upload(device, transposed.values, a.nonzeros, 1);
    a.paired_transpose = upload_pairs(device, transposed, m.recipe);
    a.transpose_by_length = upload_by_length(device, transposed, m.recipe);
  }
  return a;
}

inline const std::vector<SparseRecipe>& sparse_recipes() {
  static const std::vector<SparseRecipe> recipes{{"empty", 1, 0, 0, 0, false},
                                                 {"no-nonzeros", 2, 5, 0, 0, false},
                                                 {"one", 1, 1, 0, 1, false},
                                                 {"steps", 5, 37, 0, 9, false},
                                                 {"pairs", 6, 41, 0, 7, false},
                                                 {"halo", 4, 29, 11, 12, false},
                                                 {"skewed", 3, 401, 50, 6, true},
                                                 {"one-step", 1, 150, 0, 30, false},
                                                 {"one-step-large", 1, 3000, 0, 5, false},
                                                 {"many-steps", 16, 130, 3, 15.6, false},
                                                 {"dense-rows", 2, 90, 0, 80, false}};
  return recipes;
}

inline const std::vector<std::int64_t>& feature_widths() {
  static const std::vector<std::int64_t> widths{1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 32, 33, 64, 128, 130};
  return widths;
}

inline constexpr std::int64_t most_values = 40000;  // of one case; the largest recipes are run at narrow widths only

inline std::string sparse_name(const SparseRecipe& recipe, std::int64_t width, const std::string& rest) {
  return std::string(recipe.name) + ", width " + std::to_string(width) + rest;
}

inline std::vector<OperationCase> spmm_cases() {
  std::vector<OperationCase> cases;
  for (const SparseRecipe& recipe : sparse_recipes()) {
    for (const std::int64_t width : feature_widths()) {
      if (recipe.steps * recipe.step_rows * width > most_values) continue;
      for (const bool accumulate : {false, true}) {
        const auto run = [recipe, width, accumulate](Device& device) {
          const TestMatrix& m = make_matrix(recipe);
          const std::vector<double> x = random_values(m.columns * width, 11), y = random_values(m.rows * width, 12);
          std::vector<Judged> expected = start(y, accumulate);
          for (const Entry3& e : m.entries) {
            for (std::int64_t f = 0; f < width; ++f) {
              expected[e.row * width + f].add(e.value * x[e.column * width + f]);
            }
          }
          const Spmm op{upload_matrix(device, m, false), upload(device, x, m.columns, width),
                        upload(device, y, m.rows, width), accumulate};
          device.run(op);
          return std::vector<Output>{{"y", download(device, op.y), expected}};
        };
        cases.push_back({"", sparse_name(recipe, width, accumulate ? ", accumulate" : ""), run});
      }
    }
  }
  return cases;
}

inline std::vector<Output> judge_spmm_transposed(Device& device, const SparseRecipe& recipe, std::int64_t width,
                                                 bool accumulate, bool with_transpose) {
  const TestMatrix& m = make_matrix(recipe);
  const std::vector<double> y = random_values(m.rows * width, 13), x = random_values(m.columns * width, 14);
  const auto& expected = judged_once(sparse_name(recipe, width, accumulate ? ", accumulate" : ""), [&] {
    std::vector<Judged> sums = start(x, accumulate);
    for (const Entry3& e : m.entries) {
      for (std::int64_t f = 0; f < width; ++f) {
        sums[e.column * width + f].add(e.value * y[e.row * width + f]);
      }
    }
    return sums;
  });
  const SpmmTransposed op{upload_matrix(device, m, with_transpose), upload(device, y, m.rows, width),
                          upload(device, x, m.columns, width), accumulate};
  device.run(op);
  return {{"x", download(device, op.x), expected}};
}

inline std::vector<OperationCase> spmm_transposed_cases() {
  std::vector<OperationCase> cases;
  for (const SparseRecipe& recipe : sparse_recipes()) {
    for (const std::int64_t width : feature_widths()) {
      if (recipe.steps * recipe.step_rows * width > most_values) continue;
      for (const int flags : {0, 2, 1, 3}) {
        const bool accumulate = (flags & 1) != 0, with_transpose = (flags & 2) != 0;
        cases.push_back(
            {"",
             sparse_name(
                 recipe, width,
                 std::string(accumulate ? ", accumulate" : "") + (with_transpose ? ", by transpose" : ", by scatter")),
             [=](Device& device) { return judge_spmm_transposed(device, recipe, width, accumulate, with_transpose); }});
      }
    }
  }
  return cases;
}

/// A x and activation(A x w).
struct JudgedConvolution {
  std::vector<Judged> sum, y;
};

inline JudgedConvolution judged_convolution(const TestMatrix& m, const std::vector<double>& x,
                                            const std::vector<double>& w, std::int64_t inner, std::int64_t width,
                                            Activation activation) {
  std::vector<Judged> sum(m.rows * inner), y(static_cast<std::size_t>(m.rows * width));
  for (const Entry3& e : m.entries) {
    for (std::int64_t f = 0; f < inner; ++f) {
      sum[e.row * inner + f].add(e.value * x[e.column * inner + f]);
    }
  }
  for (std::int64_t i = 0; i < m.rows * width; ++i) {
    Judged& out = y[i];
    for (std::int64_t f = 0; f < inner; ++f) {
      const Judged& s = sum[i / width * inner + f];
      const double weight = w[f * width + i % width];
      out.value += s.value * weight;
      out.magnitude += s.magnitude * std::abs(weight);
    }
    if (activation == Activation::relu) out.value = std::max(0.0, out.value);
  }
  return {sum, y};
}

inline std::vector<Output> judge_graph_convolution(Device& device, const SparseRecipe& recipe, std::int64_t inner,
                                                   std::int64_t width, Activation activation, bool keep) {
  const TestMatrix& m = make_matrix(recipe);
  const std::vector<double> x = random_values(m.columns * inner, 15), w = random_values(inner * width, 16);
  const std::string key =
      sparse_name(recipe, inner, std::to_string(width) + (activation == Activation::relu ? ", relu" : ""));
  const auto& expected = judged_once(key, [&] { return judged_convolution(m, x, w, inner, width, activation); });
  GraphConvolution op;
  op.a = upload_matrix(device, m, false);
  op.x = upload(device, x, m.columns, inner);
  op.w = upload(device, w, inner, width);
  op.y = device.allocate(m.rows, width);
  if (keep) op.aggregated = device.allocate(m.rows, inner);
  op.activation = activation;
  device.run(op);
  std::vector<Output> outputs{{"y", download(device, op.y), expected.y}};
  if (keep) outputs.push_back({"aggregated", download(device, op.aggregated), expected.sum});
  return outputs;
}

inline std::vector<OperationCase> graph_convolution_cases() {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{1, 1}, {2, 6}, {3, 2},  {6, 6},   {6, 2},  {8, 8},
                                                                  {7, 5}, {6, 9}, {5, 16}, {16, 16}, {17, 6}, {64, 33}};
  std::vector<OperationCase> cases;
  for (const SparseRecipe& recipe : sparse_recipes()) {
    for (const auto& [inner, width] : shapes) {
      if (recipe.steps * recipe.step_rows * std::max(inner, width) > most_values) continue;
      for (const int flags : {0, 2, 1, 3}) {
        const Activation activation = (flags & 1) != 0 ? Activation::relu : Activation::none;
        const bool keep = (flags & 2) != 0;
        cases.push_back(
            {"",
             sparse_name(recipe, inner,
                         " to " + std::to_string(width) + ((flags & 1) != 0 ? ", relu" : "") + (keep ? ", keep" : "")),
             [=, inner = inner, width = width](Device& device) {
               return judge_graph_convolution(device, recipe, inner, width, activation, keep);
             }});
      }
    }
  }
  return cases;
}

}  // namespace strobe::conformance
