// Cost of an epoch: 6 n times the number of weights, by Eigen's products on one thread.
#include "harness/placement/chunks/learned/mlp.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.hpp"

namespace strobe {
namespace {

constexpr std::uint32_t mlp_draws = 51;  // purpose of a random stream

template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// Eigen sums in an order that depends on the alignment of its operands in memory. Eigen's own matrices are aligned in
// the same way in each run, but other vectors are not. So operands are copied before anything is computed.
template <class T>
Rows<T> weight_of(const MlpLayer<T>& layer) {
  return Eigen::Map<const Rows<T>>(layer.weight.data(), layer.inputs, layer.outputs);
}

template <class T>
Vector<T> vector_of(const std::vector<T>& values) {
  return Eigen::Map<const Vector<T>>(values.data(), static_cast<std::int64_t>(values.size()));
}

template <class T>
Eigen::Map<const Rows<T>> rows_of(const std::vector<T>& x, std::int64_t columns) {
  return {x.data(), columns == 0 ? 0 : static_cast<std::int64_t>(x.size()) / columns, columns};
}

/// Returns the input of each layer, followed by the last layer's output.
template <class T>
std::vector<Rows<T>> forward(const Mlp<T>& mlp, const Rows<T>& x) {
  std::vector<Rows<T>> values{x};
  for (std::size_t l = 0; l < mlp.layers.size(); ++l) {
    const MlpLayer<T>& layer = mlp.layers[l];
    Rows<T> y = values.back() * weight_of(layer);
    y.rowwise() += vector_of(layer.bias).transpose();
    if (l + 1 < mlp.layers.size()) y = y.cwiseMax(T(0));
    values.push_back(std::move(y));
  }
  return values;
}

/// Adds up the gradient of the outputs [n, 1], layer by layer from the last.
template <class T>
void backward(const Mlp<T>& mlp, const std::vector<Rows<T>>& values, Rows<T> flowing, Mlp<T>& gradient) {
  gradient = mlp;
  for (std::size_t l = mlp.layers.size(); l-- > 0;) {
    MlpLayer<T>& to = gradient.layers[l];
    const Rows<T> of_weight = values[l].transpose() * flowing;
    const Vector<T> of_bias = flowing.colwise().sum().transpose();
    std::copy_n(of_weight.data(), of_weight.size(), to.weight.begin());
    std::copy_n(of_bias.data(), of_bias.size(), to.bias.begin());
    if (l == 0) return;
    Rows<T> before = flowing * weight_of(mlp.layers[l]).transpose();
    flowing = (values[l].array() > T(0)).select(before, T(0));
  }
}

template <class T>
T batch_error(const Mlp<T>& mlp, const Rows<T>& x, const Vector<T>& y, Mlp<T>* gradient) {
  const std::vector<Rows<T>> values = forward(mlp, x);
  const Vector<T> ratio = values.back().col(0).array().exp() / y.array();
  const Vector<T> over = ratio.array() - T(1);
  const T count = static_cast<T>(y.size());
  if (gradient != nullptr) backward<T>(mlp, values, (over.array().sign() * ratio.array() / count).matrix(), *gradient);
  return over.array().abs().sum() / count;
}

/// Adam's state for one vector of weights.
template <class T>
void adam_step(std::vector<T>& weights, const std::vector<T>& gradient, std::vector<T>& mean, std::vector<T>& square,
               double rate, double step) {
  const T first = T(0.9), second = T(0.999), epsilon = T(1e-8);
  const T scale = static_cast<T>(rate / (1 - std::pow(0.9, step)));
  const T unbias = static_cast<T>(1 / (1 - std::pow(0.999, step)));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    mean[i] = first * mean[i] + (1 - first) * gradient[i];
    square[i] = second * square[i] + (1 - second) * gradient[i] * gradient[i];
    weights[i] -= scale * mean[i] / (std::sqrt(square[i] * unbias) + epsilon);
  }
}

template <class T>
void set_zero(Mlp<T>& mlp) {
  for (MlpLayer<T>& layer : mlp.layers) {
    std::fill(layer.weight.begin(), layer.weight.end(), T(0));
    std::fill(layer.bias.begin(), layer.bias.end(), T(0));
  }
}

/// The rows in the order of an epoch.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const RandomStream random(seed, mlp_draws, 1 + static_cast<std::uint32_t>(epoch));
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

}  // namespace

