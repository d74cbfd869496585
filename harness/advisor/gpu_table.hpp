// Tables of the best point for each number of GPUs, by cluster and model, with the reason why scaling stops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/advisor/front.hpp"

namespace strobe {

/// The best point of one cluster with one number of GPUs.
struct GpuRow {
  std::int64_t ranks = 1;
  int nodes = 1;
  std::optional<std::size_t> best;  // position among the outcomes; nothing if no point is within the limits
  std::string refusal;              // then: why the first point is not
  double efficiency = 0;            // (T0 P0) / (T P) against the first row that has a point
};

struct GpuTable {
  std::string cluster, model;  // the model with the sizes that are not its defaults
  std::vector<GpuRow> rows;    // by GPUs, ascending
  std::string against;         // what efficiencies compare with: "1 GPU (sequential)"; "" if no row has a point
  std::string why;             // one sentence: why it stops scaling
};

/// The tables of all outcomes by cluster and model, in their order. The best point of a row is that of `find_front`
/// among the row's points alone. Simulates two points of each table again for its sentence.
std::vector<GpuTable> gpu_tables(const std::vector<PlanOutcome>& outcomes, const PlanLimits& limits, PlanGoal goal,
                                 const DataCache& cache = {});

}  // namespace strobe
