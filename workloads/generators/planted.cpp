// Events whose best possible prediction is known, and which rules that learn nothing predict hardly better than chance.
// Returns E events over N vertices, sources first and targets after them, by the law of planted_links.hpp. The expected
// time of the last event is the span. A pair repeats as chance has it in its community. Features of a
// target, and of an event that hits it, are half their own and half those of the target's community; both halves are
// uniform in [-1, 1) before they are mixed. Features of a source are 0, so its state shows in its events alone.
// Invariants: a function of parameters and seed alone. Events of a source do not depend on other sources.
// Cost: O(E log N + N) on one thread, 16 bytes an event.
// Source: the two-layer form (drifting communities, links by community) of dynamic stochastic block models (Yang et
// al., Machine Learning 82 (2011)), here in continuous time.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <queue>

#include "core/errors.hpp"
#include "core/fields.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/graph/planted_features.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

enum PlantedChannel : std::uint32_t { planted_events = 90, planted_vertices = 91, planted_rows_of_events = 92 };

struct PlantedParameters {
  std::int64_t vertices = 2500;
  std::int64_t sources = 0;
  std::int64_t events = 20000;
  std::int64_t communities = 16;
  double drift = 0.25;
  double noise = 0.1;
  double tempo = 4;
  double span = 1e6;
  std::int64_t vertex_features = 16;
  std::int64_t edge_features = 16;

  std::int64_t source_count() const { return sources > 0 ? sources : std::max<std::int64_t>(1, vertices / 5); }
  std::int64_t targets() const { return vertices - source_count(); }
};

const FieldTable& planted_fields() {
  using P = PlantedParameters;
  static const FieldTable table =
      make_fields<P>()
          .integer("vertices", &P::vertices, "", "number of vertices N", 3, 2147483647)
          .integer("sources", &P::sources, "", "vertices that are sources; the others are targets; 0 = a fifth of them",
                   0, 2147483647)
          .integer("events", &P::events, "", "number of events E", 1, 1e12)
          .integer("communities", &P::communities, "", "communities of targets, and hidden states of sources", 2, 1024)
          .real("drift", &P::drift, "", "probability that an event moves its source on to the next community", 0, 1)
          .real("noise", &P::noise, "", "share of events whose target is of any community", 0, 1)
          .real("tempo", &P::tempo, "", "how many times as often sources in every second community have events", 1e-3,
                1e3)
          .real("span", &P::span, "s", "expected time of the last event", 1e-3, 1e15)
          .integer("vertex_features", &P::vertex_features, "",
                   "features of a vertex: a target's tell its community, a source's are 0 (models of snapshots read "
                   "them with features=own)",
                   0, 1 << 20)
          .integer("edge_features", &P::edge_features, "",
                   "features of an event, made on demand: they tell the community of its target", 0, 1 << 20);
  return table;
}

void check_planted(const PlantedParameters& p) {
  if (p.targets() < p.communities) {
    throw InvalidRequest("/vertices",
                         fmt::format("{} vertices, {} of them sources, leave too few targets for {} communities; give "
                                     "more vertices or fewer sources",
                                     p.vertices, p.source_count(), p.communities));
  }
  const auto vertices = static_cast<double>(p.vertices);
  const double bytes = 16 * static_cast<double>(p.events) + vertices * (8 + 4.0 * p.vertex_features) +
                       40 * static_cast<double>(p.source_count());
  if (bytes <= usable_memory_bytes()) return;
  throw InvalidRequest("/events", fmt::format("{} events of {} vertices need {}, this machine has {}; ask for fewer",
                                              format_count(p.events), format_count(p.vertices), format_bytes(bytes),
                                              format_bytes(usable_memory_bytes())));
}

PlantedLinks law_of(const PlantedParameters& p) {
  PlantedLinks law{p.communities, static_cast<VertexId>(p.source_count()), p.targets(), p.drift, p.noise, 1, p.tempo};
  double wait = 0;  // the mean over states, which are equally frequent
  for (std::int64_t z = 0; z < p.communities; ++z) wait += 1 / law.rate_of(z) / static_cast<double>(p.communities);
  law.rate = wait * static_cast<double>(p.events) / static_cast<double>(p.source_count()) / p.span;
  return law;
}

/// One source: its state, and its next event.
struct PlantedSource {
  double time = 0;
  VertexId source = 0;
  std::int32_t state = 0;
  std::uint32_t events = 0;
  friend bool operator>(const PlantedSource& a, const PlantedSource& b) {
    return a.time > b.time || (a.time == b.time && a.source > b.source);
  }
};

