// Vertices dealt out by descending load (DynaHB's load-aware partition). The loads' sum is nested, A(L 1 + A((L - 1) 1
// + ... A(1 1))). So a hop is one pass over the entries: each row sums the values of its columns.
#include "workloads/partitioners/load_aware.hpp"

#include <algorithm>
#include <numeric>

#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

/// Rows of one task; steps with fewer are not worth a second thread.
constexpr std::int64_t rows_of_task = 1 << 16;

/// next[v] = sum over the columns u of row v, other than v, of (value[u] + weight).
void sum_rows(const PreparedGraph& graph, std::int64_t t, Run rows, double weight, const std::vector<double>& value,
              std::vector<double>& next) {
  const std::int64_t* offsets = graph.row_offsets.data() + t * graph.vertices;
  const VertexId* columns = graph.columns.data();
  const double* of = value.data();
  for (std::int64_t v = rows.first; v < rows.first + rows.count; ++v) {
    double sum = 0;
    std::int64_t own = 0;
    for (std::int64_t e = offsets[v]; e < offsets[v + 1]; ++e) {
      const VertexId u = columns[e];
      own += u == v;
      sum += u == v ? 0.0 : of[u];
    }
    next[v] = sum + weight * static_cast<double>(offsets[v + 1] - offsets[v] - own);
  }
}

/// Calls rows(run) for runs that make up all vertices.
template <class Rows>
void in_runs(std::int64_t vertices, const Rows& rows) {
  const std::int64_t tasks = (vertices + rows_of_task - 1) / rows_of_task;
  const auto task = [&](std::int64_t i) {
    rows(Run{i * rows_of_task, std::min(rows_of_task, vertices - i * rows_of_task)});
  };
  if (tasks == 1) return task(0);
  parallel_tasks(tasks, task);
}

/// All vertices by descending load.
std::vector<VertexId> by_descending_load(const std::vector<double>& load) {
  std::vector<VertexId> order(load.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](VertexId a, VertexId b) { return load[a] > load[b]; });
  return order;
}

template <bool snake>
std::vector<Rank> partition_by_load(const PreparedGraph& graph, int parts, int hops, std::vector<double>* load) {
  require_structure(graph, snake ? "load_aware_snake" : "load_aware");
  std::vector<double> loads = walk_loads(graph, hops);
  std::vector<Rank> part = deal_by_load(loads, parts, snake);
  if (load != nullptr) *load = std::move(loads);
  return part;
}

}  // namespace

std::vector<double> walk_loads(const PreparedGraph& graph, int hops) {
  const std::size_t n = graph.vertices;
  std::vector<double> total(n), value(n), next(n);
  for (std::int64_t t = 0; t < graph.steps; ++t) {
    std::fill(value.begin(), value.end(), 0.0);
    for (int hop = 1; hop <= hops; ++hop) {
      in_runs(graph.vertices, [&](Run rows) {
        sum_rows(graph, t, rows, hop, value, next);
        if (hop < hops) return;
        for (std::size_t v = rows.first; v < static_cast<std::size_t>(rows.first + rows.count); ++v)
          total[v] += next[v];
      });
      std::swap(value, next);
    }
  }
  return total;
}

std::vector<Rank> deal_by_load(const std::vector<double>& load, int parts, bool snake) {
  std::vector<Rank> part(load.size());
  std::int64_t dealt = 0;
  for (const VertexId v : by_descending_load(load)) {
    const std::int64_t turn = dealt / parts, place = dealt % parts;
    part[v] = static_cast<Rank>(snake && turn % 2 == 1 ? parts - 1 - place : place);
    ++dealt;
  }
  return part;
}

std::vector<std::int32_t> balanced_groups(const std::vector<double>& load, const std::vector<Rank>& part, int parts,
                                          int groups) {
  std::vector<std::vector<VertexId>> members(parts);
  for (const VertexId v : by_descending_load(load)) members[part[v]].push_back(v);
  std::vector<std::int32_t> group(load.size());
  for (const std::vector<VertexId>& own : members) {
    for (int g = 0; g < groups; ++g) {
      const Run run = even_share(static_cast<std::int64_t>(own.size()), groups, g);
      for (std::int64_t i = run.first; i < run.first + run.count; ++i) group[own[i]] = g;
    }
  }
  return group;
}

namespace {

const Register<PartitionerTag> registered{
    {"load_aware",
     "deals vertices out in turn by descending load; the load of a vertex is the weighted walks that end at it",
     "Song et al., DynaHB, VLDB'24, section 4.2, Algorithm 1",
     {},
     partition_by_load<false>,
     {}}};
const Register<PartitionerTag> snake_registered{
    {"load_aware_snake",
     "load_aware with every other turn backwards, so that the first part is not always ahead",
     "Song et al., DynaHB, VLDB'24, as its implementation deals",
     {},
     partition_by_load<true>,
     {}}};

}  // namespace
}  // namespace strobe
