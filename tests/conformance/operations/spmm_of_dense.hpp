// Cases and judges of the sparse product of a dense layer's output (backends/operations/operations_fused.hpp): the
// layer's output for every column, then a list of entries, in double.
#pragma once

#include <algorithm>
#include <array>

#include "backends/operations/operations_fused.hpp"
#include "tests/conformance/operations/dense.hpp"
#include "tests/conformance/operations/sparse.hpp"

namespace strobe::conformance {

/// Widths in and out on one matrix; a weight for every step, or one for all.
struct OfDenseCase {
  SparseRecipe recipe;
  std::int64_t inner, width;
  bool by_step, with_bias, with_relu, accumulate;

  const TestMatrix& matrix() const { return make_matrix(recipe); }
  std::int64_t layers() const { return by_step ? recipe.steps : 1; }
  std::int64_t weights() const { return layers() * inner * width; }
  Activation activation() const { return with_relu ? Activation::relu : Activation::none; }
  std::int64_t layer_of(std::int64_t row) const { return by_step ? row / recipe.step_rows : 0; }
  std::string name() const {
    return sparse_name(recipe, inner,
                       " to " + std::to_string(width) + (by_step ? ", by step" : "") + (with_bias ? ", bias" : "") +
                           (with_relu ? ", relu" : "") + (accumulate ? ", accumulate" : ""));
  }
};

/// The values of a case. Inputs are multiples of 1/8 and biases odd multiples of 1/128, so that no sum is so near to
/// zero that rounding decides what relu does.
struct OfDenseInput {
  std::vector<double> x, w, bias, dy, dw, dbias;

  explicit OfDenseInput(const OfDenseCase& c)
      : x(eighths(c.matrix().columns * c.inner, 101)),
        w(eighths(c.weights(), 102)),
        bias(eighths(c.width, 103)),
        dy(random_values(c.matrix().rows * c.width, 104)),
        dw(random_values(c.weights(), 105)),
        dbias(random_values(c.width, 106)) {
    for (double& b : bias) b += 1.0 / 128;
  }

  static std::vector<double> eighths(std::int64_t n, std::uint64_t seed) {
    std::vector<double> values = random_values(n, seed);
    for (double& v : values) v = std::round(8.0 * v) / 8.0;
    return values;
  }

