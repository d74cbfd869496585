// Samples of batches: when batches divide the vertices, every sample is in one batch. layered_batch_test.cpp checks
// that the rows of samples are the cells that they name.
#include "harness/hybrid_batches/sampling/batch_samples.hpp"

#include <gtest/gtest.h>

#include "tests/harness/hybrid_batches/random_batches.hpp"

namespace strobe {
namespace {

/// Samples of `arity` vertices in no order of steps. Every fourth is ranked among the two after it, which have another
/// first vertex.
Samples drawn_samples(test::Draws& draw, int arity, int count, int vertices, int steps, bool ranked) {
  Samples samples;
  samples.arity = arity;
  for (int i = 0; i < count; ++i) {
    const bool candidate = ranked && i % 4 >= 1 && i % 4 <= 2;
    samples.step.push_back(candidate ? samples.step[i - i % 4] : draw.below(steps));
    for (int k = 0; k < arity; ++k) samples.vertices.push_back(draw.below(vertices));
    samples.label.push_back(i % 3);
    samples.value.push_back(i / 8.0);
    samples.weight.push_back(1 + i % 2);
    if (ranked) samples.candidate_of.push_back(candidate ? i - i % 4 : -1);
  }
  return samples;
}

std::size_t first_of(const Samples& samples, std::size_t i) {
  const bool candidate = !samples.candidate_of.empty() && samples.candidate_of[i] >= 0;
  return candidate ? static_cast<std::size_t>(samples.candidate_of[i]) : i;
}

VertexId vertex(const Samples& samples, std::size_t i, int k) {
  return samples.vertices[i * static_cast<std::size_t>(samples.arity) + static_cast<std::size_t>(k)];
}

TEST(BatchSamples, AreThoseOfTheTargets) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    test::Draws draw(seed);
    const int vertices = 5 + draw.below(60), steps = 4;
    const Samples samples = drawn_samples(draw, 1 + draw.below(3), 80, vertices, steps + 2, seed % 2 == 0);
    const SampleIndex index = index_samples(samples, steps);
    for (const int count : {1, 2, vertices / 2, vertices}) {
      const std::vector<VertexId> targets = test::random_vertices(draw, count, vertices);
      const strobe::Run window{draw.below(2), 1 + draw.below(3)};
      std::vector<std::int64_t> judge;
      for (std::size_t i = 0; i < samples.step.size(); ++i) {
        const bool here = samples.step[i] >= window.first && samples.step[i] < window.first + window.count;
        if (here && std::binary_search(targets.begin(), targets.end(), vertex(samples, first_of(samples, i), 0)))
          judge.push_back(static_cast<std::int64_t>(i));
      }
      EXPECT_EQ(samples_of(index, targets, window), judge) << "seed " << seed << ", " << count << " targets";
    }
  }
}

TEST(BatchSamples, OfSharedOutVerticesAreEachInOneBatch) {
  test::Draws draw(5);
  const Samples samples = drawn_samples(draw, 2, 500, 40, 6, true);
  const SampleIndex index = index_samples(samples, 6);
  std::vector<int> times(500);
  std::vector<Rank> owner;
  for (VertexId v = 0; v < 40; ++v) owner.push_back(v % 3);
  for (const strobe::Run window : {strobe::Run{0, 2}, strobe::Run{2, 1}, strobe::Run{3, 3}}) {
    for (int rank = 0; rank < 3; ++rank) {
      std::vector<VertexId> owned;
      for (VertexId v = rank; v < 40; v += 3) owned.push_back(v);
      const std::vector<std::int64_t> own = samples_of(index, owned, window);
      EXPECT_EQ(samples_of(of_rank(index, owner, rank), owned, window), own);
      for (const std::int64_t i : own) ++times[i];
    }
  }
  EXPECT_EQ(times, std::vector<int>(500, 1));
}

}  // namespace
}  // namespace strobe
