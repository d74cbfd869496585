// Invariants: between any two epochs a reader's copy of a row equals the sender's copy, bit for bit. The subset of rows
// travels before the rows, so both sides of every collective agree. The records on the tape do not depend on values.
#include "harness/full_batch/exchange/stale_exchange.hpp"

#include <algorithm>
#include <cstring>

#include "backends/host/host_memory.hpp"
#include "backends/operations/operations_distance.hpp"

namespace strobe {

struct StaleExchange::OnHost {
  StaleSlots slots;
  HostMemory current, last;  // [compared, F] if the host compares; `last` holds the rows as sent last
  HostMemory measured;       // f64 [compared] if the device compares
  std::vector<double> distances;
  double largest = 0;
  MovedRows moved;
  PeerSubsets subsets;  // of `moved`
};

namespace {

/// A list [n, 1] on the device. It has values only if the device has values.
template <class T>
Tensor list_on(Device& device, const std::vector<T>& values, std::int64_t count) {
  if (count == 0) return device.allocate(0, 1, element_type_of<T>);
  if (device.has_values() && static_cast<std::int64_t>(values.size()) != count)
    throw Error("stale exchange: the plan has no index lists for this rank");
  return device.move_in(values.data(), count, 1, element_type_of<T>);
}

Tensor run_list(Device& device, const std::vector<RowMove>& moves, std::int64_t count, bool reversed) {
  if (count == 0) return {};
  std::vector<std::int64_t> flat;
  for (const RowMove& move : moves)
    flat.insert(flat.end(), {reversed ? move.to : move.from, reversed ? move.from : move.to, move.rows});
  return device.move_in(flat.data(), count, 3, ElementType::i64);
}

/// Rows of each peer one after the other, for peers that have some.
PeerParts counted_parts(const PeerParts& peers, const std::vector<std::int64_t>& counts) {
  PeerParts parts;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (counts[i] > 0) parts.push_back({next, counts[i], peers[i].peer, 1});
    next += counts[i];
  }
  return parts;
}

/// The bytes of each peer's header.
PeerParts header_parts(const PeerParts& peers) {
  std::vector<std::int64_t> bytes;
  for (const PeerPart& peer : peers) bytes.push_back(subset_header_bytes(peer.count));
  return counted_parts(peers, bytes);
}

/// Whether any rank sends another more rows than a header alone can name.
bool needs_lists(const ExchangePlan& plan) {
  return std::any_of(plan.ranks.begin(), plan.ranks.end(),
                     [](const RankExchange& rank) { return subset_has_list(rank.send.peers->totals().most_rows); });
}

void exchange_rows(Communicator& communicator, const Tensor& from, const PeerParts& send, const Tensor& to,
                   const PeerParts& receive, Traffic traffic) {
  Request request = communicator.start_all_to_all_v(from, listed_peers(send), to, listed_peers(receive), traffic);
  communicator.wait(request);
}

/// to[i] = from[rows[i]].
void pick(Device& device, const Tensor& from, const Tensor& rows, const Tensor& to) {
  device.run(CopyRows{from, to, rows, {}, to.rows(), 0, 0, to.columns(), false});
}

/// to[rows[i]] = from[i], or added.
void put(Device& device, const Tensor& from, const Tensor& rows, const Tensor& to, bool add = false) {
  device.run(CopyRows{from, to, {}, rows, from.rows(), 0, 0, to.columns(), add});
}

double maximum(Device& device, Communicator& communicator, double own, Traffic traffic) {
  const Tensor largest = device.move_in(&own, 1, 1, ElementType::f64);
  communicator.all_reduce(largest, traffic, Reduction::max);
  device.move_out(largest, &own);
  return own;
}

}  // namespace

StaleExchange::StaleExchange(Device& device, const ExchangePlan& plan, Traffic traffic, const StaleThreshold& threshold,
                             const Input& input)
    : plan_(&plan),
      rank_(&plan.of(device.rank())),
      traffic_(traffic),
      threshold_(&threshold),
      input_(input),
      exchange_(device, plan, traffic),
      host_(std::make_shared<OnHost>()),
      lists_(needs_lists(plan)) {
  const PartScope part(device, MemoryPart::buffers);
  host_->slots = stale_slots(plan, device.rank());
  const StaleSlots& slots = host_->slots;
  keep_ = run_list(device, rank_->keep, rank_->keep_moves, false);
  keep_back_ = run_list(device, rank_->keep, rank_->keep_moves, true);
  compared_ = list_on(device, slots.rows, slots.compared);
  output_rows_ = list_on(device, slots.output_of, slots.received());
}

