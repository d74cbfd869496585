// Cross-entropy of two classes, with and without weights: with d = other logit - label's logit the loss of a row is
// log(1 + exp(d)) = max(d, 0) + log(1 + exp(-|d|)) and the gradient is +-sigmoid(d), so a row takes one exponential and
// neither a branch nor a call. A register holds one difference of each of its rows; logits and gradients, whose classes
// alternate in memory, are parted and put together by shuffles. log(1 + e), e in (0, 1], is 2 artanh(e / (2 + e)) by
// its series, which keeps a small relative error where e vanishes. Losses add up in double, lane by lane, over fixed
// ranges of rows, range after range: the same with any number of threads. Cost about 45 instructions a register in
// float, 70 in double.
#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/exponential.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_loss.hpp"

namespace strobe::cpu {
namespace {

constexpr std::int64_t rows_per_task = 4096;

/// log(1 + e) for e of (0, 1].
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> log_one_plus(Lanes<T, P> e) {
  const Lanes<T, P> s = e / (e + T{2}), square = s * s;
  constexpr int terms = sizeof(T) == 4 ? 8 : 17;  // s <= 1/3: the rest is below 2^-27 and 2^-56 of the sum
  Lanes<T, P> sum = broadcast<T, P>(T{1} / (2 * terms - 1));
#pragma GCC unroll 20
  for (int i = terms - 1; i > 0; --i) sum = sum * square + T{1} / (2 * i - 1);
  return T{2} * s * sum;
}

/// Lanes 0, 2, 4, ... (`Odd` = 0) or 1, 3, 5, ... of `a` and then `b`: one class of P rows.
template <int Odd, class V, int... I>
[[gnu::always_inline]] inline V every_second(V a, V b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I + Odd)...);
}

/// Lanes of `a` and `b` in turns, from the first lane (`High` = 0) or from the middle (`High` = 1).
template <int High, class V, int... I>
[[gnu::always_inline]] inline V in_turns(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int P = sizeof...(I);
  return __builtin_shufflevector(a, b, (High * P / 2 + I / 2 + I % 2 * P)...);
}

/// Sums in double, a register of them.
using Sums = Lanes<double, most_lanes<double>>;

/// A register of values as such sums: of floats, each half of them.
template <class T>
[[gnu::always_inline]] inline Sums in_double(Lanes<T, most_lanes<T>> v) {
  if constexpr (sizeof(T) == 8) {
    return v;
  } else {
    return [v]<std::size_t... L>(std::index_sequence<L...>) {
      constexpr int half = most_lanes<double>;
      return __builtin_convertvector(__builtin_shufflevector(v, v, static_cast<int>(L)...), Sums) +
             __builtin_convertvector(__builtin_shufflevector(v, v, (half + static_cast<int>(L))...), Sums);
    }
    (std::make_index_sequence<most_lanes<double>>{});
  }
}

/// Where the values of some rows lie. `weights` null: 1; `gradient` null: not wanted.
template <class T>
struct Rows {
  const T* logits;
  const std::int32_t* labels;
  const T* weights;
  T* gradient;
  Rows from(std::int64_t row) const {
    return {logits + 2 * row, labels + row, weights == nullptr ? nullptr : weights + row,
            gradient == nullptr ? nullptr : gradient + 2 * row};
  }
};

