// Cost: O(n) to fill the tables, in one order, so that rounding is the same on every machine with the same arithmetic.
#include "workloads/generators/weighted_choice.hpp"

#include <cmath>
#include <numeric>

namespace strobe {

std::vector<double> ranked_weights(const KeyedPermutation& order, double skew) {
  std::vector<double> weights(order.size());
  for (std::uint64_t rank = 0; rank < order.size(); ++rank)
    weights[order(rank)] = std::pow(static_cast<double>(rank + 1), -skew);
  return weights;
}

WeightedChoice::WeightedChoice(std::span<const double> weights, std::span<const std::size_t> ends)
    : ends_(ends.begin(), ends.end()), keep_(weights.size()), other_(weights.size()) {
  for (std::size_t group = 0; group < ends_.size(); ++group)
    fill(first(group), weights.subspan(first(group), ends_[group] - first(group)));
}

void WeightedChoice::fill(std::size_t begin, std::span<const double> weights) {
  const double scale = static_cast<double>(weights.size()) / std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint32_t> small, large;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    keep_[begin + i] = weights[i] * scale;
    other_[begin + i] = static_cast<std::uint32_t>(i);
    (keep_[begin + i] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i));
  }
  // A position with less than its share is filled up by one with more, which keeps the rest.
  while (!small.empty() && !large.empty()) {
    const std::uint32_t poor = small.back(), rich = large.back();
    small.pop_back();
    other_[begin + poor] = rich;
    keep_[begin + rich] -= 1 - keep_[begin + poor];
    if (keep_[begin + rich] >= 1) continue;
    large.pop_back();
    small.push_back(rich);
  }
  for (const std::uint32_t i : large) keep_[begin + i] = 1;
  for (const std::uint32_t i : small) keep_[begin + i] = 1;  // within rounding of 1
}

std::size_t WeightedChoice::draw(std::size_t group, std::uint64_t bits) const {
  const std::size_t begin = first(group);
  // The whole part of bits / 2^64 times the size is the position, the fraction decides whether it stays.
  const auto product = static_cast<unsigned __int128>(bits) * (ends_[group] - begin);
  const std::size_t at = product >> 64;
  const double fraction = static_cast<double>(static_cast<std::uint64_t>(product) >> 11) * 0x1.0p-53;
  return begin + (fraction < keep_[begin + at] ? at : other_[begin + at]);
}

}  // namespace strobe
