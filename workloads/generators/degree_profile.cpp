// Quantiles of a mixed degree distribution, rounded so that they sum exactly; see the header for the formula.
// Cost: O(vertices). Source: fitted to the in- and out-degrees of AMLSim's sample 20K_fanin200cycle200.
#include "workloads/generators/degree_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "workloads/generators/generation.hpp"

namespace strobe {

DegreePlaces::DegreePlaces(const std::vector<std::int64_t>& degrees) {
  offsets_.reserve(degrees.size() + 1);
  for (const std::int64_t degree : degrees) offsets_.push_back(offsets_.back() + degree);
  const std::uint64_t groups = (total() >> group_bits) + 1;
  group_.reserve(groups + 1);
  std::size_t rank = 0;
  for (std::uint64_t group = 0; group <= groups; ++group) {
    const std::int64_t place = std::min(group << group_bits, total() - (total() > 0 ? 1 : 0));
    while (rank + 1 < degrees.size() && offsets_[rank + 1] <= place) ++rank;
    group_.push_back(static_cast<std::uint32_t>(rank));
  }
}

std::size_t DegreePlaces::rank(std::uint64_t place) const {
  const std::uint64_t group = place >> group_bits;
  const auto first = offsets_.begin() + group_[group] + 1, last = offsets_.begin() + group_[group + 1] + 2;
  return static_cast<std::size_t>(std::upper_bound(first, last, static_cast<std::int64_t>(place)) - offsets_.begin()) -
         1;
}

std::vector<std::int64_t> degrees_by_rank(const DegreeProfile& profile, std::int64_t vertices, std::int64_t total,
                                          const std::string& hub_name) {
  const std::size_t n = vertices;
  const double count = vertices;
  const std::size_t hubs = std::llround(profile.hubs * count);
  std::vector<double> weight(n);
  double hub_sum = 0, body_sum = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const double share = (static_cast<double>(r) + 0.5) / count;
    if (r < hubs) {
      weight[r] = profile.hub * static_cast<double>(total) / count *
                  std::pow(profile.hubs / share, 1 / (profile.hub_exponent - 1));
      hub_sum += weight[r];
      continue;
    }
    const double body = std::exp(-profile.spread * normal_quantile(std::max(share, profile.tail)));
    weight[r] = share < profile.tail ? body * std::pow(profile.tail / share, 1 / (profile.exponent - 1)) : body;
    body_sum += weight[r];
  }
  const double rest = static_cast<double>(total) - hub_sum;
  if (rest < 0 || (rest > 0 && hubs == n)) {
    throw InvalidRequest(hub_name, fmt::format("{} hubs of {} accounts would have {:.6g} transfers; there are {}", hubs,
                                               vertices, hub_sum, total));
  }
  for (std::size_t r = hubs; r < n; ++r) weight[r] *= rest / body_sum;
  if (total == 0) return std::vector<std::int64_t>(n, 0);
  return apportion(total, weight);
}

}  // namespace strobe
