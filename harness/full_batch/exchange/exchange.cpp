#include "harness/full_batch/exchange/exchange.hpp"

#include <utility>
#include <vector>

#include "harness/full_batch/exchange/server_route.hpp"

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

/// Whether a list holds three numbers per run in place of one per row. Depends on counts only, so it is the same with
/// and without lists.
bool long_runs(std::int64_t moves, std::int64_t rows) { return moves > 0 && rows > 3 * moves; }

/// The list of a buffer of `total` rows, which is one side of `moves`. `known` is the list of the opposite direction,
/// if there is one.
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

/// The rows of the tensor that the buffer of sent rows holds, and that of received rows.
BufferRows sent_rows(Device& device, const PeerSide& side, bool reversed, const BufferRows& known) {
  return buffer_rows(device, side.list, side.moves, side.total, &RowMove::from, reversed, known);
}
BufferRows received_rows(Device& device, const PeerSide& side, bool reversed, const BufferRows& known) {
  return buffer_rows(device, side.list, side.moves, side.total, &RowMove::to, reversed, known);
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

/// The rows of a tensor that a side's list packs for, or unpacks from, each of `ranks` peers in turn.
std::shared_ptr<const PeerPieces> pieces_of(const PeerSide& side, int ranks, std::int64_t RowMove::*row_in_tensor) {
  auto pieces = std::make_shared<PeerPieces>(static_cast<std::size_t>(ranks));
  auto move = side.list.begin();
  for (const PeerPart& part : side.parts()) {
    for (int i = 0; i < part.peers; ++i) {
      for (std::int64_t left = part.count; left > 0; ++move) {
        (*pieces)[static_cast<std::size_t>(part.peer) + static_cast<std::size_t>(i)].push_back(
            {(*move).*row_in_tensor, move->rows});
        left -= move->rows;
      }
    }
  }
  return pieces;
}

/// The side with its peers' rows one after the other in a buffer.
PeerSide in_buffer(const PeerSide& side) {
  PeerSide buffered;
  buffered.in_place = false;
  buffered.total = side.total;
  buffered.peers = side.peers;
  if (side.peers->totals().packed) return buffered;
  PeerParts parts;
  std::int64_t next = 0;
  for (const PeerPart& part : side.parts()) {
    append_part(parts, {next, part.count, part.peer, part.peers});
    next += part.count * part.peers;
  }
  buffered.peers = listed_peers(std::move(parts));
  return buffered;
}

}  // namespace

struct Exchange::Served {
  Served(Device& device, const ServerRoute& route, Traffic traffic)
      : push(device, route.push, traffic),
        pull(device, route.pull, traffic),
        push_back(device, route.push_back, traffic),
        pull_back(device, route.pull_back, traffic) {}
  Exchange push, pull, push_back, pull_back;
};

Exchange::Exchange(Device& device, const ExchangePlan& plan, Traffic traffic)
    : plan_(&plan), rank_(&plan.of(device.rank())), traffic_(traffic) {
  const bool moves = rank_->send.total != 0 || rank_->receive.total != 0 || rank_->kept_rows != 0;
  if (!plan.identity && moves) sides_ = make_sides(device);
  if (plan.servers != nullptr) served_ = std::make_shared<const Served>(device, *plan.servers, traffic);
}

std::shared_ptr<const Exchange::Sides> Exchange::make_sides(Device& device) const {
  const PartScope part(device, MemoryPart::buffers);
  auto sides = std::make_shared<Sides>();
  ExchangeSide& forward = sides->forward;
  const RankExchange& rank = *rank_;
  forward.send = &rank.send;
  forward.receive = &rank.receive;
  forward.receive_in_place = rank.receive.in_place;
  forward.keep = move_list(device, rank.keep, rank.keep_moves, false);
  if (plan_->servers == nullptr) {
    if (!rank.send.in_place) forward.pack = sent_rows(device, rank.send, false, {});
    if (!rank.receive.in_place) forward.unpack = received_rows(device, rank.receive, false, {});
  }
  if (!plan_->one_way) add_backward(device, *sides);
  find_pieces(device, *sides);
  return sides;
}