std::uint64_t StaleExchange::added_bytes(const ExchangePlan& plan) {
  std::uint64_t bytes = 2 * static_cast<std::uint64_t>(plan.rank_count - 1) * sizeof(double);
  for (const RankExchange& rank : plan.ranks) {
    for (const PeerPart& part : rank.send.parts())
      bytes += static_cast<std::uint64_t>(part.peers * subset_header_bytes(part.count));
  }
  return bytes;
}

Var StaleExchange::apply(Tape& tape, Communicator& communicator, const Var& x, std::int64_t epoch) {
  if (x->value.rows() != rank_->input_rows)
    throw Error("stale exchange: the tensor has another number of rows than the plan");
  const PartScope part(tape.device(), MemoryPart::buffers);
  if (epoch != epoch_) advance(tape.device(), communicator, x->value);
  epoch_ = epoch;
  const auto back = [this, &tape, &communicator, x, sent = sent_](const Variable& result) {
    tape.add_gradient(x, return_gradient(tape.device(), communicator, result.gradient, *sent));
  };
  const Tensor y = assemble(tape.device(), x->value);
  return input_.constant ? tape.record(y, {x}, back) : tape.record_collective(y, back);
}

void StaleExchange::advance(Device& device, Communicator& communicator, const Tensor& x) {
  if (!received_.defined()) return send_all(device, communicator, x);
  if (input_.constant) {
    sent_ = std::make_shared<const Sent>();
    return;
  }
  send_moved(device, communicator, x);
}

void StaleExchange::send_all(Device& device, Communicator& communicator, const Tensor& x) {
  const Tensor y = device.allocate(rank_->output_rows, x.columns(), x.type());
  Exchange::Flight flight = exchange_.start(device, communicator, Exchange::Way::forward, x, y);
  exchange_.finish(device, communicator, Exchange::Way::forward, flight, y);
  received_ = device.allocate(host_->slots.received(), x.columns(), x.type());
  pick(device, y, output_rows_, received_);
  if (!input_.constant) keep_compared(device, compared_rows(device, x));
  auto sent = std::make_shared<Sent>();
  sent->all = true;
  sent_ = std::move(sent);
}

/// Makes `current` the rows as sent last.
void StaleExchange::keep_compared(Device& device, const Tensor& current) {
  if (!threshold_->policy().distances_on_host) {
    last_ = current;
    return;
  }
  host_->current = device.allocate_host(current.bytes());
  host_->last = device.allocate_host(current.bytes());
  if (current.rows() > 0) device.await(device.start_move_out(current, host_->last));
}

Tensor StaleExchange::compared_rows(Device& device, const Tensor& x) const {
  const Tensor current = device.allocate(host_->slots.compared, x.columns(), x.type());
  pick(device, x, compared_, current);
  return current;
}

void StaleExchange::send_moved(Device& device, Communicator& communicator, const Tensor& x) {
  const Tensor current = compared_rows(device, x);
  measure(device, current);
  const double largest = maximum(device, communicator, host_->largest, traffic_);
  choose(device, current, threshold_->share() * largest);
  carry(device, communicator, current);
}

/// Brings to the host the distance of each row to the row as sent last, and the largest distance.
void StaleExchange::measure(Device& device, const Tensor& current) {
  const bool on_host = threshold_->policy().distances_on_host, values = device.has_values();
  const std::int64_t rows = current.rows();
  HostWork work;
  if (values) host_->distances.resize(rows);
  if (on_host) {
    work.name = "stale_distances";
    work.work = distance_work(rows, current.columns(), current.row_bytes());
    if (rows > 0) work.after = {device.start_move_out(current, host_->current)};
    work.body = [host = host_, type = current.type(), width = current.columns()](Workers& workers) {
      compute_distances(workers, type, width, host->current.raw(), host->last.raw(), host->distances);
      host->largest = largest_distance(host->distances);
    };
  } else {
    const Tensor distance = device.allocate(rows, 1, ElementType::f64);
    device.run(RowDistances{current, last_, distance});
    if (host_->measured.bytes() != distance.bytes()) host_->measured = device.allocate_host(distance.bytes());
    work.name = "largest_distance";
    work.work = {static_cast<double>(rows), static_cast<double>(distance.bytes()), 8};
    if (rows > 0) work.after = {device.start_move_out(distance, host_->measured)};
    work.body = [host = host_](Workers&) {
      const std::span<const double> measured(host->measured.data<double>(), host->distances.size());
      host->distances.assign(measured.begin(), measured.end());
      host->largest = largest_distance(host->distances);
    };
  }
  if (!values) work.body = {};
  device.await(device.run_on_host(std::move(work)));
}

