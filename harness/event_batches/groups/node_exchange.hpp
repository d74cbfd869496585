// One exchange of rows between a rank and its agents on other nodes, which goes on while the rank does other things.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/communicator.hpp"

namespace strobe {

template <class T>
using ByNode = std::vector<std::vector<T>>;

/// Rows by node that one rank sends and receives in an exchange. The own node's numbers are equal, and stay.
struct NodeCounts {
  std::vector<std::int64_t> sends, receives;
  NodeCounts reversed() const { return {receives, sends}; }
  std::int64_t received() const { return std::accumulate(receives.begin(), receives.end(), std::int64_t{0}); }
};

/// `T` holds the values of a row or a part of them.
template <class T>
class NodeExchange {
 public:
  /// Sends `rows`, of `columns` values, to the nodes. `column` has a rank of each node; the own one has number
  /// `column.rank()`. Without values the rows may be missing, and messages have the sizes of `counts`.
  void start(Communicator& column, ByNode<T> rows, const NodeCounts& counts, std::int64_t columns, ElementType type) {
    Device& device = column.device();
    const PartScope part(device, MemoryPart::buffers);
    rows_ = std::move(rows), row_values_ = static_cast<std::int64_t>(columns * element_bytes(type) / sizeof(T));
    std::vector<PeerRows> sends;
    receives_.clear();
    std::vector<T> values;
    std::int64_t sent = 0, received = 0;
    for (std::size_t node = 0; node < rows_.size(); ++node) {
      const bool other = static_cast<int>(node) != column.rank();
      sends.push_back({sent, other ? counts.sends[node] : 0});
      receives_.push_back({received, other ? counts.receives[node] : 0});
      sent += sends.back().count, received += receives_.back().count;
      if (other) values.insert(values.end(), rows_[node].begin(), rows_[node].end());
    }
    const bool full = sent > 0 && static_cast<std::int64_t>(values.size()) == sent * row_values_;
    if (sent > 0 && !full && device.has_values()) throw Error("a node has other rows to send than were planned");
    const Tensor send = sent > 0 ? device.move_in(full ? values.data() : nullptr, sent, columns, type)
                                 : device.allocate(0, columns, type);
    received_ = device.allocate(received, columns, type);
    request_ = column.start_all_to_all_v(send, std::move(sends), received_, receives_, Traffic::sampling);
  }

  /// The rows that came, by node, with those of the own node. Without values nothing comes, and it returns all rows
  /// that were to be sent.
  ByNode<T> wait(Communicator& column) {
    column.wait(request_);
    request_ = {};
    const Tensor from = std::exchange(received_, {});
    std::vector<T> values(from.rows() * row_values_);
    if (from.rows() > 0) column.device().move_out(from, values.data());
    if (!column.device().has_values()) return std::move(rows_);
    for (std::size_t node = 0; node < rows_.size(); ++node) {
      if (static_cast<int>(node) == column.rank()) continue;
      const auto first = values.begin() + receives_[node].first * row_values_;
      rows_[node].assign(first, first + receives_[node].count * row_values_);
    }
    return std::move(rows_);
  }

 private:
  ByNode<T> rows_;
  std::int64_t row_values_ = 0;  // elements of T
  std::vector<PeerRows> receives_;
  Tensor received_;
  Request request_;
};

}  // namespace strobe
