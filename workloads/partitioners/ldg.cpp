// Linear deterministic greedy: a vertex goes to the part that maximises (weight of its edges into the part) times
// (1 - load / capacity). Vertices weigh their work, edges the entries of all steps.
// Returns: parts of at most 1.03 times the mean work, or the mean work and one vertex more where that is larger.
// Cost and memory: stream_vertices. The seed has no effect.
// Source: Stanton and Kliot, Streaming graph partitioning for large distributed graphs, KDD 2012, section 4.
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/streaming.hpp"

namespace strobe {
namespace {

double ldg_price(const StreamTotals& totals, double load) { return 1 - load / static_cast<double>(totals.capacity()); }
double ldg_score(double weight, double, double room) { return weight * room; }

std::vector<Rank> partition_by_ldg(const GraphShare& share, int parts, std::uint64_t) {
  return stream_vertices(share, parts, {ldg_price, ldg_score});
}

const Register<PartitionerTag> ldg_registered{
    {"ldg",
     "one pass: each vertex joins the part with the highest score, its neighbours there times the part's free share",
     "Stanton and Kliot, KDD 2012",
     {},
     {partition_by_ldg, "ldg"},
     {}}};

}  // namespace
}  // namespace strobe
