// Seconds of one operation on one GPU of a cluster. No other code turns work into time.
#pragma once

#include <string_view>

#include "backends/cluster.hpp"

namespace strobe::sim {

/// Seconds of the operation called `op`: by the cluster's calibration when it has a fit for that name, else by the
/// described roofline (operation_cost.cpp). `ranks` ranks compute at the same time, on average.
double operation_seconds(const Cluster& cluster, std::string_view op, const Work& work, ElementType precision,
                         double ranks = 1);

/// Seconds by the described roofline, ignoring fits.
double roofline_seconds(const GpuModel& gpu, const Work& work, ElementType precision);

/// Bytes between memory and cache; an indexed operation moves more than its compulsory bytes.
double memory_bytes(const GpuModel& gpu, const Work& work);

}  // namespace strobe::sim
