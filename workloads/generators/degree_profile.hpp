// Degrees by rank: a lognormal body, a power-law tail and hubs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

struct DegreeProfile {
  double spread = 0.5;      // standard deviation of the logarithm of degrees in the body
  double tail = 0;          // share of ranks in the power-law tail, hubs included; 0 = no tail
  double exponent = 2.85;   // of the degree density in the tail
  double hubs = 0;          // share of ranks that are hubs
  double hub = 16;          // degree of the smallest hub, in mean degrees
  double hub_exponent = 7;  // of the degree density among hubs
};

/// Places [0, total) of ranks, in order of ranks: the number of places of a rank is its degree.
class DegreePlaces {
 public:
  DegreePlaces() = default;
  explicit DegreePlaces(const std::vector<std::int64_t>& degrees);

  std::uint64_t total() const { return static_cast<std::uint64_t>(offsets_.back()); }
  /// The rank that has `place`; a few memory accesses at any size.
  std::size_t rank(std::uint64_t place) const;

 private:
  static constexpr int group_bits = 6;
  std::vector<std::int64_t> offsets_{0};  // [ranks + 1]
  std::vector<std::uint32_t> group_;      // rank of every 64th place, and of the last
};

/// Degrees of `vertices` ranks: they fall with the rank and sum to `total`. With x = (r + 1/2) / vertices, hubs have
/// hub (hubs / x)^(1 / (hub_exponent - 1)) mean degrees. Other ranks are in proportion to exp(spread z(x)), z the upper
/// normal quantile, and in the tail to exp(spread z(tail)) (tail / x)^(1 / (exponent - 1)). Throws
/// InvalidRequest(hub_name, ...) when the hubs alone exceed the total.
std::vector<std::int64_t> degrees_by_rank(const DegreeProfile& profile, std::int64_t vertices, std::int64_t total,
                                          const std::string& hub_name);

}  // namespace strobe
