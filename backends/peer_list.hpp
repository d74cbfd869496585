// PeerList: the rows that one rank sends to, or gets from, its peers in an exchange. A list is made once and shared by
// all calls that use it, so that a call costs the same whatever the number of peers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.hpp"

namespace strobe {

/// Rows [first, first + count) of a tensor that go to, or come from, one peer.
using PeerRows = Run;

/// `count` > 0 rows for, or from, each of the ranks [peer, peer + peers). Their rows follow each other from row `first`
/// on. When all ranks exchange evenly, a list has a few entries whatever the number of ranks.
struct PeerPart {
  std::int64_t first = 0;
  std::int64_t count = 0;
  int peer = 0;
  int peers = 1;
  friend bool operator==(const PeerPart&, const PeerPart&) = default;
};
/// The peers with rows, ascending; ranks that are not listed have none.
using PeerParts = std::vector<PeerPart>;

/// Adds `part`, joined to the last part if it continues that one.
void append_part(PeerParts& parts, const PeerPart& part);
/// Sum of all ranks' rows.
std::int64_t rows_of_parts(const PeerParts& parts);

/// Which side of an exchange a rank is on, for `rank_weight`.
enum class PeerRole : std::uint8_t { sender, receiver };

/// Random numbers of ranks [first, last) in one role, summed modulo 2^64. Sums of rows times the numbers of their
/// sender and receiver show whether both sides list the same rows: lists that differ have equal sums with a chance of
/// about 2^-60.
std::uint64_t rank_weight(int first, int last, PeerRole role);

/// Totals of a whole list, which calls need.
struct PeerTotals {
  std::int64_t rows = 0;
  std::int64_t peers = 0;                      // number of peers with rows
  std::int64_t most_rows = 0, least_rows = 0;  // for one peer with rows
  std::int64_t end_row = 0;                    // row after the last row in the tensor
  int end_peer = 0;                            // rank after the last peer
  bool packed = true;                          // each peer's rows follow those of the one before, from 0 on
  /// Rows times the weight of their peer, summed modulo 2^64, with the peer as the sender or as the receiver.
  std::array<std::uint64_t, 2> weighted{};

  std::uint64_t weighted_as(PeerRole peer) const { return weighted[static_cast<std::size_t>(peer)]; }
  void add(const PeerPart& part);
};

class PeerList {
 public:
  virtual ~PeerList() = default;
  PeerList(const PeerList&) = delete;
  PeerList& operator=(const PeerList&) = delete;

  const PeerTotals& totals() const { return totals_; }
  /// Rows of ranks [first, last).
  std::int64_t rows_between(int first, int last) const;
  /// All entries.
  virtual PeerParts parts() const = 0;

 protected:
  PeerList() = default;
  PeerTotals totals_;

 private:
  /// The same when [first, last) is not the whole list.
  virtual std::int64_t do_rows_between(int first, int last) const = 0;
};
using SharedPeers = std::shared_ptr<const PeerList>;

/// A list that stores its entries. Throws Error when they are not ascending or hold no rows. Cost: O(log parts + parts
/// between) for rows between ranks.
SharedPeers listed_peers(PeerParts parts);
/// The list of each rank's rows; ranks without rows are left out.
SharedPeers listed_peers(const std::vector<PeerRows>& rows);
/// The empty list.
const SharedPeers& no_peers();

}  // namespace strobe
