// Fennel: a vertex goes to the part that maximises (weight of its edges into the part) - (its work) alpha gamma
// load^(gamma - 1), with the paper's gamma = 3/2 and alpha = sqrt(parts) m / n^(3/2). Here n is the work of all
// vertices and m the weight of all edges, so that with equal vertices this is the paper's rule.
// Returns: parts of at most 1.03 times the mean work (the paper: 1.1), or the mean work and one vertex more where that
// is larger. Cost and memory: stream_vertices. The seed has no effect.
// Source: Tsourakakis, Gkantsidis, Radunovic and Vojnovic, FENNEL: Streaming graph partitioning for massive scale
// graphs, WSDM 2014, sections 3 and 4.
#include <cmath>

#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/streaming.hpp"

namespace strobe {
namespace {

double fennel_price(const StreamTotals& totals, double load) {
  const auto work = static_cast<double>(totals.work);
  const double alpha =
      std::sqrt(static_cast<double>(totals.parts)) * static_cast<double>(totals.edges) / (work * std::sqrt(work));
  return 1.5 * alpha * std::sqrt(load);
}
/// Divided by the work, which keeps the order of the parts.
double fennel_score(double weight, double work, double price) { return weight / work - price; }

std::vector<Rank> partition_by_fennel(const GraphShare& share, int parts, std::uint64_t) {
  return stream_vertices(share, parts, {fennel_price, fennel_score});
}

const Register<PartitionerTag> fennel_registered{{"fennel",
                                                  "one pass: each vertex joins the part with the highest score, its "
                                                  "neighbours there minus a price that grows with the part",
                                                  "Tsourakakis et al., WSDM 2014",
                                                  {},
                                                  {partition_by_fennel, "fennel"},
                                                  {}}};

}  // namespace
}  // namespace strobe
