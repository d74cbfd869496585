// DistTGL's rule: its worked example, the paper's configurations, and every constraint by trying all i x j x k. Its
// inputs are compared with their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/random.hpp"
#include "harness/advisor/training_groups/rule.hpp"
#include "harness/advisor/training_groups/rule_inputs.hpp"

namespace strobe {
namespace {

std::vector<std::int64_t> as_list(const GroupChoice& choice) {
  return {choice.groups->i, choice.groups->j, choice.groups->k, choice.local_batch};
}

TEST(TrainingGroupsRule, IsThePapersWorkedExample) {
  const GroupChoice choice = choose_groups({3200, 1600, 4, 8, 2});
  EXPECT_EQ(as_list(choice), (std::vector<std::int64_t>{2, 2, 8, 1600}));
  ASSERT_EQ(choice.why.size(), 4u);
  EXPECT_EQ(choice.why[0], "batch = 1600: it saturates a GPU");
  EXPECT_EQ(choice.why[1], "i = 2: the largest batch, 3200, has 2 whole parts of 1600");
  EXPECT_EQ(
      choice.why[2],
      "k = 8: memory parallelism converges best, and 4 machines with 8 GPUs leave room for 16 copies, but a host's "
      "memory holds 2 each");
  EXPECT_EQ(choice.why[3], "j = 2: 32 ranks / (i x k = 2 x 8)");
}

/// The configurations that the paper calls optimal (section 4.2 and Fig. 12; decisions 7.1).
TEST(TrainingGroupsRule, GivesWhatThePaperTrainedWith) {
  const std::int64_t small = 600, gdelt = 3200;
  for (const std::int64_t machines : {1, 2, 4})
    EXPECT_EQ(as_list(choose_groups({small, small, machines, 8, {}})),
              (std::vector<std::int64_t>{1, 1, 8 * machines, small}));
  EXPECT_EQ(as_list(choose_groups({8 * gdelt, gdelt, 1, 8, {}})), (std::vector<std::int64_t>{8, 1, 1, gdelt}));
  EXPECT_EQ(as_list(choose_groups({8 * gdelt, gdelt, 4, 8, {}})), (std::vector<std::int64_t>{8, 1, 4, gdelt}));
}

/// Among groups that keep every constraint, those with the largest i, then the largest k; i = 0 when there are none.
TrainingGroups best_of_all(const GroupLimits& limits) {
  const std::int64_t p = limits.machines, q = limits.gpus,
                     local = std::min(limits.saturating_batch, limits.largest_batch);
  TrainingGroups best{0, 0, 0};
  for (std::int64_t i = 1; i <= p * q; ++i) {
    for (std::int64_t j = 1; i * j <= p * q; ++j) {
      for (std::int64_t k = 1; i * j * k <= p * q; ++k) {
        if (i * j * k != p * q || i * local > limits.largest_batch) continue;
        if (k < p || k % p != 0 || (p * q / i) % k != 0 || (limits.copies && k > p * *limits.copies)) continue;
        bool within = true;  // no group of i x j consecutive ranks lies on two machines
        for (std::int64_t m = 0; m < k; ++m) within = within && m * i * j / q == ((m + 1) * i * j - 1) / q;
        if (within && (i > best.i || (i == best.i && k > best.k))) best = {i, j, k};
      }
    }
  }
  return best;
}

TEST(TrainingGroupsRule, KeepsEveryConstraintAndTakesTheMostOfIThenOfK) {
  const RandomStream random(3, random_purpose::test);
  std::uint64_t draw = 0;
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random.below(draw++, n)); };
  std::set<std::vector<std::int64_t>> seen;
  for (std::int64_t p = 1; p <= 5; ++p) {
    for (std::int64_t q = 1; q <= 16; ++q) {
      for (int n = 0; n < 25; ++n) {
        GroupLimits limits{1 + below(5000), 1 + below(1500), p, q, {}};
        if (n % 3 != 0) limits.copies = 1 + below(9);
        const TrainingGroups expected = best_of_all(limits);
        if (expected.i == 0) {  // not even i = 1 keeps whole groups within a machine: never
          ADD_FAILURE() << p << " " << q;
          continue;
        }
        const GroupChoice choice = choose_groups(limits);
        const std::vector<std::int64_t> wanted{expected.i, expected.j, expected.k, local_batch_of(limits)};
        ASSERT_EQ(as_list(choice), wanted) << p << " x " << q << ", " << limits.largest_batch << " / "
                                           << limits.saturating_batch << ", c " << limits.copies.value_or(-1);
        EXPECT_EQ(choice.groups->ranks(), p * q);
        seen.insert(wanted);
      }
    }
  }
  EXPECT_GT(seen.size(), 300u);
}

