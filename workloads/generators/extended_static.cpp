// A static graph with communities, sparse features and labels, whose edges and vertices appear over the steps. It
// stands for a citation graph that is extended in time, such as DynaHB's Cora-T and Pubmed-T. Returns T snapshots over
// N vertices in C classes of equal sizes (to 1). E / 2 distinct pairs are drawn. One end is drawn in proportion to
// weights 1 / (rank + 1)^skew. The other is drawn with the same weights: among its own class with probability
// `homophily`, else among all other classes. A pair is an edge in both directions, at one random step; steps get
// equally many pairs (to 1). With `lasting` it stays at all later steps. A vertex appears with its first edge, and
// those without any at the first step. From then on it has its features: `words` different ones of F are 1, all others
// 0; before, all are 0. Each word is drawn with probability `topic` from the words of its class (the F / C from class F
// / C on), otherwise from all.
// Invariants: the pairs, their steps and the features of a vertex are functions of the seed alone.
// Cost: O(E log E + T N F); the features are dense.
// Source: sizes of Song et al., DynaHB, VLDB'24, Table 1, which says that its graphs extend static ones, but not how. N
// is 20 times 2,708 and 19,717, the vertices of Cora and Pubmed, which gives the 2.71 and 19.72 M cells of the table.
// Words of a vertex (18 of 1,433, 50 of 500), classes (7, 3) and the share of edges within a class (0.81, 0.80) are
// those of the static graphs (Sen et al. 2008; Zhu et al., NeurIPS'20, Table 5).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/generators/weighted_choice.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

enum ExtendedStaticChannel : std::uint32_t {
  extended_classes = 1100,
  extended_ranks = 1101,
  extended_pairs = 1102,
  extended_steps = 1103,
  extended_words = 1104,
};

struct ExtendedStaticParameters {
  std::string like = "none";
  double scale = 1;
  std::int64_t steps = 50;
  std::int64_t vertices = 2000;
  std::int64_t edges = 10000;
  std::int64_t features = 100;
  std::int64_t words = 10;
  std::int64_t classes = 4;
  double homophily = 0.8;
  double topic = 0.5;
  double skew = 0.5;
  bool lasting = false;
};

const FieldTable& extended_static_fields() {
  using P = ExtendedStaticParameters;
  static const FieldTable table =
      make_fields<P>()
          .choice("like", &P::like, {"none", "cora-t", "pubmed-t"},
                  "sizes of a data set of DynaHB's Table 1, in place of vertices, edges, features, words, classes and "
                  "homophily")
          .real("scale", &P::scale, "", "share of the vertices and edges of `like`", 1e-6, 1)
          .integer("steps", &P::steps, "", "number of snapshots T", 1, most_generated_steps)
          .integer("vertices", &P::vertices, "", "number of vertices N", 2, 2147483647)
          .integer("edges", &P::edges, "", "edges E that appear in all, both directions counted; even", 2, 1e12)
          .integer("features", &P::features, "", "width F of the features", 1, 1 << 20)
          .integer("words", &P::words, "", "features of a vertex that are 1, the others are 0", 1, 1 << 20)
          .integer("classes", &P::classes, "", "classes C, which are the labels", 1, 127)
          .real("homophily", &P::homophily, "", "probability that an edge joins two vertices of one class", 0, 1)
          .real("topic", &P::topic, "", "probability that a word is of the vertex's class by design", 0, 1)
          .real("skew", &P::skew, "", "vertex of rank r is drawn in proportion to 1 / (r + 1)^skew", 0, 1)
          .boolean("lasting", &P::lasting, "an edge stays at all later steps, and is not at one step alone");
  return table;
}

std::int64_t scaled(double scale, std::int64_t all) {
  return static_cast<std::int64_t>(scale * static_cast<double>(all) + 0.5);
}

/// Refuses sizes that the user gives in addition to `like`.
void check_alone(const ExtendedStaticParameters& p) {
  const ExtendedStaticParameters own;
  const bool others = p.vertices != own.vertices || p.edges != own.edges || p.features != own.features ||
                      p.words != own.words || p.classes != own.classes || p.homophily != own.homophily;
  if (p.like == "none" && p.scale != 1)
    throw InvalidRequest("/scale", "is a share of the sizes of `like`; give like, or vertices and edges themselves");
  if (p.like != "none" && others)
    throw InvalidRequest("/like",
                         fmt::format("{} has sizes of its own; take scale, or like=none and other sizes", p.like));
}

