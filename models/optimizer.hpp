// Optimisers: one step over the flat parameter vector, as device operations.
#pragma once

#include <memory>

#include "core/registry.hpp"
#include "models/parameters.hpp"

namespace strobe {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates the values from the gradients (already summed over ranks).
  virtual void step(Device& device, const Parameters& parameters) = 0;
};

struct OptimizerTag {
  static constexpr const char* kind = "optimizer";
  using Value = std::unique_ptr<Optimizer> (*)(const Json& parameters);
};
using OptimizerRegistry = Registry<OptimizerTag>;

}  // namespace strobe
