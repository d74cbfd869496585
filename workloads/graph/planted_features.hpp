// Features that tell the community of a target: of the target itself, and of the events that hit it.
#pragma once

#include <vector>

#include "core/random.hpp"
#include "workloads/graph/generated_data.hpp"
#include "workloads/graph/planted_links.hpp"

namespace strobe {

/// Replaces the features `row` [width], which `own` made, by the mean of themselves and those of the community of
/// `target`, which are uniform in [-1, 1), too. O(width).
inline void mix_with_community(const PlantedLinks& law, VertexId target, const GeneratedFeatures& own, float* row) {
  std::vector<float> shared(static_cast<std::size_t>(own.width));
  const GeneratedFeatures of_communities{RandomStream(own.seed, random_purpose::generator).bits(0), own.width};
  of_communities.row(law.community_of(target), shared.data());
  for (std::size_t i = 0; i < shared.size(); ++i) row[i] = (row[i] + shared[i]) / 2;
}

}  // namespace strobe
