// Halos of random needs between random owners, with the cells that each rank holds before and after.
#pragma once

#include <vector>

#include "core/random.hpp"
#include "tests/harness/fakes.hpp"

namespace strobe::test {

struct RandomHalo {
  Placement placement;
  HaloNeeds needs;
  ExchangePlan plan;
  std::vector<Cells> inputs, outputs;  // [ranks]

  /// With more than four ranks the last one owns nothing and needs nothing.
  RandomHalo(int ranks, std::uint64_t seed, std::int64_t vertices = 19, std::int64_t steps = 4) {
    const RandomStream random(seed, random_purpose::test, 77);
    const std::uint64_t owners = ranks > 4 ? ranks - 1 : ranks;
    std::vector<Rank> owner;
    for (std::int64_t v = 0; v < vertices; ++v)
      owner.push_back(static_cast<Rank>(random.below(static_cast<std::uint64_t>(v), owners)));
    placement = by_vertex(std::move(owner), steps, ranks);
    needs = no_needs(ranks, steps);
    std::uint64_t draw = 1000;
    for (Rank r = 0; r < static_cast<Rank>(owners); ++r) {
      for (Step t = 0; t < steps; ++t) {
        // Halo rows are ordered by owner, then vertex.
        for (Rank q = 0; q < static_cast<Rank>(owners); ++q) {
          for (VertexId v = 0; v < vertices; ++v) {
            if (q != r && placement.owner(v, t) == q && random.uniform(draw++) < 0.4) needs.at(r, t).push_back(v);
          }
        }
      }
    }
    plan = halo(placement, needs, {});
    for (Rank r = 0; r < ranks; ++r) inputs.push_back(cells(placement, r));
    outputs = carry(plan, inputs);
  }
};

}  // namespace strobe::test
