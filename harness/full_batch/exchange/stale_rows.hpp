// Which rows of one rank's side of an exchange are compared with what was sent last, and which of them are sent anew to
// whom: plain data and plain functions.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/host/host_work.hpp"
#include "backends/tensor.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// One rank's side of an exchange by slots: a slot is one row for one reader. Slots of a rank are numbered peer by
/// peer, and within a peer in the order of the plan, the same on both sides.
struct StaleSlots {
  std::vector<std::int64_t> rows;       // distinct rows of the input that anybody reads, ascending: those compared
  std::vector<std::int64_t> row_of;     // [slots sent]: index into `rows`
  std::vector<std::int64_t> output_of;  // [slots received]: row of the output
  // One entry for each peer: its slots. The lists above are empty where only counts are known.
  PeerParts send, receive;
  std::int64_t compared = 0;  // size of `rows`, expected where only counts are known

  std::int64_t sent() const { return rows_of_parts(send); }
  std::int64_t received() const { return rows_of_parts(receive); }
};

/// The slots of `rank`. Of a plan with counts only, a row is taken to be read by each peer by itself: of n rows, of
/// which S go to Q peers, n (1 - (1 - S / (n Q))^Q) are compared. Cost O(slots log slots).
StaleSlots stale_slots(const ExchangePlan& plan, Rank rank);

/// What is sent in an epoch: of each peer in turn its slots whose rows have moved.
struct MovedRows {
  std::vector<std::int64_t> moved;   // indices into StaleSlots::rows, ascending
  std::vector<std::int64_t> rows;    // [slots sent now]: index into StaleSlots::rows
  std::vector<std::int32_t> places;  // likewise: number of the slot among its peer's
  std::vector<std::int64_t> counts;  // [peers sent to]
};

/// The slots of rows with a distance [compared] above `threshold`, or with none that is a number.
MovedRows moved_rows(const StaleSlots& slots, const std::vector<double>& distances, double threshold);

/// As many slots of each peer as an assumed share of them comes to, of rows that nobody knows.
MovedRows assumed_rows(const StaleSlots& slots, double share);
std::vector<std::int64_t> assumed_counts(const PeerParts& peers, double share);

/// The largest of the distances, or NaN where one is none; 0 of none at all.
double largest_distance(const std::vector<double>& distances);

/// distances[i] = |x_i - y_i| of rows of `width` values of `type` each, in double, on the host (operation
/// RowDistances).
void compute_distances(Workers& workers, ElementType type, std::int64_t width, const std::byte* x, const std::byte* y,
                       std::vector<double>& distances);

/// What the host does for them: distances of `rows` rows of `row_bytes` bytes and the largest; and the choice among
/// `rows` rows with `slots` slots, behind which rows that moved are kept where the host keeps rows.
Work distance_work(std::int64_t rows, std::int64_t width, std::uint64_t row_bytes);
Work choice_work(std::int64_t rows, std::int64_t slots);

}  // namespace strobe
