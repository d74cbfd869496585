#include "harness/run/drawn_times.hpp"

#include <algorithm>
#include <utility>

#include "backends/drawn_clusters.hpp"

namespace strobe {

void add_draws(const Case& c, LaunchRequest& launch, CaseResult& result) {
  if (c.draws == 0 || launch.device.cluster == nullptr) return;
  launch.device.draws = drawn_clusters(launch.device.cluster, static_cast<std::size_t>(c.draws));
  result.draws_of = digest_of_draws(launch.device.draws);
}

void leave_draws(EpochSample& other, EpochSample& first) {
  const std::vector<double> seconds = std::exchange(other.drawn_seconds, {});
  for (std::size_t d = 0; d < std::min(seconds.size(), first.drawn_seconds.size()); ++d)
    first.drawn_seconds[d] = std::max(first.drawn_seconds[d], seconds[d]);
}

void keep_slowest_draws(std::vector<RankOutcome>& outcomes) {
  if (outcomes.empty()) return;
  std::vector<EpochSample>& first = outcomes.front().samples;
  for (std::size_t rank = 1; rank < outcomes.size(); ++rank) {
    std::vector<EpochSample>& own = outcomes[rank].samples;
    for (std::size_t e = 0; e < std::min(first.size(), own.size()); ++e) leave_draws(own[e], first[e]);
  }
}

}  // namespace strobe
