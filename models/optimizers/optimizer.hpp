// Optimisers: one step over the flat parameter vector, as device operations.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/registry.hpp"
#include "models/tape/parameters.hpp"

namespace strobe {

/// A vector [count, 1] that an optimiser keeps from step to step, by name.
using OptimizerVector = std::pair<std::string, Tensor>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates the values from the gradients (already summed over ranks).
  virtual void step(Device& device, const Parameters& parameters) = 0;
  /// The state of the optimiser in addition to parameters and `steps`; zeros before the first step. To continue another
  /// optimiser's run, write into these vectors and set the steps.
  virtual std::vector<OptimizerVector> vectors(Device& device, const Parameters& parameters) = 0;
  /// Steps taken so far, where the step depends on them; else 0.
  virtual std::int64_t steps() const { return 0; }
  virtual void set_steps(std::int64_t /*steps*/) {}
};

struct OptimizerTag {
  static constexpr const char* kind = "optimizer";
  using Value = std::unique_ptr<Optimizer> (*)(const Json& parameters);
};
using OptimizerRegistry = Registry<OptimizerTag>;

}  // namespace strobe
