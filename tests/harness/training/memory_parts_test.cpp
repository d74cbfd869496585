// The parts of accounted memory: against a plain count of random allocations, and as planned under every strategy.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "backends/shapes_device.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/planned_peak.hpp"
#include "tests/full_batch_strategies.hpp"

namespace strobe {
namespace {

using PartBytes = PerMemoryPart<std::uint64_t>;

std::uint64_t total(const PartBytes& parts) { return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}); }

/// Random allocations in random scopes, counted again from the list of what is alive.
class RandomScopes {
 public:
  explicit RandomScopes(unsigned seed) : random_(seed) {}

  void step(int depth = 0) {
    const int what = pick(4);
    if (what == 0 && depth < 4) {
      const auto part = static_cast<MemoryPart>(pick(memory_part_count));
      const MemoryPart before = std::exchange(part_, part);
      {
        const PartScope scope(device, part);
        for (int i = pick(5); i > 0; --i) step(depth + 1);
      }
      part_ = before;
    } else if (what == 1 && !alive_.empty()) {
      alive_.erase(alive_.begin() + pick(static_cast<int>(alive_.size())));
    } else if (pick(5) == 0) {
      keep(device.allocate_host(static_cast<std::uint64_t>(pick(5000))));
    } else {
      keep(device.allocate(pick(50), pick(20), ElementType::f64));
    }
  }

  ShapesDevice device{DeviceRequest{}};
  PartBytes peak{};

 private:
  struct Alive {
    MemoryPart part;
    std::uint64_t bytes;
    std::shared_ptr<void> keeper;
  };
  template <class Memory>
  void keep(Memory memory) {
    alive_.push_back({part_, memory.bytes(), std::make_shared<Memory>(std::move(memory))});
    PartBytes now{};
    for (const Alive& one : alive_) now[one.part] += one.bytes;
    if (total(now) > total(peak)) peak = now;
  }
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  std::mt19937 random_;
  MemoryPart part_ = MemoryPart::state;
  std::vector<Alive> alive_;
};

TEST(MemoryParts, OfThePeakAreThoseOfWhatWasAliveThen) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    RandomScopes scopes(seed);
    for (int i = 0; i < 500; ++i) {
      scopes.step();
      ASSERT_EQ(scopes.device.peak_parts(), scopes.peak) << seed << " step " << i;
      ASSERT_EQ(scopes.device.peak_bytes(), total(scopes.peak)) << seed << " step " << i;
    }
    scopes.device.reset_peak();
    EXPECT_EQ(scopes.device.peak_bytes(), scopes.device.live_bytes());
    EXPECT_EQ(total(scopes.device.peak_parts()), scopes.device.live_bytes());
  }
}

Json request_of(const std::string& strategy, const std::string& model) {
  return {{"workload", {{"name", "uniform"}, {"steps", 9}, {"vertices", 80}, {"density", 3}}},
          {"model", {{"name", model}}},
          {"strategy", {{"name", strategy}}},
          {"ranks", strategy == "sequential" ? 1 : 3},
          {"epochs", 2}};
}

TEST(MemoryParts, ArePlannedToTheByteUnderEveryStrategy) {
  for (const std::string& strategy : test::full_batch_strategies()) {
    if (strategy == "test-empty-rank") continue;  // other tests register it
    for (const std::string model : {"t-gcn", "evolve-gcn-o"}) {
      const Case c = case_from_json(request_of(strategy, model), "");
      const PlannedPeak planned = planned_peak(*make_plan(c));
      const CaseResult result = run_case(c);
      ASSERT_EQ(result.status, "ok") << strategy << model << ": " << result.reason;
      std::vector<PartBytes> measured(planned.parts.size());
      for (const EpochSample& sample : result.samples) {
        EXPECT_EQ(total(sample.memory_parts), sample.peak_host_bytes) << strategy << model;
        PartBytes& most = measured.at(static_cast<std::size_t>(sample.rank));
        if (total(sample.memory_parts) > total(most)) most = sample.memory_parts;
      }
      EXPECT_EQ(measured, planned.parts) << strategy << model;
      const bool moves_rows = result.planned_bytes.at("halo").get<std::uint64_t>() +
                                  result.planned_bytes.at("redistribute").get<std::uint64_t>() >
                              0;
      for (const PartBytes& parts : measured) {
        for (const MemoryPart part : {MemoryPart::state, MemoryPart::graph, MemoryPart::features, MemoryPart::samples})
          EXPECT_GT(parts[part], 0u) << strategy << model << memory_part_names[part];
        if (c.ranks == 1) {
          EXPECT_EQ(parts[MemoryPart::buffers], 0u) << strategy << model;
        }
        if (moves_rows) {
          EXPECT_GT(parts[MemoryPart::buffers], 0u) << strategy << model;
        }
      }
    }
  }
}

/// An epoch of four ranks is a quarter of a sweep for each of them, so each epoch has other batches.
TEST(MemoryParts, OfSmallEventBatchesArePlannedWithinFivePercent) {
  for (int seed = 1; seed <= 3; ++seed) {
    const Case c = case_from_json({{"workload", {{"name", "bursty_events"}, {"vertices", 200}, {"events", 4000}}},
                                   {"model", {{"name", "tgn-attn"}}},
                                   {"strategy", {{"name", "event_batch"}, {"batch", 20}}},
                                   {"seed", seed},
                                   {"ranks", 4},
                                   {"warmup", 0},
                                   {"epochs", 4}},
                                  "");
    const PlannedPeak planned = planned_peak(*make_plan(c));
    const CaseResult result = run_case(c);
    ASSERT_EQ(result.status, "ok") << result.reason;
    std::vector<PartBytes> measured(planned.parts.size());
    for (const EpochSample& sample : result.samples) {
      PartBytes& most = measured.at(static_cast<std::size_t>(sample.rank));
      if (total(sample.memory_parts) > total(most)) most = sample.memory_parts;
    }
    for (std::size_t rank = 0; rank < measured.size(); ++rank) {
      for (std::size_t part = 0; part < measured[rank].size(); ++part) {
        const auto bytes = static_cast<double>(measured[rank][part]);
        EXPECT_NEAR(static_cast<double>(planned.parts[rank][part]), bytes, 0.05 * bytes)
            << "seed " << seed << ", rank " << rank << ", " << memory_part_names[part];
      }
    }
  }
}

}  // namespace
}  // namespace strobe
