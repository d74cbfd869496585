// A plan in words: what is as good as the best point as far as anybody knows, what costs are of, and why one point is
// where it is.
#pragma once

#include <optional>
#include <string>

#include "harness/advisor/plan_report.hpp"

namespace strobe {

/// Whether the 90 % bands of two points' jobs overlap, so that nobody knows which is sooner. Nothing where one of them
/// has no band, or is not `ok`.
std::optional<bool> equal_within_bands(const PlanOutcome& a, const PlanOutcome& b);

/// How many points are equal to the best one in time, which of them costs least and which needs least memory; "" where
/// there is none.
std::string equals_text(const PlanReport& report);

/// What is counted into the cost of a job.
std::string costs_note(const PlanReport& report);

/// The position of the point that `id` names, or of the only one whose id has it as a part. Throws
/// InvalidRequest("--explain", ...) for none and for several.
std::size_t point_called(const std::vector<PlanPoint>& points, const std::string& id);

/// The id that `id` names among all combinations of the points' open settings: that id, or else the only one of the
/// points, or of the combinations, that has it as a part. Throws InvalidRequest("--explain", ...).
std::string id_called(const std::vector<PlanPoint>& points, const std::string& id);

/// Why a point is kept or discarded: its verdict, and beside the best point, or the one that dominates it, the parts of
/// an epoch, bytes, memory and cost, the bands, and the case as a suite takes it.
std::string explain_point(const PlanReport& report, const std::string& id);

}  // namespace strobe
