// The vertices that ranks cache, compared with a search from every vertex over dense matrices, and with drawn batches
// of owned vertices.
#include "harness/hybrid_batches/encoding/cached_vertices.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "harness/hybrid_batches/sampling/batch_samples.hpp"
#include "tests/harness/hybrid_batches/random_batches.hpp"

namespace strobe {
namespace {

/// reads[v][u]: whether row v has column u at any step.
using Dense = std::vector<std::vector<bool>>;

Dense union_of(const PreparedGraph& graph) {
  Dense reads(static_cast<std::size_t>(graph.vertices), std::vector<bool>(graph.vertices));
  for (std::int64_t t = 0; t < graph.steps; ++t)
    for (std::int64_t v = 0; v < graph.vertices; ++v)
      for (const VertexId u : test::row_of(graph, v, t)) reads[v][u] = true;
  return reads;
}

std::set<VertexId> hop(const std::set<VertexId>& from, const Dense& reads) {
  std::set<VertexId> to = from;
  for (const VertexId v : from)
    for (std::size_t u = 0; u < reads.size(); ++u)
      if (reads[v][u]) to.insert(static_cast<VertexId>(u));
  return to;
}

std::vector<VertexId> owned_by(const std::vector<Rank>& owner, Rank rank) {
  std::vector<VertexId> owned;
  for (std::size_t v = 0; v < owner.size(); ++v)
    if (owner[v] == rank) owned.push_back(static_cast<VertexId>(v));
  return owned;
}

std::vector<Rank> drawn_owners(test::Draws& draw, int vertices, int ranks) {
  std::vector<Rank> owner;
  for (int v = 0; v < vertices; ++v) owner.push_back(draw.below(ranks));
  return owner;
}

std::vector<VertexId> held(const CachedVertices& rank) {
  std::vector<VertexId> all = rank.owned;
  all.insert(all.end(), rank.cached.begin(), rank.cached.end());
  std::sort(all.begin(), all.end());
  return all;
}

TEST(CachedVertices, AreWithinTheHopsOfTheUnionOfSteps) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    test::Draws draw(seed);
    const PreparedGraph graph = prepare(test::random_snapshots(draw, 60, 3, 1), {}, 3, true);
    const Dense reads = union_of(graph);
    const std::vector<Rank> owner = drawn_owners(draw, 60, 4);
    for (std::size_t hops = 0; hops <= 3; ++hops) {
      const BatchSource source{
          &graph, {}, std::vector<LayerReads>(hops, {true, {}, LayerReads::all_earlier, 0}), FrontierKind::exact};
      std::vector<CachedVertices> ranks;
      for (Rank rank = 0; rank < 4; ++rank) {
        const std::vector<VertexId> owned = owned_by(owner, rank);
        std::set<VertexId> near(owned.begin(), owned.end());
        for (std::size_t i = 0; i < hops; ++i) near = hop(near, reads);
        ranks.push_back(cached_vertices(source, owner, rank, {}, 3, 3));
        EXPECT_EQ(ranks.back().owned, owned);
        EXPECT_EQ(held(ranks.back()), std::vector<VertexId>(near.begin(), near.end()))
            << hops << " hops, seed " << seed;
        EXPECT_EQ(std::is_sorted(ranks.back().cached.begin(), ranks.back().cached.end()), true);
      }
      EXPECT_EQ(duplication(ranks, 60) > 1.0, hops > 0);
    }
  }
}

