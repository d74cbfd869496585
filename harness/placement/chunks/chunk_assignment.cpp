#include "harness/placement/chunks/chunk_assignment.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace strobe {
namespace {

std::vector<std::uint32_t> by_workload(const std::vector<double>& workload) {
  std::vector<std::uint32_t> order(workload.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&workload](std::uint32_t a, std::uint32_t b) { return workload[a] > workload[b]; });
  return order;
}

Rank least_loaded(const std::vector<double>& load) {
  return static_cast<Rank>(std::min_element(load.begin(), load.end()) - load.begin());
}

/// Traffic of a chunk with the chunks that each rank has so far: [P].
void add_traffic(const ChunkGraph& chunks, std::uint32_t chunk, const std::vector<Rank>& rank,
                 std::vector<double>& traffic) {
  std::fill(traffic.begin(), traffic.end(), 0);
  for (std::int64_t e = chunks.offsets[chunk]; e < chunks.offsets[chunk + 1]; ++e) {
    const std::size_t at = e;
    const Rank owner = rank[chunks.neighbours[at]];
    if (owner >= 0) traffic[owner] += static_cast<double>(chunks.traffic[at]);
  }
}

Rank best_scored(const std::vector<double>& load, const std::vector<double>& traffic, double mean) {
  if (*std::min_element(load.begin(), load.end()) >= mean) return least_loaded(load);
  std::size_t best = 0;
  for (std::size_t m = 1; m < load.size(); ++m) {
    const double score = (mean - load[m]) * traffic[m], of_best = (mean - load[best]) * traffic[best];
    if (score > of_best || (score == of_best && load[m] < load[best])) best = m;
  }
  return static_cast<Rank>(best);
}

/// The chunk to move away from a rank that has several; -1 if no rank has several.
std::int64_t least_connected(const ChunkGraph& chunks, const std::vector<double>& workload,
                             const ChunkAssignment& assignment) {
  std::vector<std::int64_t> held(assignment.load.size(), 0);
  for (const Rank rank : assignment.rank) ++held[rank];
  std::vector<double> traffic(assignment.load.size());
  std::int64_t best = -1;
  double best_traffic = 0;
  for (std::uint32_t c = 0; c < workload.size(); ++c) {
    const std::size_t rank = assignment.rank[c];
    if (held[rank] < 2) continue;
    add_traffic(chunks, c, assignment.rank, traffic);
    const bool first = best < 0;
    if (first || std::tie(traffic[rank], workload[c]) < std::tie(best_traffic, workload[best])) {
      best = c, best_traffic = traffic[rank];
    }
  }
  return best;
}

void fill_empty(const ChunkGraph& chunks, const std::vector<double>& workload, ChunkAssignment& assignment) {
  std::vector<std::int64_t> held(assignment.load.size(), 0);
  for (const Rank rank : assignment.rank) ++held[rank];
  for (std::size_t m = 0; m < held.size(); ++m) {
    if (held[m] > 0) continue;
    const std::int64_t chunk = least_connected(chunks, workload, assignment);
    if (chunk < 0) return;
    Rank& rank = assignment.rank[chunk];
    const double moved = workload[chunk];
    assignment.load[rank] -= moved;
    assignment.load[m] += moved;
    rank = static_cast<Rank>(m);
  }
}

}  // namespace

ChunkAssignment assign_chunks(const ChunkGraph& chunks, const std::vector<double>& workload, int ranks,
                              const std::string& method) {
  ChunkAssignment assignment{std::vector<Rank>(workload.size(), -1), std::vector<double>(ranks, 0)};
  const double mean = std::accumulate(workload.begin(), workload.end(), 0.0) / ranks;
  std::vector<double> traffic(ranks);
  for (const std::uint32_t chunk : by_workload(workload)) {
    Rank& rank = assignment.rank[chunk];
    if (method == "lpt") {
      rank = least_loaded(assignment.load);
    } else {
      add_traffic(chunks, chunk, assignment.rank, traffic);
      rank = best_scored(assignment.load, traffic, mean);
    }
    assignment.load[rank] += workload[chunk];
  }
  if (method == "score_then_fill") fill_empty(chunks, workload, assignment);
  return assignment;
}

double divergence(const std::vector<double>& load) {
  const auto [least, most] = std::minmax_element(load.begin(), load.end());
  return *least > 0 ? *most / *least : std::numeric_limits<double>::infinity();
}

}  // namespace strobe
