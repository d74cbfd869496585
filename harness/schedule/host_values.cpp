#include "harness/schedule/host_values.hpp"

#include <algorithm>

namespace strobe {

std::vector<double> host_values(Device& device, const Tensor& tensor) {
  std::vector<double> values(tensor.has_values() ? static_cast<std::size_t>(tensor.elements()) : 0);
  if (tensor.type() == ElementType::f64) {
    device.move_out(tensor, values.data());
    return values;
  }
  std::vector<float> narrow(values.size());
  device.move_out(tensor, narrow.data());
  std::copy(narrow.begin(), narrow.end(), values.begin());
  return values;
}

Tensor vector_on(Device& device, const std::vector<double>& values) {
  if (values.empty()) return Tensor();
  const std::int64_t count = values.size();
  if (device.precision() == ElementType::f64) return device.move_in(values.data(), count, 1, ElementType::f64);
  const std::vector<float> rounded(values.begin(), values.end());
  return device.move_in(rounded.data(), count, 1, ElementType::f32);
}

}  // namespace strobe
