#include "backends/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strobe {
namespace {

/// Whether there are pieces to check: tensors without values have none.
bool lists(const std::shared_ptr<const PeerPieces>& pieces, const Tensor& tensor) {
  return pieces != nullptr && (!pieces->empty() || tensor.has_values());
}

}  // namespace

std::vector<PeerRows> rows_of_ranks(const PeerParts& parts, int ranks) {
  std::vector<PeerRows> rows(ranks);
  for (const PeerPart& part : parts) {
    for (int i = 0; i < part.peers; ++i) {
      rows[part.peer + i] = {part.first + i * part.count, part.count};
    }
  }
  return rows;
}

TrainerChannel& Communicator::channel(std::size_t helper, std::size_t channel) const {
  if (helper >= channels_.size() || channel >= channels_[helper].size() || channels_[helper][channel] == nullptr) {
    throw Error(fmt::format("rank {} has no channel {} to helper {}", rank_, channel, helper));
  }
  return *channels_[helper][channel];
}

void Communicator::check_peers(const Tensor& tensor, const PeerList& peers, bool in_pieces,
                               std::string_view what) const {
  const PeerTotals& totals = peers.totals();
  if (totals.end_peer > size_) throw Error(fmt::format("{}: rank {} of {} ranks", what, totals.end_peer - 1, size_));
  // Pieces may send one row to several peers, so their sum may exceed the rows of the tensor.
  const std::int64_t end = in_pieces ? totals.most_rows : totals.end_row;
  if (end > tensor.rows()) throw Error(fmt::format("{}: {} rows of a tensor with {}", what, end, tensor.rows()));
}

void Communicator::check_not_sent_to_self(const PeerList& peers) const {
  if (peers.rows_between(rank_, rank_ + 1) != 0)
    throw Error("all_to_all_v: own rows are copied by the caller, not sent");
}

void Communicator::check_rows(const Tensor& tensor, const std::vector<PeerRows>& rows, std::string_view what) const {
  if (static_cast<int>(rows.size()) != size_) {
    throw Error(fmt::format("{}: {} entries for {} ranks", what, rows.size(), size_));
  }
  for (const PeerRows& peer : rows) {
    if (peer.count < 0 || peer.first < 0 || peer.first + peer.count > tensor.rows()) {
      throw Error(
          fmt::format("{}: rows [{}, +{}) of a tensor with {} rows", what, peer.first, peer.count, tensor.rows()));
    }
  }
}

void Communicator::check_pieces(const Tensor& tensor, const std::vector<PeerRows>& rows,
                                const PeerPieces& pieces) const {
  if (!moves_pieces()) throw Error("all_to_all_v: this communicator does not move pieces");
  if (pieces.size() != rows.size()) throw Error("all_to_all_v: pieces for another number of ranks");
  for (std::size_t peer = 0; peer < rows.size(); ++peer) {
    std::int64_t count = 0;
    for (const Run& piece : pieces[peer]) {
      if (piece.first < 0 || piece.count < 0 || piece.first + piece.count > tensor.rows()) {
        throw Error(fmt::format("all_to_all_v: piece [{}, +{}) of a tensor with {} rows", piece.first, piece.count,
                                tensor.rows()));
      }
      count += piece.count;
    }
    if (count != rows[peer].count) {
      throw Error(
          fmt::format("all_to_all_v: pieces of {} rows for rank {}, which gets {}", count, peer, rows[peer].count));
    }
  }
}

Request Communicator::start(Collective collective) {
  Request request;
  request.started_seconds = device_.now();
  request.collective = std::move(collective);
  request.active = true;
  request.state = do_start(request.collective);
  return request;
}

Request Communicator::start_all_to_all_v(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                                         std::vector<PeerRows> receive_rows, Traffic traffic, ExchangePieces pieces) {
  check_rows(send, send_rows, "all_to_all_v send");
  check_rows(receive, receive_rows, "all_to_all_v receive");
  if (lists(pieces.send, send)) check_pieces(send, send_rows, *pieces.send);
  if (lists(pieces.receive, receive)) check_pieces(receive, receive_rows, *pieces.receive);
  Collective collective{CollectiveKind::all_to_all_v, traffic, send, receive, {}, {}, 0, 0, 0, 0};
  collective.sends = listed_peers(send_rows);
  collective.receives = listed_peers(receive_rows);
  if (!lists_peers()) {
    collective.send_rows = std::move(send_rows);
    collective.receive_rows = std::move(receive_rows);
  }
  collective.pieces = std::move(pieces);
  return start_exchange(std::move(collective));
}

