// Terms of fitted times: what an operation or a collective moves, in the few quantities that its time is a sum over.
// `strobe calibrate` fits a coefficient to each, the simulator multiplies them out again.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "backends/span.hpp"

namespace strobe::sim {

/// One term: its coefficient's key in a cluster file (seconds per unit of the amount), the amount, and whether that is
/// bytes of memory in their order.
struct OperationTerm {
  const char* key;
  double (*amount)(const Work&);
  bool of_memory = false;
};

/// A cache of so many bytes: what is beyond it comes from further away. Level 2 of a core and a share of level 3 of
/// the processors of the day; the fit decides whether they matter.
inline constexpr double near_cache_bytes = 2.0 * 1024 * 1024, far_cache_bytes = 32.0 * 1024 * 1024;

inline constexpr std::array<OperationTerm, 7> operation_terms{{
    {"seconds", [](const Work&) { return 1.0; }},
    {"seconds_per_flop", [](const Work& w) { return w.flops; }},
    {"seconds_per_read_byte", [](const Work& w) { return w.bytes_read; }, true},
    {"seconds_per_written_byte", [](const Work& w) { return w.bytes_written; }, true},
    {"seconds_per_byte_beyond_2_mib", [](const Work& w) { return std::max(0.0, w.bytes() - near_cache_bytes); }, true},
    {"seconds_per_byte_beyond_32_mib", [](const Work& w) { return std::max(0.0, w.bytes() - far_cache_bytes); }, true},
    {"seconds_per_gathered_byte", [](const Work& w) { return w.gather.accessed_bytes; }},
}};

/// What a collective moves: bytes that the busiest rank sends or receives, and to how many peers.
struct CollectiveAmounts {
  double bytes = 0, messages = 0;
};
struct CollectiveTerm {
  const char* key;
  double (*amount)(const CollectiveAmounts&);
};
inline constexpr std::array<CollectiveTerm, 4> collective_terms{{
    {"seconds", [](const CollectiveAmounts&) { return 1.0; }},
    {"seconds_per_message", [](const CollectiveAmounts& a) { return a.messages; }},
    {"seconds_per_byte", [](const CollectiveAmounts& a) { return a.bytes; }},
    {"seconds_per_byte_beyond_2_mib",
     [](const CollectiveAmounts& a) { return std::max(0.0, a.bytes - near_cache_bytes); }},
}};

}  // namespace strobe::sim
