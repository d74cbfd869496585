// Copies rows between the pieces of two tensors in one pass, for communicators whose ranks share an address space.
// Packing, exchanging and unpacking would move the rows three times. Returns nothing; rows fill the target's pieces in
// order.
// Invariant: every row of the target's pieces is written once, from the source's row at the same place in the order.
// Cost: each byte once; O(pieces of both sides).
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "backends/communicator.hpp"

namespace strobe {

/// A rank's rows for one peer: its pieces, or its single range.
inline std::span<const Run> pieces_for(const std::shared_ptr<const PeerPieces>& pieces, const PeerRows& range,
                                       std::size_t peer) {
  if (pieces != nullptr) return (*pieces)[peer];
  return {&range, 1};
}

/// Copies the pieces `send` of `from` into the pieces `receive` of `to`, by `copy(target, source, bytes)`. Both have
/// the same number of rows, width and type. Does nothing when a tensor holds no values.
template <class Copy>
void copy_pieces(const Tensor& from, std::span<const Run> send, const Tensor& to, std::span<const Run> receive,
                 const Copy& copy) {
  if (!from.has_values() || !to.has_values()) return;
  const std::byte* const source = from.raw();
  std::byte* const target = to.raw();
  const std::int64_t row_bytes = to.row_bytes();
  auto piece = send.begin();
  std::int64_t sent = 0;  // rows of `piece`
  for (const Run& wanted : receive) {
    for (std::int64_t done = 0; done < wanted.count;) {
      for (; sent == piece->count; ++piece) sent = 0;
      const std::int64_t rows = std::min(wanted.count - done, piece->count - sent);
      const std::byte* first = source + (piece->first + sent) * row_bytes;
      std::byte* place = target + (wanted.first + done) * row_bytes;
      if (first != place) copy(place, first, static_cast<std::size_t>(rows * row_bytes));
      done += rows;
      sent += rows;
    }
  }
}

}  // namespace strobe
