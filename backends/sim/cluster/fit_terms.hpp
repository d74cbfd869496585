// Terms of fitted times: the amounts of an operation or a collective, a few quantities that its time is a linear sum
// of. `strobe calibrate` fits a coefficient to each, and the simulator multiplies them out again.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "backends/span.hpp"

namespace strobe::sim {

/// One term: its coefficient's key in a cluster file (seconds per unit of the amount), the amount, and whether the
/// amount is bytes of memory read in order.
struct OperationTerm {
  const char* key;
  double (*amount)(const Work&);
  bool of_memory = false;
};

/// Cache sizes; bytes beyond them come from further away. They are the level 2 of a core and a share of level 3 of
/// current processors, and the fit decides whether they matter. Rows read through an index share a cache with the
/// matrix and with other cores, so their caches are smaller.
inline constexpr double near_cache_bytes = 2.0 * 1024 * 1024, far_cache_bytes = 32.0 * 1024 * 1024;

/// Bytes of indexed accesses that a cache of `cache_bytes` misses while rows of `window_bytes` are in use: all but the
/// share of the rows that it holds. Zero where nothing is indexed.
inline double missed_bytes(const Gather& gather, double cache_bytes) {
  return gather.window_bytes > cache_bytes ? gather.accessed_bytes * (1 - cache_bytes / gather.window_bytes) : 0.0;
}
inline constexpr double near_window_bytes = 256.0 * 1024, far_window_bytes = 8.0 * 1024 * 1024;

inline constexpr std::array<OperationTerm, 10> operation_terms{{
    {"seconds", [](const Work&) { return 1.0; }},
    {"seconds_per_flop", [](const Work& w) { return w.flops; }},
    {"seconds_per_read_byte", [](const Work& w) { return w.bytes_read; }, true},
    {"seconds_per_written_byte", [](const Work& w) { return w.bytes_written; }, true},
    {"seconds_per_byte_beyond_2_mib", [](const Work& w) { return std::max(0.0, w.bytes() - near_cache_bytes); }, true},
    {"seconds_per_byte_beyond_32_mib", [](const Work& w) { return std::max(0.0, w.bytes() - far_cache_bytes); }, true},
    {"seconds_per_gathered_byte", [](const Work& w) { return w.gather.accessed_bytes; }},
    {"seconds_per_gathered_byte_beyond_256_kib",
     [](const Work& w) { return missed_bytes(w.gather, near_window_bytes); }},
    {"seconds_per_gathered_byte_beyond_8_mib", [](const Work& w) { return missed_bytes(w.gather, far_window_bytes); }},
    {"seconds_per_round", [](const Work& w) { return w.rounds; }},
}};

/// Rows that host work reads or writes through an index, and those of them that a cache of `cache_bytes` misses. A row
/// at an unpredictable place costs a wait, whatever its width, in addition to its bytes.
inline double gathered_rows(const Work& w) {
  return w.gather.row_bytes > 0 ? w.gather.accessed_bytes / w.gather.row_bytes : 0.0;
}
inline double missed_rows(const Work& w, double cache_bytes) {
  return w.gather.row_bytes > 0 ? missed_bytes(w.gather, cache_bytes) / w.gather.row_bytes : 0.0;
}

/// Terms of host work.
inline constexpr std::array<OperationTerm, 9> host_terms{{
    {"seconds", [](const Work&) { return 1.0; }},
    {"seconds_per_flop", [](const Work& w) { return w.flops; }},
    {"seconds_per_read_byte", [](const Work& w) { return w.bytes_read; }, true},
    {"seconds_per_written_byte", [](const Work& w) { return w.bytes_written; }, true},
    {"seconds_per_byte_beyond_2_mib", [](const Work& w) { return std::max(0.0, w.bytes() - near_cache_bytes); }, true},
    {"seconds_per_byte_beyond_32_mib", [](const Work& w) { return std::max(0.0, w.bytes() - far_cache_bytes); }, true},
    {"seconds_per_gathered_row", gathered_rows},
    {"seconds_per_gathered_row_beyond_256_kib", [](const Work& w) { return missed_rows(w, near_window_bytes); }},
    {"seconds_per_gathered_row_beyond_8_mib", [](const Work& w) { return missed_rows(w, far_window_bytes); }},
}};

/// The amounts of a collective: bytes that the busiest rank sends or receives, and the number of its peers.
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