ExtendedStaticParameters with_sizes(ExtendedStaticParameters p) {
  check_alone(p);
  if (p.like == "cora-t") {
    p.vertices = scaled(p.scale, 20 * 2708), p.edges = 2 * scaled(p.scale, 135'000);
    p.features = 1433, p.words = 18, p.classes = 7, p.homophily = 0.81;
  } else if (p.like == "pubmed-t") {
    p.vertices = scaled(p.scale, 20 * 19717), p.edges = 2 * scaled(p.scale, 885'000);
    p.features = 500, p.words = 50, p.classes = 3, p.homophily = 0.80;
  }
  if (p.edges % 2 != 0) throw InvalidRequest("/edges", "counts both directions of a pair, so it is even");
  if (p.vertices < 2 * p.classes) {
    throw InvalidRequest(p.like == "none" ? "/classes" : "/scale",
                         fmt::format("{} vertices are fewer than two for each of {} classes", p.vertices, p.classes));
  }
  if (p.words > p.features)
    throw InvalidRequest("/words", fmt::format("there are {} features, not {}", p.features, p.words));
  if (p.homophily < 1 && p.classes == 1) throw InvalidRequest("/homophily", "is 1 where there is one class alone");
  const double n = p.vertices;
  if (static_cast<double>(p.edges) > n * (n - 1) / 4)
    throw InvalidRequest("/edges", "are more than half of all edges that this number of vertices can have");
  return p;
}

void check_features(const ExtendedStaticParameters& p) {
  const double bytes =
      static_cast<double>(p.steps) * static_cast<double>(p.vertices * p.features) * static_cast<double>(sizeof(float));
  if (bytes <= usable_memory_bytes()) return;
  throw InvalidRequest(p.like == "none" ? "/features" : "/scale",
                       fmt::format("{} features of {} vertices at {} steps need {}, this machine has {}", p.features,
                                   p.vertices, p.steps, format_bytes(bytes), format_bytes(usable_memory_bytes())));
}

/// Vertices in order of their classes: those of class c are [first[c], first[c + 1]) of `member`.
struct Classes {
  std::vector<std::int8_t> of;  // [N]
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> member;  // [N]
};

Classes draw_classes(const ExtendedStaticParameters& p, std::uint64_t seed) {
  const auto n = static_cast<std::uint64_t>(p.vertices), count = static_cast<std::uint64_t>(p.classes);
  const KeyedPermutation order(n, generator_stream(seed, extended_classes));
  Classes classes;
  classes.of.resize(n);
  for (std::uint64_t v = 0; v < n; ++v) classes.of[v] = static_cast<std::int8_t>(order(v) % count);
  for (std::uint64_t c = 0; c < count; ++c) {
    classes.first.push_back(classes.member.size());
    for (std::uint64_t v = 0; v < n; ++v)
      if (classes.of[v] == static_cast<std::int8_t>(c)) classes.member.push_back(static_cast<std::uint32_t>(v));
  }
  classes.first.push_back(n);
  return classes;
}

/// The class of a place among the members of all classes.
std::size_t class_of_place(const Classes& classes, std::size_t place) {
  return static_cast<std::size_t>(classes.of[classes.member[place]]);
}

/// Distinct pairs, the larger vertex in front, ascending.
std::vector<std::uint64_t> draw_pairs(const ExtendedStaticParameters& p, const Classes& classes, std::uint64_t seed) {
  const KeyedPermutation ranks(classes.member.size(), generator_stream(seed, extended_ranks));
  std::vector<double> weights = ranked_weights(ranks, p.skew);
  const std::vector<std::size_t> ends(classes.first.begin() + 1, classes.first.end());
  const std::size_t everybody[] = {classes.member.size()};
  const WeightedChoice of_class(weights, ends), of_all(weights, everybody);
  const RandomStream random = generator_stream(seed, extended_pairs);
  // Some draws from all vertices hit the own class and are refused, so that classes keep their weights. The probability
  // is chosen so that a share `homophily` of the accepted pairs is within a class.
  const double others = 1 - 1 / static_cast<double>(p.classes);
  const double own_share = p.homophily * others / (1 - p.homophily + p.homophily * others);
  const auto draw = [&](std::uint64_t i) {
    const std::size_t one = of_all.draw(0, random.bits(4 * i));
    const std::size_t own = class_of_place(classes, one);
    const bool inside = random.uniform(4 * i + 1) < own_share;
    const std::size_t other =
        inside ? of_class.draw(own, random.bits(4 * i + 2)) : of_all.draw(0, random.bits(4 * i + 3));
    if (other == one || (!inside && class_of_place(classes, other) == own)) return no_edge;
    const std::uint64_t u = classes.member[one], v = classes.member[other];
    return edge_code(std::max(u, v), std::min(u, v));
  };
  std::vector<std::uint64_t> pairs;
  Workers workers(generator_threads());
  draw_distinct(pairs, static_cast<std::size_t>(p.edges / 2), {}, draw, &workers,
                p.like == "none" ? "/edges" : "/scale");
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

/// The different words of a vertex, in the order in which they were drawn.
std::vector<std::int64_t> words_of(const ExtendedStaticParameters& p, std::int64_t v, std::int8_t own,
                                   const RandomStream& random) {
  const std::int64_t begin = own * p.features / p.classes, end = (own + 1) * p.features / p.classes;
  std::set<std::int64_t> known;
  std::vector<std::int64_t> words;
  // A class may have too few words of its own. After this many draws, all further words are drawn from everybody's.
  const std::uint64_t last_topic = 8 * p.words;
  for (std::uint64_t drawn = 0; static_cast<std::int64_t>(words.size()) < p.words; ++drawn) {
    const std::uint64_t next = (static_cast<std::uint64_t>(v) << 32) + 2 * drawn;
    const bool topic = end > begin && drawn < last_topic && random.uniform(next) < p.topic;
    const std::uint64_t choice = topic ? end - begin : p.features;
    const auto word = (topic ? begin : 0) + static_cast<std::int64_t>(random.below(next + 1, choice));
    if (known.insert(word).second) words.push_back(word);
  }
  return words;
}

/// Features of all cells: a vertex has its words from the step on where it appears.
void add_features(const ExtendedStaticParameters& p, const std::vector<std::int32_t>& appears, const Classes& classes,
                  std::uint64_t seed, SnapshotGraph& graph) {
  graph.feature_width = p.features;
  graph.degree_features = false;
  graph.features.assign(p.steps * p.vertices * p.features, 0.0F);
  float* const features = graph.features.edit().data();
  const RandomStream random = generator_stream(seed, extended_words);
  Workers workers(generator_threads());
  for_each_piece(&workers, static_cast<std::uint64_t>(p.vertices), [&](std::uint64_t first, std::uint64_t last) {
    for (std::int64_t v = first; v < static_cast<std::int64_t>(last); ++v) {
      const std::size_t vertex = v;
      const std::vector<std::int64_t> words = words_of(p, v, classes.of[vertex], random);
      for (std::int64_t t = appears[vertex]; t < p.steps; ++t) {
        float* row = features + (t * p.vertices + v) * p.features;
        for (const std::int64_t word : words) row[word] = 1.0F;
      }
    }
  });
}

/// The edges that appear at each step, ascending.
std::vector<std::vector<std::uint64_t>> spread(const ExtendedStaticParameters& p,
                                               const std::vector<std::uint64_t>& pairs, std::uint64_t seed) {
  std::vector<std::vector<std::uint64_t>> steps(p.steps);
  const KeyedPermutation order(pairs.size(), generator_stream(seed, extended_steps));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::vector<std::uint64_t>& step = steps[order(i) % steps.size()];
    step.push_back(pairs[i]);
    step.push_back(edge_code(pairs[i] & 0xFFFFFFFFu, pairs[i] >> 32));
  }
  for (auto& step : steps) std::sort(step.begin(), step.end());
  return steps;
}

/// The first step at which each vertex has an edge; 0 of those without.
std::vector<std::int32_t> first_steps(const std::vector<std::vector<std::uint64_t>>& steps, std::int64_t vertices) {
  std::vector<std::int32_t> first(vertices, -1);
  for (std::size_t t = 0; t < steps.size(); ++t) {
    for (const std::uint64_t code : steps[t]) {
      std::int32_t& known = first[code >> 32];
      if (known < 0) known = static_cast<std::int32_t>(t);
    }
  }
  for (std::int32_t& known : first) known = std::max(known, 0);
  return first;
}

void set_steps(const ExtendedStaticParameters& p, const std::vector<std::vector<std::uint64_t>>& steps,
               SnapshotGraph& graph) {
  std::vector<std::uint64_t> there;
  for (std::size_t t = 0; t < steps.size(); ++t) {
    if (p.lasting) {
      std::vector<std::uint64_t> both;
      std::merge(there.begin(), there.end(), steps[t].begin(), steps[t].end(), std::back_inserter(both));
      there = std::move(both);
    }
    set_step(graph, static_cast<std::int64_t>(t), p.lasting ? there : steps[t]);
  }
}

SnapshotGraph generate_extended_static(const Json& json, std::uint64_t seed) {
  const auto p = with_sizes(from_json<ExtendedStaticParameters>(extended_static_fields(), json, ""));
  const double edges = p.edges;
  check_generated_size(p.vertices, p.steps, p.lasting ? edges * (static_cast<double>(p.steps) + 1) / 2 : edges,
                       4 * 8 * edges, p.like == "none" ? "/edges" : "/scale");
  check_features(p);
  SnapshotGraph graph = start_graph("extended_static", extended_static_fields(), json, seed, p.vertices, p.steps);
  const Classes classes = draw_classes(p, seed);
  graph.vertex_label = classes.of;
  const auto steps = spread(p, draw_pairs(p, classes, seed), seed);
  set_steps(p, steps, graph);
  add_features(p, first_steps(steps, p.vertices), classes, seed, graph);
  return graph;
}

const Register<GeneratorTag> extended_static_registered{
    {"extended_static",
     "a static graph with communities, sparse features and labels, whose edges and vertices appear over the steps",
     "Song et al., DynaHB, VLDB'24, Table 1: Cora-T and Pubmed-T",
     extended_static_fields(),
     generate_extended_static,
     {}}};

}  // namespace
}  // namespace strobe
