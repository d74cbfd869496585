// Cases and judges of two sparse products in one operation. The two matrices have the same rows, and their gradients
// meet in one tensor.
#pragma once

#include "backends/operations/operations_pair.hpp"
#include "tests/conformance/operations/sparse.hpp"

namespace strobe::conformance {

/// The two matrices of a case: the recipe's, and one with as many rows and fewer or more entries.
struct MatrixPair {
  SparseRecipe first, second;

  explicit MatrixPair(const SparseRecipe& recipe) : first(recipe), second(recipe) {
    // Values made from a recipe are cached by its name.
    static std::map<std::string, std::string> names;
    std::string& other_name = names[recipe.name];
    if (other_name.empty()) other_name = std::string(recipe.name) + ", the other";
    second.name = other_name.c_str();
    second.mean_nonzeros = recipe.mean_nonzeros / 2 + 1;
    second.skewed = !recipe.skewed;
  }
};

/// sums += A x, or A^T y of the matrix with `transposed`.
inline void add_product(std::vector<Judged>& sums, const TestMatrix& m, const std::vector<double>& in,
                        std::int64_t width, bool transposed) {
  for (const Entry3& e : m.entries) {
    const std::int64_t to = transposed ? e.column : e.row, from = transposed ? e.row : e.column;
    for (std::int64_t f = 0; f < width; ++f) {
      sums[to * width + f].add(e.value * in[from * width + f]);
    }
  }
}

inline std::vector<Output> judge_spmm_pair(Device& device, const MatrixPair& pair, std::int64_t width,
                                           bool accumulate) {
  const TestMatrix &a = make_matrix(pair.first), &b = make_matrix(pair.second);
  const std::vector<double> x = random_values(a.columns * width, 15), z = random_values(b.columns * width, 16);
  const std::vector<double> y = random_values(a.rows * width, 17), other = random_values(b.rows * width, 18);
  std::vector<Judged> first = start(y, accumulate), second = start(other, !accumulate);
  add_product(first, a, x, width, false);
  add_product(second, b, z, width, false);
  const SpmmPair op{{upload_matrix(device, a, false), upload(device, x, a.columns, width),
                     upload(device, y, a.rows, width), accumulate},
                    {upload_matrix(device, b, false), upload(device, z, b.columns, width),
                     upload(device, other, b.rows, width), !accumulate}};
  device.run(op);
  return {{"first y", download(device, op.first.y), first}, {"second y", download(device, op.second.y), second}};
}

/// Where the gradients of a pair go: to tensors of their own, or both to one.
struct PairFlags {
  bool same, accumulate, with_transpose;
};

inline std::vector<Output> judge_transposed_pair(Device& device, const MatrixPair& pair, std::int64_t width,
                                                 const PairFlags& flags) {
  const TestMatrix &a = make_matrix(pair.first), &b = make_matrix(pair.second);
  const std::vector<double> y = random_values(a.rows * width, 15), other = random_values(b.rows * width, 16);
  const std::vector<double> x = random_values(a.columns * width, 17), z = random_values(b.columns * width, 18);
  std::vector<Judged> first = start(x, flags.accumulate), second = start(z, !flags.accumulate);
  add_product(first, a, y, width, true);
  add_product(flags.same ? first : second, b, other, width, true);
  SpmmTransposedPair op{{upload_matrix(device, a, flags.with_transpose), upload(device, y, a.rows, width),
                         upload(device, x, a.columns, width), flags.accumulate},
                        {upload_matrix(device, b, flags.with_transpose), upload(device, other, b.rows, width),
                         upload(device, z, b.columns, width), !flags.accumulate}};
  if (flags.same) op.second.x = op.first.x, op.second.accumulate = true;
  device.run(op);
  std::vector<Output> outputs{{"first x", download(device, op.first.x), first}};
  if (!flags.same) outputs.push_back({"second x", download(device, op.second.x), second});
  return outputs;
}

inline std::string pair_name(const SparseRecipe& recipe, std::int64_t width, const PairFlags& flags) {
  return sparse_name(recipe, width,
                     std::string(flags.same ? ", one tensor" : "") + (flags.accumulate ? ", accumulate" : "") +
                         (flags.with_transpose ? ", by transpose" : ", by scatter"));
}

/// Calls add(recipe, width) for the shapes of the cases: all matrices, widths of every length of vector.
template <class Add>
void for_pair_shapes(const Add& add) {
  for (const SparseRecipe& recipe : sparse_recipes()) {
    for (const std::int64_t width : {1, 6, 17, 130}) {
      if (recipe.steps * recipe.step_rows * width <= most_values) add(recipe, width);
    }
  }
}

inline std::vector<OperationCase> spmm_pair_cases() {
  std::vector<OperationCase> cases;
  for_pair_shapes([&](const SparseRecipe& recipe, std::int64_t width) {
    for (const bool accumulate : {false, true}) {
      cases.push_back({"", sparse_name(recipe, width, accumulate ? ", accumulate" : ""),
                       [=](Device& device) { return judge_spmm_pair(device, MatrixPair(recipe), width, accumulate); }});
    }
  });
  return cases;
}

inline std::vector<OperationCase> spmm_transposed_pair_cases() {
  std::vector<OperationCase> cases;
  for_pair_shapes([&](const SparseRecipe& recipe, std::int64_t width) {
    for (const int bits : {0, 1, 2, 3, 6, 7}) {
      const PairFlags flags{(bits & 1) != 0, (bits & 4) != 0, (bits & 2) != 0};
      cases.push_back({"", pair_name(recipe, width, flags), [=](Device& device) {
                         return judge_transposed_pair(device, MatrixPair(recipe), width, flags);
                       }});
    }
  });
  return cases;
}

inline std::vector<OperationFamily> spmm_pair_families() {
  return {family<SpmmPair>(spmm_pair_cases()), family<SpmmTransposedPair>(spmm_transposed_pair_cases())};
}

}  // namespace strobe::conformance