/// Chooses the rows to send, and records them as sent last.
void StaleExchange::choose(Device& device, const Tensor& current, double threshold) {
  const bool on_host = threshold_->policy().distances_on_host;
  HostWork work;
  work.name = "stale_choice";
  work.work = choice_work(current.rows(), host_->slots.sent());
  if (device.has_values()) {
    work.body = [host = host_, on_host, threshold, row_bytes = current.row_bytes()](Workers&) {
      host->moved = moved_rows(host->slots, host->distances, threshold);
      host->subsets = encoded_subsets(host->slots.send, host->moved);
      if (!on_host) return;
      for (const std::int64_t row : host->moved.moved) {
        const std::size_t at = static_cast<std::size_t>(row) * row_bytes;
        std::memcpy(host->last.raw() + at, host->current.raw() + at, row_bytes);
      }
    };
  } else {
    host_->moved = assumed_rows(host_->slots, input_.assumed_share);
    host_->subsets = assumed_subsets(host_->slots.send, host_->moved.counts);
  }
  device.await(device.run_on_host(std::move(work)));
  const std::int64_t moved = host_->moved.moved.size();
  if (on_host || moved == 0) return;
  const Tensor rows = list_on(device, host_->moved.moved, moved);
  device.run(CopyRows{current, last_, rows, rows, moved, 0, 0, current.columns(), false});
}

/// Tells readers which rows come. Returns what this rank's senders tell it.
PeerSubsets StaleExchange::tell_subsets(Device& device, Communicator& communicator) const {
  const StaleSlots& slots = host_->slots;
  const PeerSubsets& out = host_->subsets;
  const auto exchanged = [&](const std::vector<std::uint8_t>& bytes, const PeerParts& send, const PeerParts& receive) {
    const Tensor from = list_on(device, bytes, rows_of_parts(send)),
                 to = device.allocate(rows_of_parts(receive), 1, ElementType::u8);
    exchange_rows(communicator, from, send, to, receive, traffic_);
    std::vector<std::uint8_t> arrived(static_cast<std::size_t>(to.rows()));
    device.move_out(to, arrived.data());
    return arrived;
  };
  std::vector<std::uint8_t> headers = exchanged(out.headers, header_parts(slots.send), header_parts(slots.receive));
  PeerSubsets in = device.has_values()
                       ? announced_subsets(slots.receive, std::move(headers))
                       : assumed_subsets(slots.receive, assumed_counts(slots.receive, input_.assumed_share));
  if (!lists_) return in;
  in.lists =
      exchanged(out.lists, counted_parts(slots.send, out.list_bytes), counted_parts(slots.receive, in.list_bytes));
  return in;
}

/// Sends readers the subset of rows that come, then the rows themselves.
void StaleExchange::carry(Device& device, Communicator& communicator, const Tensor& current) {
  const StaleSlots& slots = host_->slots;
  const MovedRows& moved = host_->moved;
  auto sent = std::make_shared<Sent>();
  const PeerSubsets incoming = tell_subsets(device, communicator);
  sent->send = counted_parts(slots.send, moved.counts);
  sent->receive = counted_parts(slots.receive, incoming.counts);
  sent->out = rows_of_parts(sent->send);
  sent->in = rows_of_parts(sent->receive);
  const auto like = [&](std::int64_t rows) { return device.allocate(rows, current.columns(), current.type()); };
  const Tensor rows = like(sent->out), rows_in = like(sent->in);
  if (sent->out > 0) pick(device, current, list_on(device, moved.rows, sent->out), rows);
  exchange_rows(communicator, rows, sent->send, rows_in, sent->receive, traffic_);
  std::vector<std::int64_t> input_rows;
  for (const std::int64_t row : moved.rows)
    if (!slots.rows.empty()) input_rows.push_back(slots.rows[row]);
  sent->input_rows = list_on(device, input_rows, sent->out);
  take_in(device, incoming, rows_in, *sent);
  sent_ = std::move(sent);
}

