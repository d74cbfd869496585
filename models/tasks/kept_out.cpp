#include "models/tasks/kept_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

constexpr std::uint32_t kept_out_draws = 44;  // purpose of a random stream

void flag_ends(const EventGraph& graph, EdgeId event, VertexFlags& flags) {
  const std::size_t e = event;
  flags[graph.source[e]] = flags[graph.target[e]] = 1;
}

/// The vertices that an event from `first` on touches, ascending.
std::vector<VertexId> vertices_from(const EventGraph& graph, EdgeId first) {
  VertexFlags flags(static_cast<std::size_t>(graph.vertices), 0);
  for (EdgeId e = first; e < graph.events(); ++e) flag_ends(graph, e, flags);
  std::vector<VertexId> vertices;
  for (std::size_t v = 0; v < flags.size(); ++v) {
    if (flags[v] != 0) vertices.push_back(static_cast<VertexId>(v));
  }
  return vertices;
}

/// How many vertices a share of `all` is. A share as 0.29 has no exact double, and 0.29 * 100 must not become 28.
std::size_t count_of(double share, std::size_t all, std::size_t offered) {
  const auto count = static_cast<std::size_t>(std::floor(share * static_cast<double>(all) + 1e-9));
  if (count == 0) {
    throw InvalidRequest("/task/kept_out", fmt::format("a share of {:g} of {} vertices keeps none out; take at least "
                                                       "{:.3g}, or 0 for no inductive split",
                                                       share, all, 1.001 / static_cast<double>(all)));
  }
  if (count <= offered) return count;
  throw InvalidRequest("/task/kept_out",
                       fmt::format("a share of {:g} of {} vertices is {}, but only {} occur in validation or test "
                                   "events, from which they are drawn; take a smaller share",
                                   share, all, count, offered));
}

/// Vertices that may be negatives of training; those of removed events alone do not exist for it.
std::vector<VertexId> training_pool(const EventGraph& graph, const TrainedEvents& left, const TimeSplit& split,
                                    const VertexFlags& kept_out, bool any) {
  VertexFlags flags(static_cast<std::size_t>(graph.vertices), 0);
  const auto add = [&](EdgeId e) {
    if (any)
      flag_ends(graph, e, flags);
    else
      flags[graph.target[e]] = 1;
  };
  for (const EdgeId e : left.numbers) add(e);
  for (EdgeId e = split.train_end; e < graph.events(); ++e) add(e);
  std::vector<VertexId> pool;
  for (std::size_t v = 0; v < flags.size(); ++v) {
    if (flags[v] != 0 && kept_out[v] == 0) pool.push_back(static_cast<VertexId>(v));
  }
  return pool;
}

/// The values of a column at `numbers`; an empty column stays empty. They lie in a file beyond a bound of memory.
template <class Values>
auto picked(const Values& column, const Column<EdgeId>& numbers) {
  GrowingColumn<typename Values::value_type> values;
  if (!column.empty()) {
    values.reserve(numbers.size());
    for (const EdgeId e : numbers) values.push_back(column[e]);
  }
  return values.finish();
}

EventGraph graph_of(const EventGraph& whole, const Column<EdgeId>& numbers) {
  EventGraph graph;
  graph.vertices = whole.vertices;
  graph.source = picked(whole.source, numbers);
  graph.target = picked(whole.target, numbers);
  graph.time = TimeColumn(picked(whole.time, numbers));
  graph.weight = picked(whole.weight, numbers);
  graph.exact_weight = picked(whole.exact_weight, numbers);
  graph.event_label = picked(whole.event_label, numbers);
  graph.original_id = whole.original_id;
  graph.stepped = whole.stepped;
  graph.dated = whole.dated;
  return graph;
}

}  // namespace

VertexFlags draw_kept_out(const EventGraph& graph, const TimeSplit& split, double share, std::uint64_t seed) {
  std::vector<VertexId> offered = vertices_from(graph, split.train_end);
  const std::size_t count = count_of(share, vertices_from(graph, 0).size(), offered.size());
  const RandomStream random(seed, kept_out_draws);
  VertexFlags kept_out(static_cast<std::size_t>(graph.vertices), 0);
  for (std::size_t i = 0; i < count; ++i) {  // the front of a shuffled list
    std::swap(offered[i], offered[i + random.below(i, offered.size() - i)]);
    kept_out[offered[i]] = 1;
  }
  return kept_out;
}

bool is_inductive(const EventGraph& graph, std::span<const char> kept_out, EdgeId event) {
  if (kept_out.empty()) return false;
  const std::size_t e = event;
  return kept_out[graph.source[e]] != 0 || kept_out[graph.target[e]] != 0;
}

std::int64_t count_inductive(const EventGraph& graph, std::span<const char> kept_out, EdgeId first, EdgeId last) {
  std::int64_t count = 0;
  for (EdgeId e = first; e < last; ++e) count += is_inductive(graph, kept_out, e) ? 1 : 0;
  return count;
}

TrainedEvents events_left(const EventGraph& graph, const TimeSplit& split, const VertexFlags& kept_out,
                          const std::string& negatives, std::uint64_t seed) {
  GrowingColumn<EdgeId> numbers;
  for (EdgeId e = 0; e < split.train_end; ++e) {
    if (!is_inductive(graph, kept_out, e)) numbers.push_back(e);
  }
  TrainedEvents left;
  left.numbers = numbers.finish();
  if (left.numbers.empty()) {
    throw InvalidRequest("/task/kept_out",
                         fmt::format("nothing is left to train on: each of the {} training events has an end that is "
                                     "kept out; take a smaller share",
                                     split.train_end));
  }
  const std::vector<VertexId> pool = training_pool(graph, left, split, kept_out, negatives == "any");
  if (pool.size() < 2) {
    throw InvalidRequest("/task/kept_out",
                         fmt::format("no negative can be drawn in training: {} vertices are left that may be; take a "
                                     "smaller share",
                                     pool.size()));
  }
  left.graph = std::make_shared<const EventGraph>(graph_of(graph, left.numbers));
  left.candidates = std::make_shared<const EventCandidates>(*left.graph, pool, seed);
  return left;
}

}  // namespace strobe