TEST(TrainingGroupsRule, UnevenNumbersSayWhatTheyBecome) {
  // 7 parts of 100 fit, and 6 GPUs share them. A machine of two holds 2 copies, although 6 / 1 = 6 would fit.
  const GroupChoice parts = choose_groups({750, 100, 1, 6, 4});
  EXPECT_EQ(as_list(parts), (std::vector<std::int64_t>{6, 1, 1, 100}));
  EXPECT_NE(parts.why[1].find("7 whole parts of 100, and 6 is the largest number up to that which divides the 6 GPUs"),
            std::string::npos)
      << parts.why[1];
  const GroupChoice copies = choose_groups({100, 100, 2, 6, 5});
  EXPECT_EQ(as_list(copies), (std::vector<std::int64_t>{1, 2, 6, 100}));
  EXPECT_NE(copies.why[2].find("holds 5 each, and 3 is the largest number up to that which divides 6"), std::string::npos)
      << copies.why[2];
  const GroupChoice smaller = choose_groups({400, 1600, 1, 8, {}});
  EXPECT_EQ(as_list(smaller), (std::vector<std::int64_t>{1, 1, 8, 400}));
  EXPECT_EQ(smaller.why[0], "batch = 400: the largest allowed, below the 1600 that saturate a GPU");
  EXPECT_NE(smaller.why[2].find("is not known"), std::string::npos);
  const GroupChoice none = choose_groups({400, 400, 2, 8, 0});
  EXPECT_FALSE(none.groups.has_value());
  EXPECT_NE(none.why.back().find("not hold one copy"), std::string::npos);
}

// Inputs ---------------------------------------------------------------------------------------------------------

/// A graph with self-loops, in which some vertices have far more events than others.
std::shared_ptr<const EventGraph> skewed_events(std::uint64_t seed, int count, std::uint64_t vertices) {
  const RandomStream random(seed, random_purpose::test);
  auto graph = std::make_shared<EventGraph>();
  graph->vertices = static_cast<std::int64_t>(vertices);
  std::vector<VertexId> source, target;
  std::vector<double> time;
  for (int e = 0; e < count; ++e) {
    const std::uint64_t n = 3 * e;
    source.push_back(static_cast<VertexId>(random.below(n, 1 + random.below(n + 1, vertices))));
    target.push_back(static_cast<VertexId>(random.below(n + 2, vertices)));
    time.push_back(e);
  }
  graph->source = std::move(source), graph->target = std::move(target), graph->time = std::move(time);
  return graph;
}

TEST(TrainingGroupsInputs, MissingSharesAreThoseOfTheirDefinition) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto graph = skewed_events(seed, 400, 120 + 60 * seed);
    const EdgeId events = 300;
    std::map<VertexId, std::int64_t> mails;
    for (std::size_t e = 0; e < static_cast<std::size_t>(events); ++e)
      for (const VertexId v : std::set<VertexId>{graph->source[e], graph->target[e]}) ++mails[v];
    std::vector<std::pair<std::int64_t, VertexId>> order;
    for (const auto& [v, count] : mails) order.emplace_back(-count, v);
    std::sort(order.begin(), order.end());
    const auto hubs = static_cast<std::size_t>(std::ceil(0.01 * static_cast<double>(order.size())));
    const CapturedEvents captured(graph, events);
    for (const std::int64_t batch : {1, 7, 60, 299, 300}) {
      std::map<VertexId, std::set<std::int64_t>> batches;  // that have the vertex
      for (std::size_t e = 0; e < static_cast<std::size_t>(events); ++e)
        for (const VertexId v : {graph->source[e], graph->target[e]})
          batches[v].insert(static_cast<std::int64_t>(e) / batch);
      double sent = 0, kept = 0, hub_sent = 0, hub_kept = 0;
      for (std::size_t n = 0; n < order.size(); ++n) {
        const double own = static_cast<double>(-order[n].first),
                     left = static_cast<double>(batches[order[n].second].size());
        sent += own, kept += left;
        if (n < hubs) hub_sent += own, hub_kept += left;
      }
      const BatchLoss loss = captured.loss(batch);
      EXPECT_NEAR(loss.missing_share, 1 - kept / sent, 1e-12) << batch;
      EXPECT_NEAR(loss.hub_missing_share, 1 - hub_kept / hub_sent, 1e-12) << batch;
    }
    EXPECT_EQ(captured.loss(1).missing_share, 0);
  }
}

