// A graph in continuous time like those that event models are trained on. Users come in bursts, return to their earlier
// targets, and change over time what they look for. Returns E events from time 0 to the span over N vertices; with two
// sides, sources come first and targets after them. Events of a source are a Hawkes process (bursty_arrivals). Targets
// repeat at a known rate and follow topics that drift (bursty_targets). Features and classes of events are functions of
// the event (generated_data). Features of a vertex are half its own and half those of its topic as a target; both
// halves are uniform in [-1, 1) before they are mixed.
// Invariants: a function of parameters and seed alone; equal (u, v, t) may occur, u != v always.
// Cost: O(E + N) on one thread, packing the times on all; at most 20 bytes an event, of these about 10 stay.
// Source: Hawkes and Oakes, Journal of Applied Probability 11 (1974); sizes of Zhou et al., DistTGL (SC'23), Table 2.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "workloads/generators/bursty_channels.hpp"
#include "workloads/generators/bursty_targets.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

/// Features of all vertices [N * F_v].
std::vector<float> vertex_rows(const BurstyParameters& parameters, std::uint64_t seed) {
  const std::int64_t width = parameters.vertex_features;
  std::vector<float> rows(parameters.vertices * width);
  // Streams of other seeds, so that rows are not those of events.
  const std::uint64_t own_seed = generator_stream(seed, bursty_vertex).bits(0),
                      topic_seed = generator_stream(seed, bursty_vertex).bits(1);
  const GeneratedFeatures own{own_seed, width}, of_topic{topic_seed, width};
  const EventTopics topics = parameters.topics(seed);
  std::vector<float> shared(width);
  for (std::int64_t v = 0; v < parameters.vertices && width > 0; ++v) {
    float* row = rows.data() + v * width;
    own.row(v, row);
    if (v < parameters.first_target()) continue;
    of_topic.row(topics.of_target(static_cast<VertexId>(v)), shared.data());
    for (std::size_t i = 0; i < shared.size(); ++i) row[i] = (row[i] + shared[i]) / 2;
  }
  return rows;
}

/// Events beyond the first of an equal source, target and time.
std::int64_t count_duplicates(const EventGraph& graph, const std::vector<double>& time) {
  std::int64_t duplicates = 0;
  std::vector<std::pair<VertexId, VertexId>> ends;
  for (std::size_t first = 0, last = 0; first < time.size(); first = last) {
    while (last < time.size() && time[last] == time[first]) ++last;
    if (last - first == 1) continue;
    ends.clear();
    for (std::size_t e = first; e < last; ++e) ends.emplace_back(graph.source[e], graph.target[e]);
    std::sort(ends.begin(), ends.end());
    duplicates += ends.end() - std::unique(ends.begin(), ends.end());
  }
  return duplicates;
}

TimeColumn packed(std::vector<double> time) {
  PackedTimes small = PackedTimes::pack(time.size(), [&](std::size_t first, std::span<double> out) {
    std::copy_n(time.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  });
  return small.empty() ? TimeColumn(std::move(time)) : TimeColumn(std::move(small));
}

Provenance bursty_provenance(const Json& json, const BurstyParameters& parameters, std::uint64_t seed) {
  Provenance provenance;
  provenance.name = "bursty_events";
  provenance.format = "generated";
  provenance.source = fmt::format("bursty_events {} seed {}", bursty_fields().complete(json, "").dump(), seed);
  provenance.ids = parameters.sides == 2 ? "offset" : "shared";
  provenance.rows = parameters.events;
  return provenance;
}

EventGraph generate_bursty(const Json& json, std::uint64_t seed) {
  const auto parameters = from_json<BurstyParameters>(bursty_fields(), json, "");
  check_bursty(parameters);
  EventGraph graph;
  graph.vertices = parameters.vertices;
  graph.two_sided = parameters.sides == 2;
  Arrivals arrivals = draw_arrivals(parameters, seed);
  graph.target = draw_targets(parameters, arrivals, seed);
  graph.source = std::move(arrivals.source);
  graph.event_label = std::move(arrivals.label);
  graph.provenance = bursty_provenance(json, parameters, seed);
  graph.provenance.duplicates = count_duplicates(graph, arrivals.time);
  graph.time = packed(std::move(arrivals.time));
  std::vector<std::int64_t> ids(parameters.vertices);
  std::iota(ids.begin(), ids.end(), 0);
  graph.original_id = std::move(ids);
  graph.edge_feature_width = parameters.edge_features;
  graph.edge_feature_source = {seed, parameters.edge_features};
  graph.vertex_feature_width = parameters.vertex_features;
  graph.vertex_features = vertex_rows(parameters, seed);
  if (parameters.classes > 0) {
    graph.event_class_source = {.seed = seed,
                                .classes = parameters.classes,
                                .per_event = std::max<std::int64_t>(1, parameters.classes_per_event),
                                .topics = parameters.topics(seed)};
  }
  return graph;
}

const Register<EventGeneratorTag> bursty_registered{
    {"bursty_events",
     "events in continuous time: bursts, targets that come back at a known rate, drifting preferences",
     "Hawkes and Oakes, Journal of Applied Probability 11 (1974); sizes of DistTGL (SC'23) Table 2",
     bursty_fields(),
     {generate_bursty, bursty_preset},
     {}}};

}  // namespace
}  // namespace strobe
