// Which rows of one rank's side of an exchange are compared with the rows as sent last, and which are sent again to
// whom. Plain data and plain functions.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/host/host_work.hpp"
#include "backends/tensor.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// One rank's side of an exchange by slots: a slot is one row for one reader. Slots of a rank are numbered peer by
/// peer, and within a peer in the order of the plan. Both sides use the same order.
struct StaleSlots {
  std::vector<std::int64_t> rows;       // the compared rows: distinct rows of the input that anybody reads, ascending
  std::vector<std::int64_t> row_of;     // [slots sent]: index into `rows`
  std::vector<std::int64_t> output_of;  // [slots received]: row of the output
  // One entry for each peer: its slots. The lists above are empty if only counts are known.
  PeerParts send, receive;
  std::int64_t compared = 0;  // size of `rows`, or its expectation if only counts are known

  std::int64_t sent() const { return rows_of_parts(send); }
  std::int64_t received() const { return rows_of_parts(receive); }
};

/// The slots of `rank`. If the plan has counts only, peers are assumed to read rows independently. When S of n rows go
/// to Q peers, n (1 - (1 - S / (n Q))^Q) rows are compared. Cost O(slots log slots).
StaleSlots stale_slots(const ExchangePlan& plan, Rank rank);

/// The slots sent in an epoch: for each peer in turn, its slots whose rows have moved.
struct MovedRows {
  std::vector<std::int64_t> moved;   // indices into StaleSlots::rows, ascending
  std::vector<std::int64_t> rows;    // [slots sent now]: index into StaleSlots::rows
  std::vector<std::int32_t> places;  // [slots sent now]: number of the slot among its peer's
  std::vector<std::int64_t> counts;  // [peers sent to]
};

/// The slots of rows whose distance [compared] is above `threshold`, or is NaN.
MovedRows moved_rows(const StaleSlots& slots, const std::vector<double>& distances, double threshold);

/// An assumed share of each peer's slots, for runs in which nobody knows the rows.
MovedRows assumed_rows(const StaleSlots& slots, double share);
std::vector<std::int64_t> assumed_counts(const PeerParts& peers, double share);

/// The largest of the distances, or NaN if one is NaN; 0 of an empty list.
double largest_distance(const std::vector<double>& distances);

/// distances[i] = |x_i - y_i| for rows of `width` values of type `type`, in double, on the host (operation
/// RowDistances).
void compute_distances(Workers& workers, ElementType type, std::int64_t width, const std::byte* x, const std::byte* y,
                       std::vector<double>& distances);

/// The host's work. distance_work: distances of `rows` rows of `row_bytes` bytes, and the largest. choice_work: the
/// choice among `rows` rows with `slots` slots. If the host keeps rows, it then also copies those that moved.
Work distance_work(std::int64_t rows, std::int64_t width, std::uint64_t row_bytes);
Work choice_work(std::int64_t rows, std::int64_t slots);

}  // namespace strobe
