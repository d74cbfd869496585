// Invariant: the totals are those of the entries. A rank's weight is the difference of two hashed numbers, so the
// weights of consecutive ranks are summed by looking at both ends.
#include "backends/peer_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.hpp"

namespace strobe {
namespace {

std::uint64_t hashed(std::uint64_t number) {  // splitmix64
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

class ListedPeers final : public PeerList {
 public:
  explicit ListedPeers(PeerParts parts) : parts_(std::move(parts)) {
    for (const PeerPart& part : parts_) {
      if (part.peers < 1 || part.peer < totals_.end_peer)
        throw Error(fmt::format("a list of peers has ranks [{}, +{}) after rank {}", part.peer, part.peers,
                                totals_.end_peer - 1));
      if (part.count <= 0 || part.first < 0)
        throw Error(fmt::format("a list of peers has rows [{}, +{}) for rank {}", part.first, part.count, part.peer));
      totals_.add(part);
    }
  }
  PeerParts parts() const override { return parts_; }

 private:
  std::int64_t do_rows_between(int first, int last) const override {
    auto part = std::upper_bound(parts_.begin(), parts_.end(), first,
                                 [](int rank, const PeerPart& p) { return rank < p.peer + p.peers; });
    std::int64_t rows = 0;
    for (; part != parts_.end() && part->peer < last; ++part) {
      rows += part->count * (std::min(last, part->peer + part->peers) - std::max(first, part->peer));
    }
    return rows;
  }

  PeerParts parts_;
};

}  // namespace

void append_part(PeerParts& parts, const PeerPart& part) {
  if (part.count == 0) return;
  if (!parts.empty()) {
    PeerPart& last = parts.back();
    const bool continues = last.count == part.count && last.peer + last.peers == part.peer &&
                           last.first + last.peers * last.count == part.first;
    if (continues) {
      last.peers += part.peers;
      return;
    }
  }
  parts.push_back(part);
}

std::int64_t rows_of_parts(const PeerParts& parts) {
  std::int64_t rows = 0;
  for (const PeerPart& part : parts) rows += part.count * part.peers;
  return rows;
}

std::uint64_t rank_weight(int first, int last, PeerRole role) {
  const auto hash = [role](int rank) {
    return hashed(2 * static_cast<std::uint64_t>(rank) + static_cast<std::uint64_t>(role));
  };
  return hash(last) - hash(first);
}

void PeerTotals::add(const PeerPart& part) {
  const std::int64_t of_all = part.count * part.peers;
  packed = packed && part.first == rows;
  rows += of_all;
  peers += part.peers;
  most_rows = std::max(most_rows, part.count);
  least_rows = peers == part.peers ? part.count : std::min(least_rows, part.count);
  end_row = std::max(end_row, part.first + of_all);
  end_peer = part.peer + part.peers;
  for (const PeerRole role : {PeerRole::sender, PeerRole::receiver}) {
    weighted[static_cast<std::size_t>(role)] +=
        static_cast<std::uint64_t>(part.count) * rank_weight(part.peer, end_peer, role);
  }
}

std::int64_t PeerList::rows_between(int first, int last) const {
  return first <= 0 && last >= totals_.end_peer ? totals_.rows : do_rows_between(first, last);
}

SharedPeers listed_peers(PeerParts parts) {
  if (parts.empty()) return no_peers();
  return std::make_shared<const ListedPeers>(std::move(parts));
}

SharedPeers listed_peers(const std::vector<PeerRows>& rows) {
  PeerParts parts;
  for (std::size_t q = 0; q < rows.size(); ++q)
    append_part(parts, {rows[q].first, rows[q].count, static_cast<int>(q), 1});
  return listed_peers(std::move(parts));
}

const SharedPeers& no_peers() {
  static const SharedPeers nobody = std::make_shared<const ListedPeers>(PeerParts());
  return nobody;
}

}  // namespace strobe
