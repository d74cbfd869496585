// Keeps the plans of a suite's cases. All cases are planned before the first one is measured, to check them; the same
// plans are then run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/data_cache.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/host_memory.hpp"

namespace strobe {

class KeptPlans {
 public:
  /// Keeps plans of up to `most_bytes` in total (PlanSummary::kept_bytes). A plan that does not fit is made again
  /// whenever it is requested. All processes need the same limit, because a partitioner may be a collective call.
  /// `node` is the cache's.
  explicit KeptPlans(std::uint64_t most_bytes, std::shared_ptr<const NodeStore> node = nullptr, NodeRanks here = {})
      : most_bytes_(most_bytes), here_(std::move(here)), cache_(std::move(node)) {}
  /// Takes the limit from $STROBE_KEPT_PLANS_GIB, or 4 GiB without it. Throws InvalidRequest unless it is a number >=
  /// 0.
  explicit KeptPlans(std::shared_ptr<const NodeStore> node = nullptr, NodeRanks here = {});

  /// Throws as make_plan, and as check_host_memory, which it calls once for a case. A case with a limit of host memory
  /// is planned without any other plan in memory, so only its own is kept.
  std::shared_ptr<const PlannedCase> get(const Case& c);
  /// Like `get`, and drops the plan from the store. For a case with a limit, it drops all plans.
  std::shared_ptr<const PlannedCase> take(const Case& c);
  /// Checks a plan that takes the place of the one from `take`, after an epoch that measured it. Throws as
  /// check_host_memory. Returns it with the note of the bytes that it is planned to take.
  std::shared_ptr<const PlannedCase> checked(const std::shared_ptr<const PlannedCase>& measured) const;
  /// Call this when every case was requested. Drops the data that only planning reads, unless a plan did not fit: it
  /// would read them again.
  void forget_data();

 private:
  /// Findings about a case that was planned.
  struct Checked {
    std::optional<TrainingMemory> memory;  // of check_host_memory; nothing until it had room
    std::string measuring;                 // the end of its note, of check_measuring_epoch; "" without such an epoch
    double load_seconds = 0;               // of the plan that took longest, which read the data
  };

  void check(const Case& c, const PlannedCase& plan, double planning_bytes, Checked& checked) const;
  double measured_bytes(const Case& c, std::uint64_t (*look)()) const;
  void drop_plans();

  std::uint64_t most_bytes_, bytes_ = 0;
  bool all_fit_ = true;
  NodeRanks here_;
  DataCache cache_;                                                  // data that the plans share
  std::map<std::string, std::shared_ptr<const PlannedCase>> plans_;  // by the case's JSON
  std::map<std::string, Checked> checked_;                           // by the same keys
};

}  // namespace strobe