/// Puts arrived rows into the slots of the earlier ones.
void StaleExchange::take_in(Device& device, const PeerSubsets& subsets, const Tensor& rows, Sent& sent) {
  const StaleSlots& slots = host_->slots;
  std::vector<std::int64_t> slot, output;
  if (device.has_values()) slot = decoded_slots(slots.receive, subsets);
  for (const std::int64_t at : slot) output.push_back(slots.output_of[at]);
  sent.output_rows = list_on(device, output, sent.in);
  if (sent.in > 0) put(device, rows, list_on(device, slot, sent.in), received_);
}

void StaleExchange::keep_own(Device& device, const Tensor& from, const Tensor& to, bool reversed) const {
  const Tensor& runs = reversed ? keep_back_ : keep_;
  if (runs.defined()) device.run(CopyRuns{from, to, runs, rank_->kept_rows, false});
}

Tensor StaleExchange::assemble(Device& device, const Tensor& x) const {
  const Tensor y = device.allocate(rank_->output_rows, x.columns(), x.type());
  keep_own(device, x, y, false);
  put(device, received_, output_rows_, y);
  return y;
}

/// The gradient of the input from that of the output.
Tensor StaleExchange::return_gradient(Device& device, Communicator& communicator, const Tensor& gradient,
                                      const Sent& sent) const {
  const PartScope part(device, MemoryPart::buffers);
  if (sent.all || threshold_->policy().gradient_always)
    return exchange_.return_gradient(device, communicator, gradient);
  const auto like = [&](std::int64_t rows) { return device.allocate(rows, gradient.columns(), gradient.type()); };
  const Tensor back = like(sent.in), come = like(sent.out), dx = like(rank_->input_rows);
  if (sent.in > 0) pick(device, gradient, sent.output_rows, back);
  exchange_rows(communicator, back, sent.receive, come, sent.send, traffic_);
  if (rank_->kept_rows != rank_->input_rows) device.run(Fill{dx, 0.0});
  keep_own(device, gradient, dx, true);
  if (sent.out > 0) put(device, come, sent.input_rows, dx, true);
  return dx;
}

Tensor StaleExchange::gather(Device& device, Communicator& communicator) const {
  if (!received_.defined()) return {};
  const PartScope part(device, MemoryPart::buffers);
  std::vector<PeerRows> rows;
  std::int64_t total = 0;
  for (Rank r = 0; r < plan_->rank_count; ++r) {
    rows.push_back({total, plan_->of(r).receive.total});
    total += rows.back().count;
  }
  const Tensor all = device.allocate(total, received_.columns(), received_.type());
  communicator.all_gather_v(received_, all, std::move(rows), Traffic::other);
  return all;
}

void StaleExchange::restore(Device& device, const Tensor& all) {
  const PartScope part(device, MemoryPart::buffers);
  const StaleSlots& slots = host_->slots;
  std::vector<std::int64_t> held(slots.rows.size());  // for each compared row, a row of `all` that a reader holds
  std::int64_t first = 0;
  for (Rank r = 0; r < plan_->rank_count; ++r) {
    const PeerSide& side = plan_->of(r).receive;
    if (r == device.rank()) {
      received_ = device.allocate(side.total, all.columns(), all.type());
      device.run(
          CopyRows{all.slice_rows(first, side.total), received_, {}, {}, side.total, 0, 0, all.columns(), false});
    }
    const std::int64_t from_here = first + side.peers->rows_between(0, device.rank());
    for (const PeerPart& reader : slots.send) {
      for (std::int64_t i = 0; reader.peer == r && i < reader.count; ++i)
        held[slots.row_of[reader.first + i]] = from_here + i;
    }
    first += side.total;
  }
  if (input_.constant) return;
  const Tensor current = device.allocate(slots.compared, all.columns(), all.type());
  pick(device, all, list_on(device, held, slots.compared), current);
  keep_compared(device, current);
}

}  // namespace strobe
