// Explains a plan in words: the points that equal the best one within their bands, the parts of costs, and the verdict
// on one point.
#pragma once

#include <optional>
#include <string>

#include "harness/advisor/plan_report.hpp"

namespace strobe {

/// The number of points that equal the best one in time, with the cheapest and the smallest of them; "" if there is
/// none.
std::string equals_text(const PlanReport& report);

/// The parts of a job's cost.
std::string costs_note(const PlanReport& report);

/// The position of the point with this id, or else of the only point whose id contains `id`. Throws
/// InvalidRequest("--explain", ...) if there is none or several.
std::size_t point_called(const std::vector<PlanPoint>& points, const std::string& id);

/// The full id for `id` among all combinations of the points' open settings. If no id equals it, the only id that
/// contains it counts: first among the points, then among the combinations. Throws InvalidRequest("--explain", ...).
std::string id_called(const std::vector<PlanPoint>& points, const std::string& id);

/// Explains why a point is kept or discarded. It gives the verdict and the case for a suite. It compares parts of an
/// epoch, bytes, memory, cost and bands with those of the best point, or of the point that dominates it.
std::string explain_point(const PlanReport& report, const std::string& id);

}  // namespace strobe
