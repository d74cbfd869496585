#include "harness/cli/prices.hpp"

#include <fmt/format.h>

#include <ctime>

namespace strobe {

std::int64_t price_age_days_today(const Cluster& cluster) {
  const std::time_t now = std::time(nullptr);  // calendar: the date of today, not a measurement
  std::tm utc{};
  gmtime_r(&now, &utc);
  char today[16];
  std::strftime(today, sizeof today, "%Y-%m-%d", &utc);
  return price_age_days(cluster, today);
}

std::string price_text(const Cluster& cluster) {
  if (cluster.price_per_node_hour <= 0) return "not sold";
  std::string text = fmt::format("{} {} per node hour, {}", cluster.price_per_node_hour, cluster.price_currency,
                                 price_origin(cluster));
  const std::int64_t days = price_age_days_today(cluster);
  if (days >= 0) text += fmt::format(", {} day{} ago", days, days == 1 ? "" : "s");
  return text;
}

}  // namespace strobe
