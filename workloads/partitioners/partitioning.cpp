#include "workloads/partitioners/partitioning.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/errors.hpp"

namespace strobe {

void require_structure(const PreparedGraph& graph, const std::string& partitioner) {
  if (graph.has_structure()) return;
  throw InvalidRequest(
      "/strategy/partitioner",
      "partitioner " + partitioner + " needs edges, but this workload is only a shape; use range or hash");
}

std::vector<std::int64_t> vertex_work(const PreparedGraph& graph) { return vertex_work(graph, {0, graph.vertices}); }

std::vector<std::int64_t> vertex_work(const PreparedGraph& graph, Run vertices) {
  std::vector<std::int64_t> work(vertices.count, graph.steps);
  for (std::int64_t t = 0; t < graph.steps; ++t) {
    const std::int64_t* offsets = graph.row_offsets.data() + t * graph.vertices + vertices.first;
    for (std::size_t v = 0; v < work.size(); ++v) work[v] += offsets[v + 1] - offsets[v];
  }
  return work;
}

namespace {

/// Bit p of readers[u] is set if part `first` + p owns a reader of u at this step.
void mark_readers(const PreparedGraph& graph, Step t, const std::vector<Rank>& part, int first,
                  std::vector<std::uint64_t>& readers) {
  std::fill(readers.begin(), readers.end(), 0);
  const std::int64_t* offsets = graph.row_offsets.data() + static_cast<std::int64_t>(t) * graph.vertices;
  for (std::size_t v = 0; v < part.size(); ++v) {
    const int p = part[v] - first;
    if (p < 0 || p >= 64) continue;
    for (std::int64_t e = offsets[v]; e < offsets[v + 1]; ++e) {
      readers[graph.columns[e]] |= std::uint64_t{1} << p;
    }
  }
}

std::int64_t step_volume(const PreparedGraph& graph, Step t, const std::vector<Rank>& part, int parts,
                         std::vector<std::uint64_t>& readers) {
  std::int64_t volume = 0;
  for (int first = 0; first < parts; first += 64) {
    mark_readers(graph, t, part, first, readers);
    for (std::size_t u = 0; u < part.size(); ++u) {
      const int own = part[u] - first;
      const std::uint64_t others = own >= 0 && own < 64 ? ~(std::uint64_t{1} << own) : ~std::uint64_t{0};
      volume += std::popcount(readers[u] & others);
    }
  }
  return volume;
}

}  // namespace

std::int64_t connectivity_minus_one(const PreparedGraph& graph, Step t, const std::vector<Rank>& part, int parts) {
  std::vector<std::uint64_t> readers(part.size());
  return step_volume(graph, t, part, parts, readers);
}

std::int64_t connectivity_minus_one(const PreparedGraph& graph, const std::vector<Rank>& part, int parts) {
  std::vector<std::uint64_t> readers(part.size());
  std::int64_t volume = 0;
  for (Step t = 0; t < graph.steps; ++t) volume += step_volume(graph, t, part, parts, readers);
  return volume;
}

double work_imbalance(const std::vector<std::int64_t>& work, const std::vector<Rank>& part, int parts) {
  std::vector<std::int64_t> load(parts, 0);
  for (std::size_t v = 0; v < work.size(); ++v) load[part[v]] += work[v];
  const std::int64_t total = std::accumulate(load.begin(), load.end(), std::int64_t{0});
  if (total == 0) return 1.0;
  return static_cast<double>(*std::max_element(load.begin(), load.end())) * parts / static_cast<double>(total);
}

void fill_empty_parts(std::span<Rank> part, int parts) {
  std::vector<std::int64_t> size(parts, 0);
  for (const Rank p : part) ++size[p];
  for (Rank p = 0; p < parts; ++p) {
    if (size[p] != 0) continue;
    const auto largest = static_cast<Rank>(std::max_element(size.begin(), size.end()) - size.begin());
    const auto moved = std::find(part.begin(), part.end(), largest);
    if (moved == part.end() || size[largest] < 2) return;
    *moved = p;
    --size[largest];
    ++size[p];
  }
}

}  // namespace strobe
