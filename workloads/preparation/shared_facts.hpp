// The file of the mean and deviation of features, which processes of a node share before they prepare a graph.
#pragma once

#include <string>

#include "workloads/preparation/feature_scale.hpp"

namespace strobe {

/// Writes the mean and deviation of features, and reads them back.
void write_measures(const FeatureMeasures& measures, const std::string& path);
FeatureMeasures read_measures(const std::string& path);

}  // namespace strobe
