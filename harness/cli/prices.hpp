// Prices of clusters as they are shown to a reader: never without their age.
#pragma once

#include <string>

#include "backends/cluster.hpp"

namespace strobe {

/// Days since the cluster's price was listed, by today's date (UTC); -1 when it is not sold or was changed.
std::int64_t price_age_days_today(const Cluster& cluster);

/// "55.04 USD per node hour, us-east-1, listed 2026-09-25, 57 days ago", "10 USD per node hour, changed by the command,
/// instead of 55.04", or "not sold".
std::string price_text(const Cluster& cluster);

}  // namespace strobe
