// The effect of a policy of staleness on a plan: which exchanges it covers, what they send, and what they keep.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "harness/full_batch/plan/block_plan.hpp"
#include "harness/full_batch/plan/model_plan.hpp"
#include "harness/schedule/schedule.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// An exchange of rows that a layer repeats in every epoch.
struct CoveredExchange {
  const ExchangePlan* plan = nullptr;
  std::size_t layer = 0;
  std::string what;  // "" for the spatial halo; earlier, state1, state2, ...
  std::int64_t width = 0;
  Traffic traffic = Traffic::halo;
  bool constant = false;  // the same values in every epoch
};

/// The exchanges of a block that a policy covers, layer by layer: spatial and temporal halos, and hand-overs of states
/// within the block. Left out are exchanges that move nothing, and those for which saying which rows come would take
/// the bytes of all rows, there and back (StaleExchange::added_bytes).
std::vector<CoveredExchange> covered_exchanges(const ModelPlan& model, const BlockPlan& block);

/// Traffic of exchanges that may leave rows out: bytes in an epoch, all ranks together.
struct StaleTraffic {
  PerTraffic<std::uint64_t> exact{};   // their bytes if they sent all rows
  PerTraffic<std::uint64_t> beside{};  // of other exchanges with the same kinds of traffic
};

/// The plan of a policy. Two kinds of exchanges always send all rows: halos of samples, before the task's head, and
/// states that cross a block's border.
struct StalePlan {
  static constexpr const char* layout_name = "stale.layout";  // name in a checkpoint

  bool active = false;        // whether any exchange is covered
  bool approximates = false;  // whether any covered exchange carries more than constant inputs
  StaleTraffic traffic;
  /// Bytes that all ranks together send in the first epoch, by traffic, and at most in each later one.
  PerTraffic<std::uint64_t> first_epoch{}, at_most{};
  /// A digest of who owns which cell in which block: numbers below 2^16. Empty if ranks keep no rows of each other from
  /// epoch to epoch, neither stale rows nor states of the previous epoch.
  std::vector<double> layout;

  /// Throws InvalidRequest("--resume-training", ...) if the state keeps rows of another layout.
  void check_start(const TrainingState& state) const;
};

/// The plan of the policy of `strategy`. `exact_bytes` are those of an epoch that sends all rows. Adds a note if there
/// is nothing to cover, or if the share of sent rows is assumed. Throws InvalidRequest if the case has options that
/// stale rows do not support.
StalePlan plan_staleness(const FullBatchCase& c, const StrategyPlan& strategy, const std::vector<BlockPlan>& blocks,
                         const PerTraffic<std::uint64_t>& exact_bytes, std::vector<std::string>& notes);

}  // namespace strobe