  /// x_c w + bias in column g of the layer `layer`.
  double layer_value(const OfDenseCase& c, std::int64_t layer, std::int64_t column, std::int64_t g) const {
    double z = c.with_bias ? bias[g] : 0.0;
    for (std::int64_t f = 0; f < c.inner; ++f) z += x[column * c.inner + f] * w[(layer * c.inner + f) * c.width + g];
    return z;
  }
};

template <class Op>
Op of_dense_operation(Device& device, const OfDenseCase& c, const OfDenseInput& in) {
  Op op;
  op.a = upload_matrix(device, c.matrix(), false);
  op.x = upload(device, in.x, c.matrix().columns, c.inner);
  op.w = upload(device, in.w, c.layers() * c.inner, c.width);
  if (c.with_bias) op.bias = upload(device, in.bias, 1, c.width);
  if (c.by_step) op.step_rows = op.a.step_rows;
  op.activation = c.activation();
  return op;
}

/// A h [R, G], the sums over the entries of the layer's output.
inline const std::vector<Judged>& sums_of_layer(const OfDenseCase& c, const OfDenseInput& in) {
  return judged_once(c.name(), [&] {
    std::vector<Judged> sums(c.matrix().rows * c.width);
    for (const Entry3& e : c.matrix().entries) {
      for (std::int64_t g = 0; g < c.width; ++g) {
        const double z = in.layer_value(c, c.layer_of(e.row), e.column, g);
        sums[e.row * c.width + g].add(e.value * (c.with_relu ? std::max(0.0, z) : z));
      }
    }
    return sums;
  });
}

inline std::vector<Output> judge_of_dense(Device& device, const OfDenseCase& c) {
  const TestMatrix& m = c.matrix();
  const OfDenseInput in(c);
  const std::vector<Judged>& y = sums_of_layer(c, in);
  auto op = of_dense_operation<SpmmOfDense>(device, c, in);
  op.y = device.allocate(m.rows, c.width);
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

/// dw and dbias.
inline std::vector<Output> expected_of_dense(const OfDenseCase& c, const OfDenseInput& in) {
  std::vector<Judged> dw = start(in.dw, c.accumulate), dbias = start(in.dbias, true);
  for (const Entry3& e : c.matrix().entries) {
    const std::int64_t layer = c.layer_of(e.row);
    for (std::int64_t g = 0; g < c.width; ++g) {
      if (c.with_relu && !(in.layer_value(c, layer, e.column, g) > 0)) continue;
      const double part = e.value * in.dy[e.row * c.width + g];
      dbias[g].add(part);
      for (std::int64_t f = 0; f < c.inner; ++f)
        dw[(layer * c.inner + f) * c.width + g].add(part * in.x[e.column * c.inner + f]);
    }
  }
  return {{"dw", {}, dw}, {"dbias", {}, dbias}};
}

inline std::vector<Output> judge_of_dense_backward(Device& device, const OfDenseCase& c) {
  const OfDenseInput in(c);
  std::vector<Output> outputs = judged_once(c.name(), [&] { return expected_of_dense(c, in); });
  auto op = of_dense_operation<SpmmOfDenseBackward>(device, c, in);
  op.dy = upload(device, in.dy, c.matrix().rows, c.width);
  op.dw = upload(device, in.dw, c.layers() * c.inner, c.width);
  if (c.with_bias) op.dbias = upload(device, in.dbias, 1, c.width);
  op.accumulate_dw = c.accumulate;
  device.run(op);
  outputs[0].got = download(device, op.dw);
  if (c.with_bias)
    outputs[1].got = download(device, op.dbias);
  else
    outputs.pop_back();
  return outputs;
}

/// The sparse matrices, and one of more steps than a few blocks take at once.
inline std::vector<SparseRecipe> of_dense_recipes() {
  std::vector<SparseRecipe> recipes = sparse_recipes();
  recipes.push_back({"many-parts", 40, 9, 0, 4, false});
  return recipes;
}

inline std::vector<OperationCase> of_dense_cases(bool backward) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{1, 1}, {2, 6},  {2, 18}, {3, 8},
                                                                  {4, 3}, {2, 64}, {1, 100}};
  std::vector<OperationCase> cases;
  for (const SparseRecipe& recipe : of_dense_recipes()) {
    for (const auto& [inner, width] : shapes) {
      if (recipe.steps * recipe.step_rows * width > most_values) continue;
      for (const int flags : {0, 3, 5, 11, 14}) {
        const bool by_step = (flags & 1) != 0;
        if (by_step && (recipe.step_rows == 0 || recipe.halo != 0)) continue;
        const OfDenseCase one{recipe, inner, width, by_step, (flags & 8) != 0, (flags & 2) != 0, (flags & 4) != 0};
        cases.push_back({"", one.name(), [=](Device& device) {
                           return backward ? judge_of_dense_backward(device, one) : judge_of_dense(device, one);
                         }});
      }
    }
  }
  return cases;
}

/// The product, followed by a second dense layer with one weight per step.
struct ConvolutionOfDenseCase {
  OfDenseCase first;
  std::int64_t last;
  bool last_relu, keep, with_memo = false;

  std::int64_t weights() const { return first.layers() * first.width * last; }
  Activation activation() const { return last_relu ? Activation::relu : Activation::none; }
  /// A name for everything that the judge's values depend on.
  std::string layers_name() const {
    return first.name() + ", to " + std::to_string(last) + (last_relu ? ", relu" : "");
  }
  std::string name() const { return layers_name() + (keep ? ", kept" : "") + (with_memo ? ", memo" : ""); }
  Tensor memo(Device& device) const {
    const std::int64_t columns = std::max(first.width, last);
    if (!with_memo || !StepConvolutionOfDense::may_have_memo(first.inner, columns)) return {};
    return device.allocate(StepConvolutionOfDense::memo_rows(first.matrix().rows, first.recipe.steps, first.inner),
                           StepConvolutionOfDense::memo_columns(columns));
  }
  std::size_t weight(std::int64_t row, std::int64_t g, std::int64_t h) const {
    return static_cast<std::size_t>((first.layer_of(row) * first.width + g) * last + h);
  }
};