void Exchange::add_backward(Device& device, Sides& sides) const {
  const ExchangeSide& forward = sides.forward;
  ExchangeSide& backward = sides.backward;
  const RankExchange& rank = *rank_;
  // Rows that went to several places come back from all of them and must be added, so they need a buffer.
  backward.receive_in_place = rank.send.in_place && !plan_->fan_out;
  if (rank.send.in_place && plan_->fan_out) sides.added = in_buffer(rank.send);
  backward.send = &rank.receive;
  backward.receive = rank.send.in_place && plan_->fan_out ? &sides.added : &rank.send;
  backward.keep = move_list(device, rank.keep, rank.keep_moves, true);
  const bool served = plan_->servers != nullptr;
  if (!rank.receive.in_place && !served) backward.pack = received_rows(device, rank.receive, true, forward.unpack);
  if (served ? plan_->fan_out : !backward.receive_in_place)
    backward.unpack = sent_rows(device, rank.send, true, forward.pack);
}

void Exchange::find_pieces(const Device& device, Sides& sides) const {
  if (plan_->servers != nullptr) return;  // the exchanges of the route move the rows
  ExchangeSide &forward = sides.forward, &backward = sides.backward;
  const PeerSide &send = rank_->send, &receive = rank_->receive;
  forward.send_in_pieces = !send.in_place && long_runs(send.moves, send.total);
  forward.receive_in_pieces = !receive.in_place && long_runs(receive.moves, receive.total);
  backward.send_in_pieces = forward.receive_in_pieces;
  backward.receive_in_pieces = forward.send_in_pieces && !plan_->fan_out;  // rows from several places are added
  if (!device.has_values()) {  // pieces move here too, but nobody lists them
    const auto unlisted = std::make_shared<const PeerPieces>();
    forward.pieces = backward.pieces = {unlisted, unlisted};
    return;
  }
  const int ranks = plan_->rank_count;
  if (forward.send_in_pieces) forward.pieces.send = pieces_of(send, ranks, &RowMove::from);
  if (forward.receive_in_pieces) forward.pieces.receive = pieces_of(receive, ranks, &RowMove::to);
  if (backward.send_in_pieces) backward.pieces.send = forward.pieces.receive;
  if (backward.receive_in_pieces) backward.pieces.receive = forward.pieces.send;
}

const ExchangeSide& Exchange::side(Way way) const {
  static const PeerSide nobody;
  static const ExchangeSide nothing{&nobody, &nobody, true, {}, {}, {}, false, false, {}};
  if (!sides_) return nothing;
  return way == Way::forward ? sides_->forward : sides_->backward;
}

Exchange::Flight Exchange::start(Device& device, Communicator& communicator, Way way, const Tensor& from,
                                 const Tensor& to) const {
  if (served_) return start_push(device, communicator, way, from, to);
  const PartScope part(device, MemoryPart::buffers);
  const ExchangeSide& here = side(way);
  Flight flight;
  if (plan_->total_rows() != 0) {
    const bool sends_pieces = here.send_in_pieces && communicator.moves_pieces();
    const bool receives_pieces = here.receive_in_pieces && communicator.moves_pieces();
    Tensor send = from;
    if (!here.send->in_place && !sends_pieces) {
      send = device.allocate(here.send->total, from.columns(), from.type());
      pack_rows(device, from, send, here.pack);
    }
    if (!here.receive_in_place && !receives_pieces) {
      flight.receive = device.allocate(here.receive->total, from.columns(), from.type());
    }
    const ExchangePieces pieces{sends_pieces ? here.pieces.send : nullptr,
                                receives_pieces ? here.pieces.receive : nullptr};
    flight.request = communicator.start_all_to_all_v(
        send, here.send->peers, flight.receive.defined() ? flight.receive : to, here.receive->peers, traffic_, pieces);
  }
  if (here.keep.defined()) device.run(CopyRuns{from, to, here.keep, rank_->kept_rows, false});
  return flight;
}

void Exchange::finish(Device& device, Communicator& communicator, Way way, Flight& flight, const Tensor& to) const {
  if (served_) return finish_pull(device, communicator, way, flight, to);
  if (plan_->total_rows() == 0) return;
  communicator.wait(flight.request);
  if (flight.receive.defined()) {
    unpack_rows(device, flight.receive, to, side(way).unpack, way == Way::backward && plan_->fan_out);
  }
  flight = {};
}

