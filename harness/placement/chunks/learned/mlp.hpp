// A multi-layer perceptron with one positive output, trained on relative errors. DGC predicts a chunk's time with it
// (SIGMOD'23, section 6: three hidden layers of 256 units, ReLU, mean absolute percentage error, Adam, 100 epochs).
#pragma once

#include <cstdint>
#include <vector>

namespace strobe {

/// y = x W + b, with W [inputs, outputs] row by row.
template <class T>
struct MlpLayer {
  std::int64_t inputs = 0, outputs = 0;
  std::vector<T> weight, bias;
};

/// Dense layers, with ReLU after each except the last. The last has one output o, and the prediction is exp(o), because
/// a time is positive and times span decades.
template <class T>
struct Mlp {
  std::vector<MlpLayer<T>> layers;
  std::int64_t inputs() const { return layers.empty() ? 0 : layers.front().inputs; }
};

/// Seeded initial weights, uniform in +- sqrt(6 / inputs) (He et al., ICCV'15). The last layer has a tenth of that, so
/// that all predictions begin near 1. Biases are zero.
template <class T>
Mlp<T> make_mlp(std::int64_t inputs, const std::vector<std::int64_t>& hidden, std::uint64_t seed);

/// Predictions [n] for x [n, inputs].
template <class T>
std::vector<T> predict(const Mlp<T>& mlp, const std::vector<T>& x);

/// Mean of |prediction - y| / y over the rows of x [n, inputs], y [n] positive. If `gradient` is not null, it gets the
/// gradient, in the shape of the weights.
template <class T>
T relative_error(const Mlp<T>& mlp, const std::vector<T>& x, const std::vector<T>& y, Mlp<T>* gradient);

struct MlpTraining {
  std::int64_t epochs = 100, batch = 256;
  double rate = 1e-3;  // of Adam (Kingma and Ba, ICLR'15) in the first epoch; falls linearly to a hundredth of it
  std::uint64_t seed = 1;
};

/// Trains on x [n, inputs], y [n] in batches that are drawn again in each epoch. The same seed gives the same weights
/// on one machine and build.
template <class T>
void train(Mlp<T>& mlp, const std::vector<T>& x, const std::vector<T>& y, const MlpTraining& how);

}  // namespace strobe
