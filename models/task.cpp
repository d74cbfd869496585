#include "models/task.hpp"

#include <numeric>

namespace strobe {

double Samples::total_weight() const {
  return weight.empty() ? static_cast<double>(count()) : std::accumulate(weight.begin(), weight.end(), 0.0);
}

}  // namespace strobe