Request Communicator::start_all_to_all_v(const Tensor& send, SharedPeers sends, const Tensor& receive,
                                         SharedPeers receives, Traffic traffic, ExchangePieces pieces) {
  check_peers(send, *sends, pieces.send != nullptr, "all_to_all_v send");
  check_peers(receive, *receives, pieces.receive != nullptr, "all_to_all_v receive");
  const auto rows_of = [this](const PeerList& peers) { return rows_of_ranks(peers.parts(), size_); };
  if (lists(pieces.send, send)) check_pieces(send, rows_of(*sends), *pieces.send);
  if (lists(pieces.receive, receive)) check_pieces(receive, rows_of(*receives), *pieces.receive);
  Collective collective{CollectiveKind::all_to_all_v, traffic, send, receive, {}, {}, 0, 0, 0, 0};
  if (!lists_peers()) {
    collective.send_rows = rows_of(*sends);
    collective.receive_rows = rows_of(*receives);
  }
  collective.sends = std::move(sends);
  collective.receives = std::move(receives);
  collective.pieces = std::move(pieces);
  return start_exchange(std::move(collective));
}

Request Communicator::start_exchange(Collective collective) {
  check_not_sent_to_self(*collective.sends);
  check_not_sent_to_self(*collective.receives);
  const Tensor &send = collective.send, &receive = collective.receive;
  if (send.columns() != receive.columns() || send.type() != receive.type()) {
    throw Error("all_to_all_v: send and receive rows differ in width or type");
  }
  const PeerTotals& totals = collective.sends->totals();
  collective.sent_bytes = static_cast<std::uint64_t>(totals.rows) * send.row_bytes();
  collective.messages = static_cast<std::uint32_t>(totals.peers);
  return start(std::move(collective));
}

Request Communicator::start_all_reduce(const Tensor& tensor, Traffic traffic, Reduction reduction) {
  Collective collective{CollectiveKind::all_reduce, traffic, tensor, tensor, {}, {}, 0, 0, 0, 0};
  collective.reduction = reduction;
  const Run share = even_share(tensor.elements(), size_, rank_);
  const std::uint64_t share_bytes = static_cast<std::uint64_t>(share.count) * element_bytes(tensor.type());
  collective.sent_bytes = 2 * (tensor.bytes() - share_bytes);
  collective.messages = static_cast<std::uint32_t>(2 * (size_ - 1));
  return start(std::move(collective));
}

Request Communicator::start_all_gather_v(const Tensor& send, const Tensor& receive, std::vector<PeerRows> receive_rows,
                                         Traffic traffic) {
  check_rows(receive, receive_rows, "all_gather_v receive");
  return start_all_gather_v(send, receive, listed_peers(receive_rows), traffic);
}

Request Communicator::start_all_gather_v(const Tensor& send, const Tensor& receive, SharedPeers receives,
                                         Traffic traffic) {
  check_peers(receive, *receives, false, "all_gather_v receive");
  if (send.rows() != receives->rows_between(rank_, rank_ + 1)) {
    throw Error("all_gather_v: the own part has another number of rows than what is sent");
  }
  Collective collective{CollectiveKind::all_gather_v, traffic, send, receive, {}, {}, 0, 0, 0, 0};
  collective.sent_bytes = send.bytes() * static_cast<std::uint64_t>(size_ - 1);
  collective.messages = send.bytes() == 0 ? 0 : static_cast<std::uint32_t>(size_ - 1);
  if (!lists_peers()) collective.receive_rows = rows_of_ranks(receives->parts(), size_);
  collective.receives = std::move(receives);
  return start(std::move(collective));
}

Request Communicator::start_reduce_scatter(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                                           Traffic traffic) {
  check_rows(send, send_rows, "reduce_scatter send");
  if (receive.rows() != send_rows[rank_].count) {
    throw Error("reduce_scatter: the own part has another number of rows than what is received");
  }
  Collective collective{CollectiveKind::reduce_scatter, traffic, send, receive, {}, {}, 0, 0, 0, 0};
  collective.sends = listed_peers(send_rows);
  collective.sent_bytes =
      static_cast<std::uint64_t>(collective.sends->totals().rows) * send.row_bytes() - receive.bytes();
  collective.messages = static_cast<std::uint32_t>(size_ - 1);
  if (!lists_peers()) collective.send_rows = std::move(send_rows);
  return start(std::move(collective));
}