/// Weighted losses of one register of rows; writes their gradients.
template <class T>
[[gnu::always_inline]] inline Sums register_loss(const Rows<T>& rows, T scale) {
  constexpr int P = most_lanes<T>;
  using V = Lanes<T, P>;
  constexpr std::make_integer_sequence<int, P> lanes;
  const V first = load<T, P>(rows.logits), second = load<T, P>(rows.logits + P);
  const V label = __builtin_convertvector((load<std::int32_t, P>(rows.labels)), V);
  const V sign = T{2} * label - T{1};
  const V d = sign * (every_second<0>(first, second, lanes) - every_second<1>(first, second, lanes));
  const V e = exponential<T, P>(d > T{0} ? -d : d);
  V loss = (d > T{0} ? d : V{}) + log_one_plus<T, P>(e);
  if (rows.weights != nullptr) loss *= load<T, P>(rows.weights);
  if (rows.gradient != nullptr) {
    const V probability = (d > T{0} ? broadcast<T, P>(T{1}) : e) / (e + T{1});  // of the class that is not the label
    V of_first = sign * probability * scale;
    if (rows.weights != nullptr) of_first *= load<T, P>(rows.weights);
    store_first<T, P>(rows.gradient, in_turns<0>(of_first, -of_first, lanes), P);
    store_first<T, P>(rows.gradient + P, in_turns<1>(of_first, -of_first, lanes), P);
  }
  return in_double<T>(loss);
}

/// The last rows, fewer than a register: copied to arrays, whose other rows have no weight.
template <class T>
Sums last_rows_loss(const Rows<T>& rows, std::int64_t count, T scale) {
  constexpr int P = most_lanes<T>;
  T logits[2 * P] = {}, weights[P] = {}, gradient[2 * P];
  std::int32_t labels[P] = {};
  std::copy(rows.logits, rows.logits + 2 * count, logits);
  std::copy(rows.labels, rows.labels + count, labels);
  for (std::int64_t i = 0; i < count; ++i) weights[i] = rows.weights == nullptr ? T{1} : rows.weights[i];
  const Rows<T> whole{logits, labels, weights, rows.gradient == nullptr ? nullptr : gradient};
  const Sums loss = register_loss(whole, scale);
  if (rows.gradient != nullptr) std::copy(gradient, gradient + 2 * count, rows.gradient);
  return loss;
}

/// Sum of the weighted losses of `count` rows.
template <class T>
double rows_loss(const Rows<T>& rows, std::int64_t count, T scale) {
  constexpr int P = most_lanes<T>;
  Sums sums{};
  std::int64_t row = 0;
  for (; row + P <= count; row += P) sums += register_loss(rows.from(row), scale);
  if (row < count) sums += last_rows_loss(rows.from(row), count - row, scale);
  double sum = 0;
  for (int i = 0; i < most_lanes<double>; ++i) sum += sums[i];
  return sum;
}

template <class T>
void add_loss(const Rows<T>& rows, std::int64_t count, double scale, const Tensor& loss, const KernelContext& context) {
  std::vector<double> sums(divide_up(count, rows_per_task), 0.0);
  for_ranges(context, count, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    sums[begin / rows_per_task] = rows_loss(rows.from(begin), end - begin, static_cast<T>(scale));
  });
  double& total = *loss.data<double>();
  for (const double sum : sums) total += sum * scale;
}

/// For either operation; `weights` may be undefined.
template <class Op>
void run(const Op& op, const Tensor& weights, const KernelContext& context) {
  with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    const Rows<T> rows{op.logits.template data<T>(), op.labels.template data<std::int32_t>(),
                       weights.defined() ? weights.data<T>() : nullptr,
                       op.gradient.defined() ? op.gradient.template data<T>() : nullptr};
    add_loss(rows, op.logits.rows(), op.scale, op.loss, context);
  });
}

void run_unweighted(const SoftmaxCrossEntropy& op, KernelContext& context) { run(op, Tensor(), context); }
void run_weighted(const WeightedCrossEntropy& op, KernelContext& context) { run(op, op.weights, context); }

template <class Op>
bool has_two_classes(const Op& op) {
  return op.logits.columns() == 2;
}

const RegisterKernel<SoftmaxCrossEntropy> unweighted{
    "cpu", {"vector", 10, has_two_classes<SoftmaxCrossEntropy>, run_unweighted}};
const RegisterKernel<WeightedCrossEntropy> weighted{
    "cpu", {"vector", 10, has_two_classes<WeightedCrossEntropy>, run_weighted}};

}  // namespace
}  // namespace strobe::cpu
