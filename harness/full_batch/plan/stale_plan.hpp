// What a policy of staleness means for a plan: which exchanges it covers, what they send, and what they keep.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "harness/full_batch/plan/block_plan.hpp"
#include "harness/schedule/schedule.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// An exchange of rows that a layer makes anew in every epoch.
struct CoveredExchange {
  const ExchangePlan* plan = nullptr;
  std::size_t layer = 0;
  std::string what;  // "" for the spatial halo; earlier, state1, state2, ...
  std::int64_t width = 0;
  Traffic traffic = Traffic::halo;
  bool constant = false;  // the same values in every epoch
};

/// The exchanges of a block that a policy covers, layer by layer, but for those that move nothing: spatial and temporal
/// halos, and states that are handed over within the block.
std::vector<CoveredExchange> covered_exchanges(const std::vector<LayerShape>& layers, const BlockPlan& block);

/// Traffic of exchanges that do not send all of their rows in every epoch: bytes in an epoch, all ranks together.
struct StaleTraffic {
  std::array<std::uint64_t, traffic_count> exact{};   // what they would send if they sent all
  std::array<std::uint64_t, traffic_count> beside{};  // what others send of the same kinds of traffic, in every epoch
};

/// What a policy comes to. Halos of samples, in front of the task's head, and states that cross a block's border always
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

  /// Throws InvalidRequest("--resume-training", ...) where the state keeps rows of another layout.
  void check_start(const TrainingState& state) const;
};

/// The plan of the policy of `strategy`. `exact_bytes` are those of an epoch that sends all rows. Adds a note where
/// there is nothing to cover, or where the share of rows that are sent is assumed. Throws InvalidRequest where the case
/// asks for what does not go together with stale rows.
StalePlan plan_staleness(const FullBatchCase& c, const StrategyPlan& strategy, const std::vector<BlockPlan>& blocks,
                         const std::array<std::uint64_t, traffic_count>& exact_bytes, std::vector<std::string>& notes);

}  // namespace strobe
