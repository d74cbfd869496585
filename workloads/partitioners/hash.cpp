// Even shares of a seeded random order of the vertices: like a hash of the vertex id, but no part is empty. Cost O(N).
#include <numeric>
#include <utility>

#include "core/names_elsewhere.hpp"
#include "core/random.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

std::vector<Rank> partition_by_hash(const PreparedGraph& graph, int parts, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::partition);
  std::vector<std::size_t> order(graph.vertices);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i + 1 < order.size(); ++i) std::swap(order[i], order[i + random.below(i, order.size() - i)]);
  std::vector<Rank> part(order.size());
  for (Rank p = 0; p < parts; ++p) {
    const strobe::Run share = even_share(graph.vertices, parts, p);
    for (std::int64_t i = share.first; i < share.first + share.count; ++i) part[order[i]] = p;
  }
  return part;
}

const Register<PartitionerTag> hash_registered{{"hash",
                                                "a seeded random order of the vertices, cut into even shares",
                                                "null partitioner",
                                                {},
                                                {partition_by_hash, true},
                                                {}}};

const RegisterNames hash_elsewhere{"partitioner", {{"random", "hash", ""}}};

}  // namespace
}  // namespace strobe