TEST(CachedVertices, CountsTheRowsThatBatchesMayRead) {
  // 0 reads 1 at step 0 and 2 at step 1; 1 reads 3 at step 1. Rank 0 owns 0 and, with two hops, keeps 1, 2 and 3. It
  // does not read the rows of the last hop.
  PreparedGraph graph;
  graph.vertices = 4;
  graph.steps = 2;
  graph.feature_width = 3;
  graph.row_offsets = {0, 1, 1, 1, 1, 2, 3, 3, 3};
  graph.columns = {1, 2, 3};
  graph.values32.assign(3, 1.0F);
  graph.features32.assign(24, 1.0F);
  const BatchSource source{&graph, {}, {{true, {}, 0, 0}, {true, {}, 0, 0}}, FrontierKind::exact};
  const CachedVertices made = cached_vertices(source, {0, 1, 1, 1}, 0, {}, 2, 2);
  EXPECT_EQ(made.cached, (std::vector<VertexId>{1, 2, 3}));
  EXPECT_EQ(made.owned_feature_bytes, 2u * 3 * 4);
  EXPECT_EQ(made.cached_feature_bytes, 3u * 2 * 3 * 4);
  EXPECT_EQ(made.owned_structure_bytes, 2u * 8 + 2 * 8);         // two row offsets and two entries
  EXPECT_EQ(made.cached_structure_bytes, 2u * (2 * 8) + 1 * 8);  // the rows of 1 and 2
  EXPECT_EQ(made.bytes(), 24u + 72 + 32 + 40);
}

LayerReads random_reads(test::Draws& draw) {
  if (draw.below(2) == 0) return {draw.below(2) == 0, {}, draw.below(2) == 0 ? 1 : LayerReads::all_earlier, 0};
  LayerReads by_step{false, {}, draw.below(3) == 0 ? 0 : LayerReads::all_earlier, 0};
  for (int i = 1 + draw.below(2); i > 0; --i)
    by_step.products.push_back(draw.below(3) == 0 ? std::vector{0, 1} : std::vector{draw.below(2)});
  return by_step;
}

TEST(CachedVertices, HoldWhatEveryBatchOfOwnVerticesReads) {
  int fields = 0, smaller = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    test::Draws draw(seed);
    const SnapshotGraph graph = test::random_snapshots(draw, 80, 4, 1);
    const PreparedGraph inputs = prepare(graph, {.precompute_first_product = false}, 4, true);
    const PreparedGraph out = prepare(graph, {.laplacian = false, .walk = "out"}, 4, true);
    const PreparedGraph in = prepare(graph, {.laplacian = false, .walk = "in"}, 4, true);
    BatchSource source{&inputs, {&out, &in}, {}, FrontierKind::exact};
    for (int layers = 1 + draw.below(2); layers > 0; --layers) source.layers.push_back(random_reads(draw));
    const std::vector<Rank> owner = drawn_owners(draw, 80, 20);
    const std::vector<VertexId> owned = owned_by(owner, 1), others = test::random_vertices(draw, draw.below(3), 80);
    if (owned.empty()) continue;
    const std::int64_t window = 1 + draw.below(3);
    const std::vector<VertexId> kept = held(cached_vertices(source, owner, 1, others, 4, window));
    BatchScratch scratch(80);
    for (std::int64_t first = 0; first + window <= 4; ++first) {
      const BatchCells cells{owned, {first, window}, std::vector(static_cast<std::size_t>(window), others)};
      const std::vector<VertexId> field = batch_frontier(source, cells, scratch).field;
      EXPECT_TRUE(std::includes(kept.begin(), kept.end(), field.begin(), field.end())) << "seed " << seed;
      ++fields;
    }
    if (kept.size() < 80) ++smaller;
  }
  EXPECT_GT(fields, 100);
  EXPECT_GT(smaller, 20) << "keeping everything holds everything";
}

TEST(CachedVertices, OtherVerticesAreThoseOfTheRanksSamples) {
  Samples samples;
  samples.arity = 2;
  samples.vertices = {0, 3, 1, 2, 2, 0, 5, 4, 3, 5};  // the fourth is a candidate of the first
  samples.step = {0, 0, 1, 0, 1};
  samples.label = {0, 0, 0, 0, 0};
  samples.candidate_of = {-1, -1, -1, 0, -1};
  const std::vector<Rank> owner = {0, 0, 1, 1, 1, 1};
  EXPECT_EQ(others_of(samples, owner, 0), (std::vector<VertexId>{2, 3, 4, 5}));
  EXPECT_EQ(others_of(samples, owner, 1), (std::vector<VertexId>{0}));
}

}  // namespace
}  // namespace strobe
