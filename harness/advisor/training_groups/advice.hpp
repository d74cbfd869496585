// DistTGL's rule beside an exhaustive simulation: for each place of a plan where groups of ranks can train a model of
// events, what the rule would choose there, and what that costs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/advisor/evaluate.hpp"
#include "harness/advisor/plan_advice.hpp"
#include "harness/advisor/training_groups/rule.hpp"
#include "harness/advisor/training_groups/rule_inputs.hpp"

namespace strobe {

/// The rule on so many ranks of a cluster, for one choice of everything but i, j, k and the batch.
struct GroupAdvice {
  std::string cluster;
  int nodes = 1;
  std::int64_t ranks = 1;
  std::vector<std::pair<std::string, std::string>> choices;  // of the search, without those of the rule
  GroupLimits limits;
  LargestBatch largest;
  Saturation saturation;
  std::vector<std::string> assumptions;  // how the limits came about, one sentence each
  GroupChoice choice;                    // without groups: `refusal` says why
  std::string refusal;
};

/// How the rule's configuration does beside all others on the same ranks.
struct AdviceOutcome {
  const PlanOutcome* rule = nullptr;            // whatever became of it; null where the rule chooses none
  const PlanOutcome* fastest = nullptr;         // null where none was simulated to its end
  const PlanOutcome* fastest_within = nullptr;  // of those whose batches are no larger than the largest one
  std::size_t simulated = 0;                    // configurations on these ranks
};

struct GroupPlanAdvice final : PlanAdvice {
  LossLimits limits;
  std::vector<GroupAdvice> places;  // in the order of the points

  /// Limits, and for each place the rule's choice and its cost; docs/plan.md describes the keys.
  Json to_json(const std::vector<PlanOutcome>& outcomes) const override;
  /// For each place the rule's choice next to the fastest ones; the rule's steps on the most ranks of each cluster.
  std::string text(const std::vector<PlanOutcome>& outcomes) const override;
};

/// Why the rule has nothing to say to this search: its model trains on snapshots or keeps no memory, no strategy trains
/// in groups, or the user has chosen the groups. "" when it has.
std::string rule_refusal(const PlanSpace& space, const std::vector<PlanPoint>& points);

/// Finds the rule's inputs and its choice for every place of the points. Where the user left the batch open, `points`
/// are replaced by the same ones with the rule's batch and with twice as many events. Simulates one GPU with some
/// batches per cluster. Throws InvalidRequest, Interrupted.
GroupPlanAdvice advise_groups(const PlanSpace& space, const LossLimits& limits, std::vector<PlanPoint>& points,
                              const DataCache& cache = {});

/// Events of a batch of all i ranks of a point whose strategy trains in groups.
std::int64_t whole_batch_of(const PlanPoint& point);

/// Where the place's configurations stand among the outcomes of the plan.
AdviceOutcome outcome_of(const GroupAdvice& advice, const std::vector<PlanOutcome>& outcomes);

}  // namespace strobe
