// The findings of `strobe inspect` about a workload.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/shape/shape.hpp"
#include "workloads/workload.hpp"

namespace strobe {

struct Inspection {
  Json report;            // as `inspect_workload` returns it
  GraphStatistics shape;  // complete, with its source
};

/// Loads `workload` and counts. `windows` are the smoothing windows whose degrees the shape holds.
Inspection inspect(const std::string& workload, const Json& parameters, std::uint64_t seed,
                   const std::vector<std::int64_t>& windows = {1});

}  // namespace strobe