TEST(TrainingGroupsInputs, BatchesOfWholeSmallerOnesCaptureNoMoreAndTheLargestWithinLimitsIsFound) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const CapturedEvents captured(skewed_events(seed, 900, 80), 900);
    for (const std::int64_t start : {3, 8, 12, 50}) {
      std::vector<std::int64_t> ladder;
      for (std::int64_t batch = start; batch <= 900; batch *= 2) ladder.push_back(batch);
      for (std::size_t n = 1; n < ladder.size(); ++n) {
        EXPECT_GE(captured.loss(ladder[n]).missing_share, captured.loss(ladder[n - 1]).missing_share);
        EXPECT_GE(captured.loss(ladder[n]).hub_missing_share, captured.loss(ladder[n - 1]).hub_missing_share);
      }
      for (std::int64_t batch = start; batch % 2 == 0; batch /= 2) ladder.insert(ladder.begin(), batch / 2);
      for (const double most : {0.01, 0.2, 0.4, 0.6, 1.0}) {
        for (const std::optional<double> hubs : {std::optional<double>(), std::optional<double>(0.5)}) {
          const LossLimits limits{most, hubs};
          for (const bool smaller : {true, false}) {
            std::int64_t expected = 0;
            for (const std::int64_t batch : ladder) {
              if ((smaller || batch >= start) && limits.allow(captured.loss(batch))) expected = batch;
            }
            const LargestBatch found = largest_batch(captured, limits, start, smaller);
            EXPECT_EQ(found.allowed, expected > 0);
            EXPECT_EQ(found.batch, expected > 0 ? expected : smaller ? ladder.front() : start);
            EXPECT_TRUE(std::is_sorted(found.tried.begin(), found.tried.end(),
                                       [](const BatchLoss& a, const BatchLoss& b) { return a.batch < b.batch; }));
          }
        }
      }
    }
  }
}

TEST(TrainingGroupsInputs, AGpuIsSaturatedWhereADoublingGainsLessThanATenth) {
  std::vector<std::int64_t> asked;
  const auto saturating = [&](double fixed, std::int64_t too_large) {
    return [&asked, fixed, too_large](std::int64_t batch) -> BatchRate {
      asked.push_back(batch);
      if (batch >= too_large) return {batch, 0, "rank 0 needs more memory"};
      return {batch, static_cast<double>(batch) / (fixed + static_cast<double>(batch)), ""};
    };
  };
  // Doubling b improves the rate b / (f + b) by (2 f + 2 b) / (f + 2 b), which is below 1.1 from b = 4.5 f on.
  const std::vector<std::int64_t> batches = {100, 200, 400, 800, 1600, 3200};
  EXPECT_EQ(find_saturation(batches, saturating(100, 1 << 20)).batch, 800) << "450 is the limit";
  EXPECT_EQ(asked.back(), 1600) << "larger batches are not simulated";
  EXPECT_EQ(find_saturation(batches, saturating(1e6, 1 << 20)).batch, 3200);
  const Saturation full = find_saturation(batches, saturating(1e6, 800));
  EXPECT_EQ(full.batch, 400);
  EXPECT_NE(full.why.find("a batch of 800 cannot be simulated: rank 0 needs more memory"), std::string::npos)
      << full.why;
  EXPECT_EQ(find_saturation(batches, saturating(1, 50)).batch, 0);
  // Three times the batch is log2(3) doublings, so the gain must be 1.1 to that power, 1.163.
  const auto steps = [](double gain) {
    return [gain](std::int64_t batch) -> BatchRate { return {batch, batch == 100 ? 1 : gain, ""}; };
  };
  EXPECT_EQ(find_saturation({100, 300}, steps(1.16)).batch, 100);
  EXPECT_EQ(find_saturation({100, 300}, steps(1.17)).batch, 300);
}

TEST(TrainingGroupsInputs, ACopyTakesMemoryMailsAndItsChannels) {
  MemoryShape shape;
  shape.vertices = 1000, shape.width = 10, shape.values = false;
  shape.read_rows = 300, shape.write_rows = 40;
  const std::uint64_t row = 3 * 10 * 4, header = sizeof(MemoryRequestHeader);
  const auto by_hand = [&](std::uint64_t i, std::uint64_t j) {
    const std::uint64_t leader = header + 2 * 1000 * row,  // everything there and back
        read = header + 300 * 8 + 300 * row, write = header + 40 * 8 + 40 * row;
    return 1000 * row + leader + i * j * (j * read + write);
  };
  EXPECT_EQ(bytes_of_copy({1, 1, 8}, shape), by_hand(1, 1));
  EXPECT_EQ(bytes_of_copy({2, 4, 1}, shape), by_hand(2, 4));
  for (const std::int64_t i : {1, 2, 3, 12}) {
    for (std::uint64_t host = 100000; host < 8000000; host += 77777) {
      std::int64_t most = 0;
      for (std::int64_t copies = 1; copies <= 12 / i; ++copies) {
        if (12 / i % copies != 0) continue;
        const std::uint64_t j = 12 / i / copies;
        if (5000 + static_cast<std::uint64_t>(copies) * by_hand(static_cast<std::uint64_t>(i), j) <= host)
          most = copies;
      }
      EXPECT_EQ(copies_within(host, 5000, shape, i, 12), most) << i << " " << host;
    }
  }
}

}  // namespace
}  // namespace strobe
