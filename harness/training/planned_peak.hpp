// The peak device memory of a plan, known before it runs.
#pragma once

#include <optional>
#include <vector>

#include "backends/memory_part.hpp"
#include "harness/schedule/planned_case.hpp"
#include "workloads/partitioners/share_holders.hpp"

namespace strobe {

struct PlannedPeak {
  std::uint64_t bytes = 0;                          // of the rank that needs most
  std::vector<PerMemoryPart<std::uint64_t>> parts;  // [ranks] at the peak of each; they add up to it
  /// [ranks] Bytes of the spans that each rank keeps on the host; empty if the plan holds a single rank.
  std::vector<double> span_bytes;
  std::uint64_t limit_bytes = 0;  // the memory that a rank's device has for tensors; 0 = no limit

  bool fits() const { return limit_bytes == 0 || bytes <= limit_bytes; }
};

/// The processes that plan a case together; one where only this process plans it. Their gatherings pair up only if all
/// get that far, so they do work that may fail by `ShareHolders::together`.
ShareHolders planning_processes(const Case& request, PlanUse use);

/// Peak of accounted device memory over the ranks of `plan`. Each rank in turn runs the shape-only program of two
/// epochs, with their updates and metrics, on a device that only accounts. If the plan holds a single rank, each
/// process runs its own, and all processes must call this. The result is exact wherever that program is (law 1). It
/// leaves out the communicator's buffers. Cost: O(operations). Devices that store matrices in value-dependent forms
/// also construct these forms.
PlannedPeak planned_peak(const PlannedCase& plan);

/// The same during an evaluation of the weights, of training whose peak does not have it; else nothing.
std::optional<PlannedPeak> planned_evaluation_peak(const PlannedCase& plan);

}  // namespace strobe