inline std::vector<Judged> second_layer(const ConvolutionOfDenseCase& c, const std::vector<Judged>& sums,
                                        const std::vector<double>& w) {
  std::vector<Judged> y(c.first.matrix().rows * c.last);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
    Judged& out = y[i];
    for (std::int64_t g = 0; g < c.first.width; ++g) {
      const Judged& s = sums[i / c.last * c.first.width + g];
      const double weight = w[c.weight(i / c.last, g, i % c.last)];
      out.value += s.value * weight;
      out.magnitude += s.magnitude * std::abs(weight);
    }
    if (c.last_relu) out.value = std::max(0.0, out.value);
  }
  return y;
}

inline std::vector<Output> judge_convolution_of_dense(Device& device, const ConvolutionOfDenseCase& c) {
  const TestMatrix& m = c.first.matrix();
  const OfDenseInput in(c.first);
  const std::vector<double> w = random_values(c.weights(), 107);
  const std::vector<Judged>& sums = sums_of_layer(c.first, in);
  const std::vector<Judged>& y = judged_once(c.layers_name(), [&] { return second_layer(c, sums, w); });
  const auto layer = of_dense_operation<SpmmOfDense>(device, c.first, in);
  StepConvolutionOfDense op;
  op.a = layer.a, op.x = layer.x, op.w_first = layer.w, op.step_rows = layer.step_rows, op.first = layer.activation;
  op.w = upload(device, w, c.first.layers() * c.first.width, c.last);
  op.aggregated = device.allocate(m.rows, c.first.width);
  op.y = device.allocate(m.rows, c.last);
  op.activation = c.activation();
  op.keep = c.keep;
  op.memo = c.memo(device);
  device.run(op);
  std::vector<Output> outputs{{"y", download(device, op.y), y}};
  if (c.keep) outputs.push_back({"aggregated", download(device, op.aggregated), sums});
  return outputs;
}

/// The values that a backward case adds to those of the product.
struct ConvolutionOfDenseInput {
  std::vector<double> w, y, dy, dw;

  explicit ConvolutionOfDenseInput(const ConvolutionOfDenseCase& c)
      : w(random_values(c.weights(), 107)),
        y(random_values(c.first.matrix().rows * c.last, 108)),
        dy(random_values(c.first.matrix().rows * c.last, 109)),
        dw(random_values(c.weights(), 110)) {}
};

/// dw_first and dw.
inline std::vector<Output> expected_convolution_of_dense(const ConvolutionOfDenseCase& c, const OfDenseInput& first,
                                                         const ConvolutionOfDenseInput& in) {
  const TestMatrix& m = c.first.matrix();
  const std::int64_t width = c.first.width;
  const std::vector<Judged>& sums = sums_of_layer(c.first, first);
  std::vector<Judged> dw_first = start(first.dw, c.first.accumulate), dw = start(in.dw, c.first.accumulate);
  std::vector<Judged> ds(m.rows * width);
  for (std::int64_t i = 0; i < m.rows * c.last; ++i) {
    const std::size_t at = i;
    const double dz = c.last_relu && !(in.y[at] > 0) ? 0.0 : in.dy[at];
    for (std::int64_t g = 0; g < width; ++g) {
      const std::size_t cell = i / c.last * width + g;
      const std::size_t weight = c.weight(i / c.last, g, i % c.last);
      ds[cell].add(dz * in.w[weight]);
      dw[weight].value += dz * sums[cell].value;
      dw[weight].magnitude += std::abs(dz) * sums[cell].magnitude;
    }
  }
  for (const Entry3& e : m.entries) {
    const std::int64_t layer = c.first.layer_of(e.row);
    for (std::int64_t g = 0; g < width; ++g) {
      if (c.first.with_relu && !(first.layer_value(c.first, layer, e.column, g) > 0)) continue;
      const Judged& from = ds[e.row * width + g];
      for (std::int64_t f = 0; f < c.first.inner; ++f) {
        const double term = e.value * first.x[e.column * c.first.inner + f];
        Judged& to = dw_first[(layer * c.first.inner + f) * width + g];
        to.value += term * from.value;
        to.magnitude += std::abs(term) * from.magnitude;
      }
    }
  }
  return {{"dw_first", {}, dw_first}, {"dw", {}, dw}};
}

