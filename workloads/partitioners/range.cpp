// Contiguous vertex ranges of even size: the null partitioner. Cost O(N).
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

std::vector<Rank> partition_by_range(const PreparedGraph& graph, int parts, std::uint64_t) {
  std::vector<Rank> part;
  part.reserve(graph.vertices);
  for (Rank p = 0; p < parts; ++p) {
    part.insert(part.end(), static_cast<std::size_t>(even_share(graph.vertices, parts, p).count), p);
  }
  return part;
}

const Register<PartitionerTag> range_registered{
    {"range", "contiguous vertex ranges of even size", "null partitioner", {}, {partition_by_range, true}, {}}};

}  // namespace
}  // namespace strobe
