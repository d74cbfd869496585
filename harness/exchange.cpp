#include "harness/exchange.hpp"

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
  if (!rank.send_in_place) forward_.pack = move_list(device, rank.pack, rank.pack_moves, false);
  if (!rank.receive_in_place) forward_.unpack = move_list(device, rank.unpack, rank.unpack_moves, false);

  backward_.send_in_place = rank.receive_in_place;
  // Rows that went to several places come back from all of them and must be added, so they need a buffer.
  backward_.receive_in_place = rank.send_in_place && !fan_out_;
  backward_.send_rows = forward_.receive_rows;
  backward_.receive_rows = peer_rows(rank.send_count, backward_.receive_in_place ? &rank.send_first : nullptr);
  backward_.send_total = rank.receive_total;
  backward_.receive_total = rank.send_total;
  backward_.kept_rows = rank.kept_rows;
  backward_.keep = move_list(device, rank.keep, rank.keep_moves, true);
  if (!backward_.send_in_place) backward_.pack = move_list(device, rank.unpack, rank.unpack_moves, true);
  if (!backward_.receive_in_place) backward_.unpack = move_list(device, rank.pack, rank.pack_moves, true);
}

void Exchange::run(Device& device, Communicator& communicator, const ExchangeSide& side, bool accumulate,
                   const Tensor& from, const Tensor& to) const {
  Tensor send = from, receive = to;
  Request request;
  if (moves_between_ranks_) {
    if (!side.send_in_place) {
      send = device.allocate(side.send_total, from.columns(), from.type());
      if (side.pack.defined()) device.run(CopyRuns{from, send, side.pack, side.send_total, false});
    }
    if (!side.receive_in_place) receive = device.allocate(side.receive_total, from.columns(), from.type());
    request = communicator.start_all_to_all_v(send, side.send_rows, receive, side.receive_rows, traffic_);
  }
  if (side.keep.defined()) device.run(CopyRuns{from, to, side.keep, side.kept_rows, false});
  if (!moves_between_ranks_) return;
  communicator.wait(request);
  if (side.unpack.defined()) device.run(CopyRuns{receive, to, side.unpack, side.receive_total, accumulate});
}

Tensor Exchange::run_forward(Device& device, Communicator& communicator, const Var& x) const {
  if (x->value.rows() != input_rows_) throw Error("exchange: the tensor has another number of rows than the plan");
  const Tensor y = device.allocate(output_rows_, x->value.columns(), x->value.type());
  run(device, communicator, forward_, false, x->value, y);
  return y;
}

void Exchange::run_backward(Tape& tape, Communicator& communicator, const Var& x, const Variable& result) const {
  Device& on = tape.device();
  const GradientTarget target = tape.target(x);
  const Tensor& value = x->value;
  const Tensor dx = target.accumulate ? on.allocate(value.rows(), value.columns(), value.type()) : target.tensor;
  run(on, communicator, backward_, fan_out_, result.gradient, dx);
  if (target.accumulate) on.run(AddScaled{dx, target.tensor, 1.0});
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