Exchange::Flight Exchange::start_push(Device& device, Communicator& communicator, Way way, const Tensor& from,
                                      const Tensor& to) const {
  const PartScope part(device, MemoryPart::buffers);
  const Exchange& push = way == Way::forward ? served_->push : served_->push_back;
  const Tensor store = device.allocate(push.output_rows(), from.columns(), from.type());
  Flight flight = push.start(device, communicator, Way::forward, from, store);
  flight.store = store;
  if (side(way).keep.defined()) device.run(CopyRuns{from, to, side(way).keep, rank_->kept_rows, false});
  return flight;
}

void Exchange::finish_pull(Device& device, Communicator& communicator, Way way, Flight& flight,
                           const Tensor& to) const {
  const PartScope part(device, MemoryPart::buffers);
  const Tensor store = std::exchange(flight.store, {});
  const Exchange& push = way == Way::forward ? served_->push : served_->push_back;
  const Exchange& pull = way == Way::forward ? served_->pull : served_->pull_back;
  push.finish(device, communicator, Way::forward, flight, store);
  // Gradients are added in the order of an exchange from peer to peer, so that both give the same bits.
  const bool adds = way == Way::backward && plan_->fan_out;
  const Tensor arrived = adds ? device.allocate(rank_->send.total, to.columns(), to.type()) : to;
  pull.run(device, communicator, Way::forward, store, arrived);
  if (adds) unpack_rows(device, arrived, to, side(way).unpack, true);
}

void Exchange::run(Device& device, Communicator& communicator, Way way, const Tensor& from, const Tensor& to) const {
  Flight flight = start(device, communicator, way, from, to);
  finish(device, communicator, way, flight, to);
}

Tensor Exchange::run_forward(Device& device, Communicator& communicator, const Var& x) const {
  if (x->value.rows() != input_rows()) throw Error("exchange: the tensor has another number of rows than the plan");
  const PartScope part(device, MemoryPart::buffers);
  const Tensor y = device.allocate(output_rows(), x->value.columns(), x->value.type());
  if (!rank_->fills_output()) device.run(Fill{y, 0.0});
  run(device, communicator, Way::forward, x->value, y);
  return y;
}

void Exchange::run_backward(Tape& tape, Communicator& communicator, const Var& x, const Variable& result) const {
  Device& on = tape.device();
  const PartScope part(on, MemoryPart::buffers);
  const GradientTarget target = tape.target(x);
  const Tensor& value = x->value;
  const Tensor dx = target.accumulate ? on.allocate(value.rows(), value.columns(), value.type()) : target.tensor;
  if (!rank_->uses_input(plan_->fan_out)) on.run(Fill{dx, 0.0});
  run(on, communicator, Way::backward, result.gradient, dx);
  if (target.accumulate) on.run(AddScaled{dx, target.tensor, 1.0});
}

Tensor Exchange::return_gradient(Device& device, Communicator& communicator, const Tensor& gradient) const {
  if (identity()) return gradient;
  const PartScope part(device, MemoryPart::buffers);
  const Tensor dx = device.allocate(input_rows(), gradient.columns(), gradient.type());
  if (!rank_->uses_input(plan_->fan_out)) device.run(Fill{dx, 0.0});
  run(device, communicator, Way::backward, gradient, dx);
  return dx;
}

Var Exchange::apply(Tape& tape, Communicator& communicator, const Var& x) const {
  if (identity()) return x;
  const Tensor y = run_forward(tape.device(), communicator, x);
  return tape.record(
      y, {x}, [this, &tape, &communicator, x](const Variable& result) { run_backward(tape, communicator, x, result); });
}

Var Exchange::apply_everywhere(Tape& tape, Communicator& communicator, const Var& x) const {
  if (identity()) return x;
  const Tensor y = run_forward(tape.device(), communicator, x);
  return tape.record_collective(
      y, [this, &tape, &communicator, x](const Variable& result) { run_backward(tape, communicator, x, result); });
}

}  // namespace strobe
