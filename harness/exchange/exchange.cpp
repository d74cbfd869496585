#include "harness/exchange/exchange.hpp"

#include <vector>

namespace strobe {
namespace {

/// Moves as i64 [count, 3] rows (from, to, rows) on the device, or with from and to exchanged.
Tensor move_list(Device& device, const std::vector<RowMove>& moves, std::int64_t count, bool reversed) {
  if (count == 0) return {};
  std::vector<std::int64_t> flat;
  for (const RowMove& move : moves) {
    flat.insert(flat.end(), {reversed ? move.to : move.from, reversed ? move.from : move.to, move.rows});
  }
  if (device.has_values() && static_cast<std::int64_t>(moves.size()) != count) {
    throw Error("exchange: the plan has no index lists for this rank");
  }
  return device.move_in(flat.data(), count, 3, ElementType::i64);
}

/// Whether `moves` runs of `rows` rows in all are listed as runs: three numbers each, in place of one a row. The same
/// with and without lists.
bool long_runs(std::int64_t moves, std::int64_t rows) { return moves > 0 && rows > 3 * moves; }

/// The list of a buffer of `total` rows, which is one side of `moves`, in their direction or the other. `known`: that
/// of the opposite direction, if there is one.
BufferRows buffer_rows(Device& device, const std::vector<RowMove>& moves, std::int64_t count, std::int64_t total,
                       std::int64_t RowMove::*row_in_tensor, bool reversed, const BufferRows& known) {
  if (known.rows.defined() || count == 0) return known;
  if (long_runs(count, total)) return {move_list(device, moves, count, reversed), {}};
  std::vector<std::int64_t> rows;
  for (const RowMove& move : moves) {
    for (std::int64_t i = 0; i < move.rows; ++i) rows.push_back(move.*row_in_tensor + i);
  }
  if (device.has_values() && static_cast<std::int64_t>(rows.size()) != total) {
    throw Error("exchange: the plan has no index lists for this rank");
  }
  return {{}, device.move_in(rows.data(), total, 1, ElementType::i64)};
}

void pack_rows(Device& device, const Tensor& from, const Tensor& buffer, const BufferRows& list) {
  if (list.runs.defined()) device.run(CopyRuns{from, buffer, list.runs, buffer.rows(), false});
  if (list.rows.defined()) {
    device.run(CopyRows{from, buffer, list.rows, {}, buffer.rows(), 0, 0, from.columns(), false});
  }
}

void unpack_rows(Device& device, const Tensor& buffer, const Tensor& to, const BufferRows& list, bool accumulate) {
  if (list.runs.defined()) device.run(CopyRuns{buffer, to, list.runs, buffer.rows(), accumulate});
  if (list.rows.defined()) {
    device.run(CopyRows{buffer, to, {}, list.rows, buffer.rows(), 0, 0, to.columns(), accumulate});
  }
}

/// The rows of a tensor that `moves` pack for, or unpack from, each peer in turn, of whose rows `count` tells the
/// numbers.
std::shared_ptr<const PeerPieces> pieces_of(const std::vector<RowMove>& moves, const std::vector<std::int64_t>& count,
                                            std::int64_t RowMove::*row_in_tensor) {
  auto pieces = std::make_shared<PeerPieces>(count.size());
  std::size_t peer = 0;
  std::int64_t left = count.front();
  for (const RowMove& move : moves) {
    while (left == 0) left = count[++peer];
    (*pieces)[peer].push_back({move.*row_in_tensor, move.rows});
    left -= move.rows;
  }
  return pieces;
}

/// Ranges that stand for pieces: numbers of rows alone.
std::vector<PeerRows> counts_of(std::vector<PeerRows> rows) {
  for (PeerRows& peer : rows) peer.first = 0;
  return rows;
}

/// Per-peer row ranges: in the tensor itself when `first` says where, else one after the other in a buffer.
std::vector<PeerRows> peer_rows(const std::vector<std::int64_t>& count, const std::vector<std::int64_t>* first) {
  std::vector<PeerRows> rows;
  std::int64_t next = 0;
  for (std::size_t q = 0; q < count.size(); ++q) {
    rows.push_back({first != nullptr && count[q] != 0 ? (*first)[q] : (first != nullptr ? 0 : next), count[q]});
    next += count[q];
  }
  return rows;
}

}  // namespace

Exchange::Exchange(Device& device, const ExchangePlan& plan, Traffic traffic)
    : identity_(plan.identity),
      moves_between_ranks_(plan.total_rows() != 0),
      fan_out_(plan.fan_out),
      traffic_(traffic) {
  const RankExchange& rank = plan.ranks[static_cast<std::size_t>(device.rank())];
  input_rows_ = rank.input_rows;
  output_rows_ = rank.output_rows;
  if (identity_) return;
  forward_.send_in_place = rank.send_in_place;
  forward_.receive_in_place = rank.receive_in_place;
  forward_.send_rows = peer_rows(rank.send_count, rank.send_in_place ? &rank.send_first : nullptr);
  forward_.receive_rows = peer_rows(rank.receive_count, rank.receive_in_place ? &rank.receive_first : nullptr);
  forward_.send_total = rank.send_total;
  forward_.receive_total = rank.receive_total;
  forward_.kept_rows = rank.kept_rows;
  forward_.keep = move_list(device, rank.keep, rank.keep_moves, false);
  const auto sent = [&](bool reversed, const BufferRows& known) {
    return buffer_rows(device, rank.pack, rank.pack_moves, rank.send_total, &RowMove::from, reversed, known);
  };
  const auto received = [&](bool reversed, const BufferRows& known) {
    return buffer_rows(device, rank.unpack, rank.unpack_moves, rank.receive_total, &RowMove::to, reversed, known);
  };
  if (!rank.send_in_place) forward_.pack = sent(false, {});
  if (!rank.receive_in_place) forward_.unpack = received(false, {});

  backward_.send_in_place = rank.receive_in_place;
  // Rows that went to several places come back from all of them and must be added, so they need a buffer.
  backward_.receive_in_place = rank.send_in_place && !fan_out_;
  backward_.send_rows = forward_.receive_rows;
  backward_.receive_rows = peer_rows(rank.send_count, backward_.receive_in_place ? &rank.send_first : nullptr);
  backward_.send_total = rank.receive_total;
  backward_.receive_total = rank.send_total;
  backward_.kept_rows = rank.kept_rows;
  backward_.keep = move_list(device, rank.keep, rank.keep_moves, true);
  if (!backward_.send_in_place) backward_.pack = received(true, forward_.unpack);
  if (!backward_.receive_in_place) backward_.unpack = sent(true, forward_.pack);
  find_pieces(device, rank);
}

void Exchange::find_pieces(const Device& device, const RankExchange& rank) {
  forward_.send_in_pieces = !rank.send_in_place && long_runs(rank.pack_moves, rank.send_total);
  forward_.receive_in_pieces = !rank.receive_in_place && long_runs(rank.unpack_moves, rank.receive_total);
  backward_.send_in_pieces = forward_.receive_in_pieces;
  backward_.receive_in_pieces = forward_.send_in_pieces && !fan_out_;  // rows from several places are added
  if (!device.has_values()) return;
  if (forward_.send_in_pieces) forward_.pieces.send = pieces_of(rank.pack, rank.send_count, &RowMove::from);
  if (forward_.receive_in_pieces) forward_.pieces.receive = pieces_of(rank.unpack, rank.receive_count, &RowMove::to);
  if (backward_.send_in_pieces) backward_.pieces.send = forward_.pieces.receive;
  if (backward_.receive_in_pieces) backward_.pieces.receive = forward_.pieces.send;
}

Exchange::Flight Exchange::start(Device& device, Communicator& communicator, Way way, const Tensor& from,
                                 const Tensor& to) const {
  const ExchangeSide& here = side(way);
  Flight flight;
  if (moves_between_ranks_) {
    const bool sends_pieces = here.send_in_pieces && communicator.moves_pieces();
    const bool receives_pieces = here.receive_in_pieces && communicator.moves_pieces();
    Tensor send = from;
    if (!here.send_in_place && !sends_pieces) {
      send = device.allocate(here.send_total, from.columns(), from.type());
      pack_rows(device, from, send, here.pack);
    }
    if (!here.receive_in_place && !receives_pieces) {
      flight.receive = device.allocate(here.receive_total, from.columns(), from.type());
    }
    const ExchangePieces pieces{sends_pieces ? here.pieces.send : nullptr,
                                receives_pieces ? here.pieces.receive : nullptr};
    flight.request = communicator.start_all_to_all_v(
        send, sends_pieces ? counts_of(here.send_rows) : here.send_rows, flight.receive.defined() ? flight.receive : to,
        receives_pieces ? counts_of(here.receive_rows) : here.receive_rows, traffic_, pieces);
  }
  if (here.keep.defined()) device.run(CopyRuns{from, to, here.keep, here.kept_rows, false});
  return flight;
}

void Exchange::finish(Device& device, Communicator& communicator, Way way, Flight& flight, const Tensor& to) const {
  if (!moves_between_ranks_) return;
  communicator.wait(flight.request);
  if (flight.receive.defined()) {
    unpack_rows(device, flight.receive, to, side(way).unpack, way == Way::backward && fan_out_);
  }
  flight = {};
}

void Exchange::run(Device& device, Communicator& communicator, Way way, const Tensor& from, const Tensor& to) const {
  Flight flight = start(device, communicator, way, from, to);
  finish(device, communicator, way, flight, to);
}

Tensor Exchange::run_forward(Device& device, Communicator& communicator, const Var& x) const {
  if (x->value.rows() != input_rows_) throw Error("exchange: the tensor has another number of rows than the plan");
  const Tensor y = device.allocate(output_rows_, x->value.columns(), x->value.type());
  run(device, communicator, Way::forward, x->value, y);
  return y;
}

void Exchange::run_backward(Tape& tape, Communicator& communicator, const Var& x, const Variable& result) const {
  Device& on = tape.device();
  const GradientTarget target = tape.target(x);
  const Tensor& value = x->value;
  const Tensor dx = target.accumulate ? on.allocate(value.rows(), value.columns(), value.type()) : target.tensor;
  run(on, communicator, Way::backward, result.gradient, dx);
  if (target.accumulate) on.run(AddScaled{dx, target.tensor, 1.0});
}

Tensor Exchange::give_back(Device& device, Communicator& communicator, const Tensor& gradient) const {
  if (identity_) return gradient;
  const Tensor dx = device.allocate(input_rows_, gradient.columns(), gradient.type());
  run(device, communicator, Way::backward, gradient, dx);
  return dx;
}

Var Exchange::apply(Tape& tape, Communicator& communicator, const Var& x) const {
  if (identity_) return x;
  const Tensor y = run_forward(tape.device(), communicator, x);
  return tape.record(
      y, {x}, [this, &tape, &communicator, x](const Variable& result) { run_backward(tape, communicator, x, result); });
}

Var Exchange::apply_everywhere(Tape& tape, Communicator& communicator, const Var& x) const {
  if (identity_) return x;
  const Tensor y = run_forward(tape.device(), communicator, x);
  return tape.record_collective(
      y, [this, &tape, &communicator, x](const Variable& result) { run_backward(tape, communicator, x, result); });
}

}  // namespace strobe
