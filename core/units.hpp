// Converts text to quantities and back.
#pragma once

#include <cstdint>
#include <string>

namespace strobe {

/// Seconds of a duration text such as "30d", "1h", "15min", "90s", "2w", "1.5h"; a bare number is seconds.
/// Throws InvalidRequest(where, ...) when it is not one.
double parse_duration_seconds(const std::string& text, const std::string& where);

/// The whole number in "5000000", "5M", "1.5G" or "1e8": at least 1, at most 2^53. K, M and G are powers of 1000.
/// Throws InvalidRequest(where, ...) for anything else.
std::int64_t parse_count(const std::string& text, const std::string& where);

/// "12.3 MB" (powers of 1000), "17 B".
std::string format_bytes(double bytes);

/// "1.23 s", "45.6 ms", "7.89 us".
std::string format_seconds(double seconds);

/// "1,234,567".
std::string format_count(std::int64_t count);

}  // namespace strobe