template <class T>
Mlp<T> make_mlp(std::int64_t inputs, const std::vector<std::int64_t>& hidden, std::uint64_t seed) {
  const RandomStream random(seed, mlp_draws);
  Mlp<T> mlp;
  std::uint64_t drawn = 0;
  for (std::size_t l = 0; l <= hidden.size(); ++l) {
    MlpLayer<T> layer{l == 0 ? inputs : hidden[l - 1], l == hidden.size() ? 1 : hidden[l], {}, {}};
    const double bound = (l == hidden.size() ? 0.1 : 1.0) * std::sqrt(6.0 / static_cast<double>(layer.inputs));
    for (std::int64_t i = 0; i < layer.inputs * layer.outputs; ++i)
      layer.weight.push_back(static_cast<T>(bound * (2 * random.uniform(drawn++) - 1)));
    layer.bias.assign(layer.outputs, T(0));
    mlp.layers.push_back(std::move(layer));
  }
  return mlp;
}

template <class T>
std::vector<T> predict(const Mlp<T>& mlp, const std::vector<T>& x) {
  const Vector<T> y = forward<T>(mlp, rows_of(x, mlp.inputs())).back().col(0).array().exp();
  return {y.data(), y.data() + y.size()};
}

template <class T>
T relative_error(const Mlp<T>& mlp, const std::vector<T>& x, const std::vector<T>& y, Mlp<T>* gradient) {
  return batch_error<T>(mlp, rows_of(x, mlp.inputs()), vector_of(y), gradient);
}

template <class T>
void train(Mlp<T>& mlp, const std::vector<T>& x, const std::vector<T>& y, const MlpTraining& how) {
  const auto all = rows_of(x, mlp.inputs());
  const std::int64_t count = y.size();
  Mlp<T> gradient, mean = mlp, square = mlp;
  set_zero(mean), set_zero(square);
  double step = 0;
  for (std::int64_t e = 0; e < how.epochs; ++e) {
    const std::vector<std::size_t> order = shuffled(y.size(), how.seed, e);
    const double left = 1 - static_cast<double>(e) / static_cast<double>(how.epochs), rate = how.rate * (left + 0.01);
    for (std::int64_t first = 0; first < count; first += how.batch) {
      const std::int64_t size = std::min(how.batch, count - first);
      Rows<T> inputs(size, mlp.inputs());
      Vector<T> wanted(size);
      for (std::int64_t i = 0; i < size; ++i) {
        const auto row = order[first + i];
        inputs.row(i) = all.row(static_cast<std::int64_t>(row)), wanted(i) = y[row];
      }
      batch_error<T>(mlp, inputs, wanted, &gradient);
      ++step;
      for (std::size_t l = 0; l < mlp.layers.size(); ++l) {
        adam_step(mlp.layers[l].weight, gradient.layers[l].weight, mean.layers[l].weight, square.layers[l].weight, rate,
                  step);
        adam_step(mlp.layers[l].bias, gradient.layers[l].bias, mean.layers[l].bias, square.layers[l].bias, rate, step);
      }
    }
  }
}

template Mlp<float> make_mlp(std::int64_t, const std::vector<std::int64_t>&, std::uint64_t);
template Mlp<double> make_mlp(std::int64_t, const std::vector<std::int64_t>&, std::uint64_t);
template std::vector<float> predict(const Mlp<float>&, const std::vector<float>&);
template std::vector<double> predict(const Mlp<double>&, const std::vector<double>&);
template float relative_error(const Mlp<float>&, const std::vector<float>&, const std::vector<float>&, Mlp<float>*);
template double relative_error(const Mlp<double>&, const std::vector<double>&, const std::vector<double>&,
                               Mlp<double>*);
template void train(Mlp<float>&, const std::vector<float>&, const std::vector<float>&, const MlpTraining&);
template void train(Mlp<double>&, const std::vector<double>&, const std::vector<double>&, const MlpTraining&);

}  // namespace strobe
