// Prices of clusters for people, always with their age.
#pragma once

#include <string>

#include "backends/cluster.hpp"

namespace strobe {

/// Days from the date of the cluster's price until today (UTC); -1 when it is not sold or its price was changed.
std::int64_t price_age_days_today(const Cluster& cluster);

/// "55.04 USD per node hour, us-east-1, listed 2026-09-25, 57 days ago", "10 USD per node hour, changed by the command,
/// instead of 55.04", or "not sold".
std::string price_text(const Cluster& cluster);

}  // namespace strobe
