// Which rows of one rank's side of an exchange are compared with the rows as sent last, which are sent again to whom,
// and in which bytes a sender tells its readers. Plain data and plain functions.
#pragma once

#include <cstdint>
#include <span>
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

/// A subset of n rows travels as a header and a list.
///
/// For up to 64 rows, the header is the bit set of the subset: row i is bit i % 8 of byte i / 8. There is no list. For
/// more rows, the header is two little-endian numbers of 32 bits: the count, and 4 x (bytes of the list) + form. The
/// list has the form with the fewest bytes, the first of them if several have:
///   0, bits:    the bit set; ceil(n / 8) bytes
///   1, sent:    the rows of the subset, each as its distance to the earlier one less 1, in LEB128 (7 bits a byte)
///   2, omitted: the other rows in the same way
/// All rows and no rows need no list.
///
/// The list takes at most 4 bytes for each row left out, of fewer than 2^28 rows. A row has at least 4 bytes. So rows
/// and list together never have more bytes than all rows.
struct SubsetHeader {
  enum class Form : std::uint8_t { bits, sent, omitted };
  std::int64_t count = 0;       // rows in the subset
  std::int64_t list_bytes = 0;  // bytes that follow in the list
  Form form = Form::bits;
};

/// Bytes of the header of a subset of n rows: min(8, ceil(n / 8)).
std::int64_t subset_header_bytes(std::int64_t n);
/// Whether a subset of n rows may need a list.
inline bool subset_has_list(std::int64_t n) { return n > 64; }

/// Appends the header and the list of the subset `rows`, ascending, of n rows.
void encode_subset(std::int64_t n, std::span<const std::int32_t> rows, std::vector<std::uint8_t>& headers,
                   std::vector<std::uint8_t>& lists);
/// Reads a header of subset_header_bytes(n) bytes. Throws Error if no subset of n rows has it.
SubsetHeader decode_subset_header(std::int64_t n, std::span<const std::uint8_t> header);
/// The rows of the subset, ascending. Throws Error if header and list do not agree.
std::vector<std::int32_t> decode_subset(std::int64_t n, std::span<const std::uint8_t> header,
                                        std::span<const std::uint8_t> list);
/// The header of `count` of n rows that lie evenly apart, for runs in which nobody knows the rows.
SubsetHeader assumed_subset(std::int64_t n, std::int64_t count);

/// The subsets of several peers, one after the other.
struct PeerSubsets {
  std::vector<std::int64_t> counts, list_bytes;  // [peers]
  std::vector<std::uint8_t> headers, lists;      // empty if nobody knows the rows
};
/// The subsets of `moved` for the peers of `send`.
PeerSubsets encoded_subsets(const PeerParts& send, const MovedRows& moved);
PeerSubsets assumed_subsets(const PeerParts& peers, const std::vector<std::int64_t>& counts);
/// The counts and sizes of lists that the headers of `peers` announce.
PeerSubsets announced_subsets(const PeerParts& peers, std::vector<std::uint8_t> headers);
/// The slots of all subsets, from `peers`, headers and lists: numbers of rows among all peers' rows.
std::vector<std::int64_t> decoded_slots(const PeerParts& peers, const PeerSubsets& subsets);

}  // namespace strobe
