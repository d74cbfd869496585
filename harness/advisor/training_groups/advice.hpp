// Compares DistTGL's rule with an exhaustive simulation. For each place of a plan where groups of ranks can train a
// model of events, it gives the rule's choice there and its cost.
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

/// The rule on some ranks of a cluster, for one choice of everything except i, j, k and the batch.
struct GroupAdvice {
  std::string cluster;
  int nodes = 1;
  std::int64_t ranks = 1;
  std::vector<std::pair<std::string, std::string>> choices;  // choices of the search, without those of the rule
  GroupLimits limits;
  LargestBatch largest;
  Saturation saturation;
  std::vector<std::string> assumptions;  // the derivation of the limits, one sentence each
  GroupChoice choice;                    // without groups if `refusal` gives a reason
  std::string refusal;
};

/// The rule's configuration compared with all others on the same ranks.
struct AdviceOutcome {
  const PlanOutcome* rule = nullptr;            // with any status; null if the rule chooses no configuration
  const PlanOutcome* fastest = nullptr;         // null if no simulation finished
  const PlanOutcome* fastest_within = nullptr;  // among those with batches no larger than the largest one
  std::size_t simulated = 0;                    // configurations on these ranks
};

struct GroupPlanAdvice final : PlanAdvice {
  LossLimits limits;
  std::vector<GroupAdvice> places;  // in the order of the points

  /// Limits, and for each place the rule's choice and its cost; docs/reference/plan_json.md describes the keys.
  Json to_json(const std::vector<PlanOutcome>& outcomes) const override;
  /// For each place the rule's choice next to the fastest ones; the rule's steps on the most ranks of each cluster.
  std::string text(const std::vector<PlanOutcome>& outcomes) const override;
};

/// The reason why the rule does not apply to this search; "" when it applies. The model trains on snapshots or keeps no
/// memory, no strategy trains in groups, or the user has chosen the groups.
std::string rule_refusal(const PlanSpace& space, const std::vector<PlanPoint>& points);

/// Finds the rule's inputs and its choice for every place of the points. If the user left the batch open, `points` are
/// replaced by the same ones with the rule's batch and with twice that. Simulates one GPU per cluster with several
/// batches. Throws InvalidRequest, Interrupted.
GroupPlanAdvice advise_groups(const PlanSpace& space, const LossLimits& limits, std::vector<PlanPoint>& points,
                              const DataCache& cache = {});

/// Events in a batch of all i ranks of a point whose strategy trains in groups.
std::int64_t whole_batch_of(const PlanPoint& point);

/// The place's configurations among the outcomes of the plan.
AdviceOutcome outcome_of(const GroupAdvice& advice, const std::vector<PlanOutcome>& outcomes);

}  // namespace strobe
