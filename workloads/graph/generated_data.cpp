// Every number is one of a counter-based stream (Philox4x32-10) under the purpose of generators. Their channels are the
// upper bits of the key, below 2048 and each of one generator; the channels here are 96 to 99.
#include "workloads/graph/generated_data.hpp"

#include <cmath>

#include "core/random.hpp"

namespace strobe {
namespace {

constexpr int data_channel_shift = 21;
enum EventDataChannel : std::uint32_t { feature_row = 96, target_topic = 97, source_topic = 98, class_choice = 99 };

RandomStream data_stream(std::uint64_t seed, EventDataChannel channel, std::uint32_t part = 0) {
  return {seed, random_purpose::generator, (static_cast<std::uint32_t>(channel) << data_channel_shift) | part};
}

/// 24 bits as a multiple of 2^-23 in [-1, 1), which fp32 holds exactly.
float signed_unit(std::uint32_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 8) - (1 << 23)) * 0x1.0p-23f;
}

constexpr std::uint32_t own_classes = 0, noisy_classes = 1;

}  // namespace

void GeneratedFeatures::row(EdgeId event, float* to) const {
  const RandomStream random = data_stream(seed, feature_row);
  const auto pairs = static_cast<std::uint64_t>((width + 1) / 2), first = static_cast<std::uint64_t>(event) * pairs;
  for (std::int64_t i = 0; i < width; i += 2) {
    const std::uint64_t bits = random.bits(first + static_cast<std::uint64_t>(i / 2));
    to[i] = signed_unit(static_cast<std::uint32_t>(bits));
    if (i + 1 < width) to[i + 1] = signed_unit(static_cast<std::uint32_t>(bits >> 32));
  }
}

std::int64_t EventTopics::of_target(VertexId target) const {
  const RandomStream random = data_stream(seed, target_topic);
  return static_cast<std::int64_t>(
      random.below(static_cast<std::uint64_t>(target), static_cast<std::uint64_t>(topics)));
}

std::int64_t EventTopics::of_source(VertexId source, double time) const {
  const auto place = static_cast<std::uint64_t>(source) << 32;
  const RandomStream random = data_stream(seed, source_topic);
  // The last number of the source's own is its phase; the others are its topics, one a period.
  const double period = drift > 0 ? std::floor(drift * time / span + random.uniform(place | 0xFFFFFFFFu)) : 0;
  return static_cast<std::int64_t>(
      random.below(place | static_cast<std::uint32_t>(period), static_cast<std::uint64_t>(topics)));
}

std::uint64_t GeneratedClasses::of(EdgeId event, VertexId source, VertexId target, double time) const {
  if (classes == 0) return 0;
  const RandomStream own = data_stream(seed, class_choice, own_classes),
                     noisy = data_stream(seed, class_choice, noisy_classes);
  const std::int64_t sought = topics.of_source(source, time), found = topics.of_target(target);
  const std::uint64_t count = classes;
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < per_event; ++i) {
    const std::uint64_t draw = event * per_event + i;
    const std::int64_t topic = i % 2 == 0 ? sought : found;
    std::uint64_t chosen = own.below(static_cast<std::uint64_t>(topic * per_event + i), count);
    if (noisy.uniform(2 * draw) < noise) chosen = noisy.below(2 * draw + 1, count);
    while ((bits >> chosen & 1) != 0) chosen = (chosen + 1) % count;
    bits |= std::uint64_t{1} << chosen;
  }
  return bits;
}

}  // namespace strobe
