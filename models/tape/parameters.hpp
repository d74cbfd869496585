// Trainable parameters: one flat vector on the device, so that one all-reduce and one optimiser step serve them all.
#pragma once

#include <string>
#include <vector>

#include "models/tape/tape.hpp"

namespace strobe {

/// One weight matrix [rows, columns]. Initial values are uniform in centre +- bound, keyed by (seed, name, element):
/// the same at every rank count; or `start` [rows * columns], where that is not empty.
struct ParameterShape {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double bound = 0;
  double centre = 0;
  std::vector<double> start = {};
};

/// Initial values of the rows `first`, `first` + `step`, ... of a matrix without `start`: a part of what the seed
/// draws.
std::vector<double> drawn_rows(const ParameterShape& shape, std::uint64_t seed, std::int64_t first, std::int64_t step);

/// Glorot and Bengio's bound sqrt(6 / (fan_in + fan_out)) (AISTATS'10).
ParameterShape glorot(const std::string& name, std::int64_t rows, std::int64_t columns);

/// The parameters of one rank's replica: values, gradients, and each matrix as a leaf of the tape.
class Parameters {
 public:
  /// `start` holds the values of all shapes one after the other, or is empty: then they are drawn from the seed.
  Parameters(Device& device, const std::vector<ParameterShape>& shapes, std::uint64_t seed,
             const std::vector<double>& start = {});

  /// The leaf called `name`; its gradient is a view of `gradients()`. Throws Error when there is none.
  const Var& at(const std::string& name) const;
  const Tensor& values() const { return values_; }        // [count, 1]
  const Tensor& gradients() const { return gradients_; }  // [count, 1]
  std::int64_t count() const { return values_.rows(); }

 private:
  std::vector<std::string> names_;
  std::vector<Var> leaves_;
  Tensor values_, gradients_;
};

}  // namespace strobe
