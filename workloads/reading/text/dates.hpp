// Dates as files write them.
#pragma once

#include <string>

#include "workloads/storage/time_column.hpp"

namespace strobe {

/// `seconds` since 1970 as a date in UTC that reads back to the same number: 2017-01-31, or with the time of day
/// 2017-01-31T12:00:00[.5]. A number outside of the years 1 to 9999 stays one.
std::string date_text(double seconds, bool time_of_day);

/// `date_text` with the time of day where it is not midnight.
std::string date_text(double seconds);

/// Whether all times are midnights.
bool all_midnights(const TimeColumn& times);

}  // namespace strobe
