// What a policy of staleness means for a plan: which exchanges it covers, what they send, and what they keep.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "harness/plan/block_plan.hpp"
#include "harness/plan/schedule.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// The policy covers the halos of layers that read neighbours. Halos of samples, in front of the task's head, always
/// send all rows.
struct StalePlan {
  static constexpr const char* layout_name = "stale.layout";  // in a checkpoint

  bool active = false;        // whether any exchange is covered
  bool approximates = false;  // and whether what it carries ever moves: constant inputs are the same when they are kept
  StaleTraffic traffic;
  /// Bytes that all ranks together send in the first epoch, by traffic, and at most in each of the others.
  std::array<std::uint64_t, traffic_count> first_epoch{}, at_most{};
  /// Stands for who owns which cell in which block: numbers below 2^16.
  std::vector<double> layout;

  bool covers(const LayerShape& layer, const ExchangePlan& halo) const {
    return active && layer.reads_neighbours && !halo.identity;
  }
  /// Throws InvalidRequest("--resume-training", ...) where the state keeps rows of another layout.
  void check_start(const TrainingState& state) const;
};

/// The plan of the policy of `strategy`. `exact_bytes` are those of an epoch that sends all rows. Adds a note where
/// there is nothing to cover, or where the share of rows that are sent is assumed. Throws InvalidRequest where the case
/// asks for what does not go together with stale rows.
StalePlan plan_staleness(const FullBatchCase& c, const StrategyPlan& strategy, const std::vector<BlockPlan>& blocks,
                         const std::array<std::uint64_t, traffic_count>& exact_bytes, std::vector<std::string>& notes);

}  // namespace strobe
