#include "workloads/graph/planted_links.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strobe {
namespace {

void normalise(std::vector<double>& share) {
  const double sum = std::accumulate(share.begin(), share.end(), 0.0);
  for (double& s : share) s /= sum;
}

}  // namespace

void PlantedFilter::look(VertexId source, double time) {
  source_ = source, time_ = time;
  const auto found = known_.find(source);
  const double waited = time - (found == known_.end() ? 0.0 : found->second.time);
  // The likelihood of the wait is taken relative to that of the slowest state, which cannot vanish for all.
  const double least = std::min(law_.rate_of(0), law_.rate_of(1));
  const std::size_t states = share_.size();
  for (std::size_t z = 0; z < states; ++z) {
    const double before = found == known_.end() ? 1.0
                                                : (1 - law_.drift) * found->second.share[z] +
                                                      law_.drift * found->second.share[(z + states - 1) % states];
    const double rate = law_.rate_of(static_cast<std::int64_t>(z));
    share_[z] = before * rate * std::exp(-(rate - least) * waited);
  }
  normalise(share_);
}

double PlantedFilter::probability(VertexId target) const {
  if (target < law_.first_target || target >= law_.first_target + law_.targets) return 0;
  const std::int64_t own = law_.community_of(target);
  return law_.noise / static_cast<double>(law_.targets) +
         (1 - law_.noise) * share_[own] / static_cast<double>(law_.size_of(own));
}

void PlantedFilter::learn(VertexId target) {
  const auto own = static_cast<std::size_t>(law_.community_of(target));
  const double any = law_.noise / static_cast<double>(law_.targets);
  Known& known = known_[source_];
  known.share.resize(share_.size());
  for (std::size_t z = 0; z < share_.size(); ++z) {
    const double of_own = z == own ? (1 - law_.noise) / static_cast<double>(law_.size_of(z)) : 0.0;
    known.share[z] = share_[z] * (any + of_own);
  }
  normalise(known.share);
  known.time = time_;
}

}  // namespace strobe
