#include "harness/hybrid_batches/sampling/batch_samples.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace strobe {
namespace {

/// The sample whose first vertex decides where sample i belongs: for a candidate, its edge.
std::int64_t leader(const Samples& samples, std::int64_t i) {
  if (samples.candidate_of.empty()) return i;
  const std::int32_t edge = samples.candidate_of[i];
  return edge < 0 ? i : edge;
}

VertexId vertex_of(const Samples& samples, std::int64_t i, std::int64_t k) {
  return samples.vertices[i * samples.arity + k];
}

/// std::lower_bound with doubling steps, because the next match is near.
std::vector<VertexId>::const_iterator first_from(std::vector<VertexId>::const_iterator begin,
                                                 std::vector<VertexId>::const_iterator end, VertexId vertex) {
  std::ptrdiff_t stride = 1;
  while (stride < end - begin && begin[stride] < vertex) begin += stride, stride *= 2;
  return std::lower_bound(begin, begin + std::min(stride + 1, end - begin), vertex);
}

/// Calls found(i) for the positions i in `vertex` [first, last), ascending, whose vertex is among `targets`.
template <class Found>
void for_common(const std::vector<VertexId>& vertex, std::int64_t first, std::int64_t last,
                const std::vector<VertexId>& targets, const Found& found) {
  const auto begin = vertex.begin() + first, end = vertex.begin() + last;
  if (static_cast<std::int64_t>(targets.size()) *
          static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(last - first))) <
      last - first) {
    auto at = begin;  // few targets: search for each of them
    for (const VertexId v : targets)
      for (at = first_from(at, end, v); at != end && *at == v; ++at) found(at - vertex.begin());
    return;
  }
  auto target = targets.begin();
  for (auto at = begin; at != end && target != targets.end(); ++at) {
    while (target != targets.end() && *target < *at) ++target;
    if (target != targets.end() && *target == *at) found(at - vertex.begin());
  }
}

}  // namespace

SampleIndex index_samples(const Samples& samples, std::int64_t steps) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < samples.count(); ++i)
    if (samples.step[i] < steps) order.push_back(i);
  const auto key = [&](std::int64_t i) {
    return std::pair(samples.step[i], vertex_of(samples, leader(samples, i), 0));
  };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  SampleIndex index;
  index.step_offsets.assign(static_cast<std::size_t>(steps) + 1, 0);
  for (const std::int64_t i : order) {
    const auto [step, vertex] = key(i);
    ++index.step_offsets[static_cast<std::size_t>(step) + 1];
    index.vertex.push_back(vertex);
  }
  std::partial_sum(index.step_offsets.begin(), index.step_offsets.end(), index.step_offsets.begin());
  index.sample = std::move(order);
  return index;
}

SampleIndex of_rank(const SampleIndex& index, const std::vector<Rank>& owner, Rank rank) {
  SampleIndex own;
  for (std::size_t step = 0; step < index.step_offsets.size(); ++step) {
    const std::int64_t first = step == 0 ? 0 : index.step_offsets[step - 1];
    for (std::int64_t i = first; i < index.step_offsets[step]; ++i) {
      if (owner[index.vertex[i]] != rank) continue;
      own.vertex.push_back(index.vertex[i]);
      own.sample.push_back(index.sample[i]);
    }
    own.step_offsets.push_back(static_cast<std::int64_t>(own.vertex.size()));
  }
  own.vertex.shrink_to_fit(), own.sample.shrink_to_fit();
  return own;
}

std::vector<std::int64_t> samples_of(const SampleIndex& index, const std::vector<VertexId>& targets, Run steps) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t t = steps.first; t < steps.first + steps.count; ++t) {
    const std::size_t step = t;
    for_common(index.vertex, index.step_offsets[step], index.step_offsets[step + 1], targets,
               [&](std::int64_t i) { chosen.push_back(index.sample[i]); });
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::vector<VertexId>> other_vertices(const Samples& samples, const std::vector<std::int64_t>& chosen,
                                                  const std::vector<VertexId>& targets, Run steps) {
  std::vector<std::vector<VertexId>> others(steps.count);
  for (const std::int64_t i : chosen) {
    std::vector<VertexId>& step = others.at(samples.step[i] - steps.first);
    for (std::int64_t k = 0; k < samples.arity; ++k) step.push_back(vertex_of(samples, i, k));
  }
  for (std::vector<VertexId>& step : others) {
    std::sort(step.begin(), step.end());
    step.erase(std::unique(step.begin(), step.end()), step.end());
    std::vector<VertexId> rest;
    std::set_difference(step.begin(), step.end(), targets.begin(), targets.end(), std::back_inserter(rest));
    step = std::move(rest);
  }
  return others;
}

}  // namespace strobe
