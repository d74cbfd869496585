// Small random graphs whose vertices come and go.
#pragma once

#include "core/random.hpp"
#include "tests/workloads/support.hpp"

namespace strobe::test {

/// `steps` weighted steps of at most `most` edges each. Every fourth is empty, the first and the last not. `two_sided`
/// draws sources from the lower half of the vertices and targets from the upper one. The last vertex never has an edge.
inline SnapshotGraph random_steps(std::int64_t vertices, int steps, std::uint64_t most, std::uint64_t seed,
                                  bool two_sided = false) {
  const RandomStream random(seed, random_purpose::test);
  EventGraph events = make_events(vertices, {});
  std::uint64_t drawn = 0;
  const auto n = static_cast<std::uint64_t>(vertices - 1), half = two_sided ? n / 2 : 0;
  for (int t = 0; t < steps; ++t) {
    const std::uint64_t drawn_edges = random.below(drawn++, most + 1);
    const std::uint64_t count = t % 4 == 2 ? 0 : t == 0 ? std::max<std::uint64_t>(drawn_edges, 1) : drawn_edges;
    for (std::uint64_t e = 0; e < count; ++e) {
      events.source.push_back(static_cast<VertexId>(random.below(drawn++, two_sided ? half : n)));
      events.target.push_back(static_cast<VertexId>(half + random.below(drawn++, n - half)));
      events.time.push_back(t);
      events.weight.push_back(static_cast<float>(random.uniform(drawn++)));
    }
  }
  events.source.push_back(0);
  events.target.push_back(static_cast<VertexId>(n - 1));
  events.time.push_back(steps - 1);
  events.weight.push_back(0.5F);
  events.stepped = true;
  return make_snapshots(events, {.weights = "file"});
}

}  // namespace strobe::test
