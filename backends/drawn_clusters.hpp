// Drawn clusters: what a cluster may be, as far as its file knows. Each uncertain constant is drawn within its band.
// The band is the quantity's own interval (`low` and `high` in the file), or else the default of `uncertain_constants`.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cluster.hpp"

namespace strobe {

/// A constant that a draw changes. Without an interval in the file it lies between `low` and `high` times its value.
struct UncertainConstant {
  const char* key;  // as in the file: "gpu.launch_seconds"; terms of software and fits have names of their own
  double low, high;
  const char* reason;
};
const std::vector<UncertainConstant>& uncertain_constants();

/// The draws [0, count) of a cluster with its software. A draw depends on the cluster, `draws_seed` and its number
/// alone. A constant is `low` (`high` / `low`)^u, with u uniform in [0, 1) by seed, number and key: the logarithm is
/// uniform. So the same key of two clusters moves the same way in the same draw. Constants that the file leaves out
/// stay left out. Sizes, counts, prices and the planned memory stay.
std::vector<std::shared_ptr<const Cluster>> drawn_clusters(const std::shared_ptr<const Cluster>& cluster,
                                                           std::size_t count);

/// The drawn constants of one of these clusters in a text that `load_cluster` reads as changes of the same file:
/// "gpu.launch_seconds=5.1e-06,...". It leaves out terms of software and fits.
std::string drawn_changes(const Cluster& drawn);

/// The factor by which a draw multiplies the fitted times of this name; 1 in a cluster that is not drawn. Cost: a
/// power.
double factor_of_fits(const Cluster& cluster, std::string_view name);

/// 16 hexadecimal digits: equal for equal lists of drawn constants.
std::string digest_of_draws(const std::vector<std::shared_ptr<const Cluster>>& draws);

}  // namespace strobe
