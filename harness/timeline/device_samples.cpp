#include "harness/timeline/device_samples.hpp"

#include <algorithm>

namespace strobe {

Tensor vector_on(Device& device, const std::vector<double>& values) {
  if (values.empty()) return Tensor();
  const auto count = static_cast<std::int64_t>(values.size());
  if (device.precision() == ElementType::f64) return device.move_in(values.data(), count, 1, ElementType::f64);
  const std::vector<float> rounded(values.begin(), values.end());
  return device.move_in(rounded.data(), count, 1, ElementType::f32);
}

DeviceSamples move_in(Device& device, const LocalSamples& local, bool rows_only) {
  DeviceSamples samples;
  samples.count = local.count();
  for (const auto& list : local.rows) {
    samples.rows.push_back(device.move_in(list.data(), samples.count, 1, ElementType::i64));
  }
  if (rows_only) return samples;
  samples.targets.label = device.move_in(local.label.data(), samples.count, 1, ElementType::i32);
  samples.targets.value = local.counted_values ? device.move_in(nullptr, samples.count, 1, device.precision())
                                               : vector_on(device, local.value);
  samples.targets.weight = vector_on(device, local.weight);
  return samples;
}

std::vector<double> in_task_order(const std::vector<double>& outputs, const PlacedSamples& placed, std::int64_t width) {
  std::vector<double> ordered(outputs.size());
  auto next = outputs.begin();
  for (const LocalSamples& rank : placed.ranks) {
    for (const std::int64_t index : rank.index) {
      std::copy(next, next + width, ordered.begin() + index * width);
      next += width;
    }
  }
  return ordered;
}

}  // namespace strobe