inline std::vector<double> kept_values(const ConvolutionOfDenseCase& c, const OfDenseInput& in) {
  std::vector<double> values;
  for (const Judged& sum : sums_of_layer(c.first, in)) values.push_back(sum.value);
  return values;
}

inline std::vector<Output> judge_convolution_of_dense_backward(Device& device, const ConvolutionOfDenseCase& c) {
  const TestMatrix& m = c.first.matrix();
  const OfDenseInput first(c.first);
  const ConvolutionOfDenseInput in(c);
  std::vector<Output> outputs =
      judged_once(c.layers_name(), [&] { return expected_convolution_of_dense(c, first, in); });
  const auto layer = of_dense_operation<SpmmOfDense>(device, c.first, first);
  StepConvolutionOfDenseBackward op;
  op.a = layer.a, op.x = layer.x, op.w_first = layer.w, op.step_rows = layer.step_rows, op.first = layer.activation;
  op.w = upload(device, in.w, c.first.layers() * c.first.width, c.last);
  op.y = upload(device, in.y, m.rows, c.last);
  op.dy = upload(device, in.dy, m.rows, c.last);
  op.dw_first = upload(device, first.dw, c.first.layers() * c.first.inner, c.first.width);
  op.dw = upload(device, in.dw, c.first.layers() * c.first.width, c.last);
  op.aggregated =
      c.keep ? upload(device, kept_values(c, first), m.rows, c.first.width) : device.allocate(m.rows, c.first.width);
  op.kept = c.keep;
  op.ds = device.allocate(m.rows, c.first.width);
  op.activation = c.activation();
  op.accumulate_dw_first = op.accumulate_dw = c.first.accumulate;
  op.memo = c.memo(device);
  if (op.memo.defined()) {  // made by the operation, whose output is not needed
    device.run(StepConvolutionOfDense{op.a, op.x, op.w_first, op.w, op.step_rows, op.aggregated,
                                      device.allocate(m.rows, c.last), op.first, op.activation, false, op.memo});
  }
  device.run(op);
  outputs[0].got = download(device, op.dw_first);
  outputs[1].got = download(device, op.dw);
  return outputs;
}

inline std::vector<OperationCase> convolution_of_dense_cases(bool backward) {
  const std::vector<std::array<std::int64_t, 3>> shapes{{1, 1, 1},  {2, 6, 6},  {3, 4, 8},  {4, 8, 3},
                                                        {2, 3, 17}, {2, 18, 6}, {2, 70, 5}, {1, 40, 64}};
  std::vector<OperationCase> cases;
  for (const SparseRecipe& recipe : sparse_recipes()) {
    if (recipe.step_rows == 0 || recipe.halo != 0) continue;
    for (const auto& [inner, width, last] : shapes) {
      if (recipe.steps * recipe.step_rows * std::max(width, last) > most_values) continue;
      for (const int flags : {0, 16, 3, 19, 5, 21, 14, 9}) {  // those that share a judge follow each other
        const ConvolutionOfDenseCase one{{recipe, inner, width, true, false, (flags & 1) != 0, (flags & 4) != 0},
                                         last,
                                         (flags & 2) != 0,
                                         (flags & 8) != 0,
                                         (flags & 16) != 0};
        cases.push_back({"", one.name(), [=](Device& device) {
                           return backward ? judge_convolution_of_dense_backward(device, one)
                                           : judge_convolution_of_dense(device, one);
                         }});
      }
    }
  }
  return cases;
}

inline std::vector<OperationFamily> of_dense_families() {
  return {family<SpmmOfDense>(of_dense_cases(false)), family<SpmmOfDenseBackward>(of_dense_cases(true)),
          family<StepConvolutionOfDense>(convolution_of_dense_cases(false)),
          family<StepConvolutionOfDenseBackward>(convolution_of_dense_cases(true))};
}

}  // namespace strobe::conformance