/// Draws the events. The n-th event of a source has the numbers 4 n to 4 n + 3 of the source's own stream, after 4 for
/// its beginning.
class PlantedEvents {
 public:
  PlantedEvents(const PlantedLinks& law, std::uint64_t seed) : law_(law), seed_(seed) {
    for (VertexId source = 0; source < law.first_target; ++source) {
      PlantedSource one{.source = source};
      one.state = static_cast<std::int32_t>(stream(source).below(0, static_cast<std::uint64_t>(law.communities)));
      wait(one);
      next_.push(one);
    }
  }

  void draw(std::int64_t count, EventGraph& graph) {
    std::vector<VertexId> source, target;
    std::vector<double> time;
    source.reserve(count), target.reserve(count), time.reserve(count);
    while (static_cast<std::int64_t>(source.size()) < count) {
      PlantedSource one = next_.top();
      next_.pop();
      source.push_back(one.source), target.push_back(target_of(one)), time.push_back(one.time);
      const RandomStream random = stream(one.source);
      if (random.uniform(place(one) + 2) < law_.drift)
        one.state = static_cast<std::int32_t>((one.state + 1) % law_.communities);
      ++one.events;
      wait(one);
      next_.push(one);
    }
    graph.source = std::move(source), graph.target = std::move(target), graph.time = TimeColumn(std::move(time));
  }

 private:
  RandomStream stream(VertexId source) const {
    return RandomStream(generator_stream(seed_, planted_events).bits(0), planted_events,
                        static_cast<std::uint32_t>(source));
  }
  static std::uint64_t place(const PlantedSource& one) { return 4 * (static_cast<std::uint64_t>(one.events) + 1); }

  void wait(PlantedSource& one) const {
    one.time -= std::log(1 - stream(one.source).uniform(place(one) + 3)) / law_.rate_of(one.state);
  }

  VertexId target_of(const PlantedSource& one) const {
    const RandomStream random = stream(one.source);
    const auto at = [&](std::int64_t i) { return law_.first_target + static_cast<VertexId>(i); };
    if (random.uniform(place(one)) < law_.noise)
      return at(static_cast<std::int64_t>(random.below(place(one) + 1, static_cast<std::uint64_t>(law_.targets))));
    const auto members = static_cast<std::uint64_t>(law_.size_of(one.state));
    return at(one.state + law_.communities * static_cast<std::int64_t>(random.below(place(one) + 1, members)));
  }

  PlantedLinks law_;
  std::uint64_t seed_;
  std::priority_queue<PlantedSource, std::vector<PlantedSource>, std::greater<>> next_;
};

/// Features of all vertices [N * F].
std::vector<float> planted_rows(const PlantedParameters& parameters, const PlantedLinks& law, std::uint64_t seed) {
  const std::int64_t width = parameters.vertex_features;
  std::vector<float> rows(parameters.vertices * width, 0.0f);
  const GeneratedFeatures own{generator_stream(seed, planted_vertices).bits(0), width};
  for (std::int64_t v = parameters.source_count(); v < parameters.vertices && width > 0; ++v) {
    own.row(v, rows.data() + v * width);
    mix_with_community(law, static_cast<VertexId>(v), own, rows.data() + v * width);
  }
  return rows;
}

EventGraph generate_planted(const Json& json, std::uint64_t seed) {
  const auto parameters = from_json<PlantedParameters>(planted_fields(), json, "");
  check_planted(parameters);
  EventGraph graph;
  graph.vertices = parameters.vertices;
  graph.two_sided = true;
  graph.planted = law_of(parameters);
  PlantedEvents(graph.planted, seed).draw(parameters.events, graph);
  std::vector<std::int64_t> ids(parameters.vertices);
  std::iota(ids.begin(), ids.end(), 0);
  graph.original_id = std::move(ids);
  graph.vertex_feature_width = parameters.vertex_features;
  graph.vertex_features = planted_rows(parameters, graph.planted, seed);
  graph.edge_feature_width = parameters.edge_features;
  graph.edge_feature_source = {generator_stream(seed, planted_rows_of_events).bits(0), parameters.edge_features};
  graph.provenance.name = "planted";
  graph.provenance.format = "generated";
  graph.provenance.source = fmt::format("planted {} seed {}", planted_fields().complete(json, "").dump(), seed);
  graph.provenance.ids = "offset";
  graph.provenance.rows = parameters.events;
  return graph;
}

const Register<EventGeneratorTag> planted_registered{
    {"planted",
     "events in continuous time that must be learnt: hidden states drift, rules are weak, the best possible is known",
     "Yang et al., Machine Learning 82 (2011), blocks that change; Rabiner, Proc. IEEE 77 (1989), the exact posterior",
     planted_fields(),
     {generate_planted, nullptr},
     {}}};

}  // namespace
}  // namespace strobe