Request Communicator::start_broadcast(const Tensor& tensor, int root, Traffic traffic) {
  if (root < 0 || root >= size_) throw Error(fmt::format("broadcast: root {} of {} ranks", root, size_));
  Collective collective{CollectiveKind::broadcast, traffic, tensor, tensor, {}, {}, root, 0, 0, 0};
  if (rank_ == root) {
    collective.sent_bytes = tensor.bytes() * static_cast<std::uint64_t>(size_ - 1);
    collective.messages = static_cast<std::uint32_t>(size_ - 1);
  }
  return start(std::move(collective));
}

Request Communicator::start_send(const Tensor& tensor, int destination, int tag, Traffic traffic) {
  if (destination < 0 || destination >= size_ || destination == rank_) throw Error("send: bad destination");
  Collective collective{CollectiveKind::send, traffic, tensor, {}, {}, {}, destination, tag, tensor.bytes(), 1};
  return start(std::move(collective));
}

Request Communicator::start_receive(const Tensor& tensor, int source, int tag, Traffic traffic) {
  if (source < 0 || source >= size_ || source == rank_) throw Error("receive: bad source");
  Collective collective{CollectiveKind::receive, traffic, {}, tensor, {}, {}, source, tag, 0, 0};
  return start(std::move(collective));
}

void Communicator::wait(Request& request) {
  if (!request.active) throw Error("wait: this collective was already waited for");
  request.active = false;
  const double entered = device_.now();
  const Completion done = do_wait(request.collective, request.state);
  request.state.reset();
  const Collective& c = request.collective;
  const std::string_view name = collective_names[static_cast<int>(c.kind)];
  // Clocks of several ranks meet here: readiness before this rank asked cannot be waited for, and completion before it
  // asked was hidden behind its compute.
  const double ready = std::clamp(done.ready_seconds, entered, std::max(entered, done.end_seconds));
  const double end = std::max(done.end_seconds, ready);
  if (ready > entered) {
    device_.spans().append({name, Phase::wait, Stream::communicate, c.traffic, true, entered, ready, {}, 0, 0, 0});
  }
  device_.spans().append(
      {name, Phase::communicate, Stream::communicate, c.traffic, true, ready, end, {}, c.sent_bytes, 0, c.messages});
  if (request.started_seconds < entered) {
    const double moved = std::max(done.ready_seconds, done.moved_seconds);
    const double begin = std::clamp(moved, request.started_seconds, std::max(end, request.started_seconds));
    device_.spans().append({name,
                            Phase::communicate,
                            Stream::communicate,
                            c.traffic,
                            false,
                            begin,
                            std::max(begin, done.end_seconds),
                            {},
                            0,
                            0,
                            0});
  }
}

void Communicator::all_to_all_v(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                                std::vector<PeerRows> receive_rows, Traffic traffic) {
  Request request = start_all_to_all_v(send, std::move(send_rows), receive, std::move(receive_rows), traffic);
  wait(request);
}

void Communicator::all_reduce(const Tensor& tensor, Traffic traffic, Reduction reduction) {
  Request request = start_all_reduce(tensor, traffic, reduction);
  wait(request);
}

void Communicator::all_gather_v(const Tensor& send, const Tensor& receive, std::vector<PeerRows> receive_rows,
                                Traffic traffic) {
  Request request = start_all_gather_v(send, receive, std::move(receive_rows), traffic);
  wait(request);
}

void Communicator::all_gather_v(const Tensor& send, const Tensor& receive, SharedPeers receives, Traffic traffic) {
  Request request = start_all_gather_v(send, receive, std::move(receives), traffic);
  wait(request);
}

void Communicator::reduce_scatter(const Tensor& send, std::vector<PeerRows> send_rows, const Tensor& receive,
                                  Traffic traffic) {
  Request request = start_reduce_scatter(send, std::move(send_rows), receive, traffic);
  wait(request);
}

void Communicator::broadcast(const Tensor& tensor, int root, Traffic traffic) {
  Request request = start_broadcast(tensor, root, traffic);
  wait(request);
}

void Communicator::send(const Tensor& tensor, int destination, int tag, Traffic traffic) {
  Request request = start_send(tensor, destination, tag, traffic);
  wait(request);
}

void Communicator::receive(const Tensor& tensor, int source, int tag, Traffic traffic) {
  Request request = start_receive(tensor, source, tag, traffic);
  wait(request);
}

void Communicator::barrier() {
  Collective collective;
  Request request = start(std::move(collective));
  wait(request);
}

}  // namespace strobe
