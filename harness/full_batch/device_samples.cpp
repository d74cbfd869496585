#include "harness/full_batch/device_samples.hpp"

#include <algorithm>

#include "harness/schedule/host_values.hpp"

namespace strobe {

DeviceSamples move_in(Device& device, const LocalSamples& local, bool rows_only) {
  const PartScope part(device, MemoryPart::samples);
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

std::vector<double> in_task_order(const std::vector<double>& outputs, const Samples& samples,
                                  const PlacedSamples& placed, const Placement& spatial, std::int64_t width) {
  std::vector<std::int64_t> next{0};  // the place of each rank's next sample
  for (const LocalSamples& rank : placed.ranks) next.push_back(next.back() + rank.count());
  std::vector<double> ordered(outputs.size());
  const std::size_t arity = samples.arity;
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    const Rank rank = spatial.owner(samples.vertices[i * arity], samples.step[i]);
    const auto from = outputs.begin() + next[rank]++ * width;
    std::copy(from, from + width, ordered.begin() + static_cast<std::int64_t>(i) * width);
  }
  return ordered;
}

}  // namespace strobe
