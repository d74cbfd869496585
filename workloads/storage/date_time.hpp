// Dates as files and options write them.
#pragma once

#include <string_view>

namespace strobe {

inline constexpr double day_seconds = 86400;

/// Seconds since 1970 of the whole of `text`: 2017-01-31 or 2017/01/31, then optionally T or a blank and 12:00,
/// 12:00:00 or 12:00:00.5, then optionally its zone: Z, +02:00, +0200 or +02. UTC without a zone. False for any other
/// text.
bool parse_date_time(std::string_view text, double& seconds);

}  // namespace strobe
