// Every rank runs the same list of collectives. A barrier before each makes ranks enter together, and spans separate
// the wait for stragglers from communication. So the median of rank 0's communicate spans is the time of the links.
// Amounts follow the ring volumes of Communicator, like the simulator's (backends/sim/cost/collective_cost.hpp). Cost:
// a few hundred collectives, with eightfold growing buffers.
#include "harness/calibration/collective_timings.hpp"

#include "backends/sim/cost/collective_cost.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

constexpr int repeats = 9;

/// Rows of an even exchange: `rows` for each peer, none for the rank itself.
std::vector<PeerRows> even_rows(int ranks, int self, std::int64_t rows) {
  std::vector<PeerRows> list;
  for (int q = 0; q < ranks; ++q) list.push_back({q * rows, q == self ? 0 : rows});
  return list;
}

std::vector<PeerRows> all_rows(int ranks, std::int64_t rows) {
  std::vector<PeerRows> list;
  for (int q = 0; q < ranks; ++q) list.push_back({q * rows, rows});
  return list;
}

/// Buffers of one size on one rank: `part` rows of 8 bytes for each rank.
struct Buffers {
  std::int64_t part;
  Tensor own, all, other;
};

/// Runs one collective of the kind on all ranks. Returns the load that the simulator would see.
sim::CollectiveLoad carry_out(CollectiveKind kind, Communicator& c, const Buffers& b) {
  const int ranks = c.size(), self = c.rank();
  sim::CollectiveLoad load;
  load.kind = kind;
  load.bytes = b.all.bytes();
  load.smallest_part_bytes = b.own.bytes();
  switch (kind) {
    case CollectiveKind::all_to_all_v:
      c.all_to_all_v(b.all, even_rows(ranks, self, b.part), b.other, even_rows(ranks, self, b.part), Traffic::other);
      break;
    case CollectiveKind::all_reduce:
      c.all_reduce(b.all, Traffic::other);
      break;
    case CollectiveKind::all_gather_v:
      c.all_gather_v(b.own, b.all, all_rows(ranks, b.part), Traffic::other);
      break;
    case CollectiveKind::reduce_scatter:
      c.reduce_scatter(b.all, all_rows(ranks, b.part), b.own, Traffic::other);
      break;
    case CollectiveKind::broadcast:
      c.broadcast(b.all, 0, Traffic::other);
      break;
    case CollectiveKind::send:
    case CollectiveKind::receive:
      if (self == 1) c.send(b.all, 0, 0, Traffic::other);
      if (self == 0) c.receive(b.all, 1, 0, Traffic::other);
      break;
    case CollectiveKind::barrier:
      c.barrier();
      break;
  }
  return load;
}

/// Bytes and peers of the busiest rank.
void fill_amounts(const sim::CollectiveLoad& load, const Buffers& b, int ranks, CollectiveTiming& sample) {
  if (load.kind == CollectiveKind::all_to_all_v) {
    sample.bytes = static_cast<double>(b.own.bytes()) * (ranks - 1);
    sample.messages = ranks - 1;
    return;
  }
  sample.bytes = sim::busiest_rank_bytes(load, ranks);
  sample.messages = sim::busiest_rank_messages(load, ranks);
}

/// Median communication time of the collective's blocking spans from `first` on. If the median is 0, the mean: in most
/// spans, other ranks had already moved the data.
double typical_seconds(const std::vector<Span>& spans, std::size_t first, std::string_view name) {
  std::vector<double> seconds;
  for (std::size_t i = first; i < spans.size(); ++i) {
    if (spans[i].name != name || spans[i].phase != Phase::communicate || !spans[i].blocking) continue;
    seconds.push_back(spans[i].end_seconds - spans[i].begin_seconds);
  }
  if (seconds.empty()) return 0;
  const double middle = median(seconds);
  return middle > 0 ? middle : mean(seconds);
}

CollectiveTiming measure(CollectiveKind kind, Device& device, Communicator& c, const Buffers& buffers) {
  carry_out(kind, c, buffers);  // warms buffers and links
  const std::size_t first = device.spans().size();
  sim::CollectiveLoad load;
  for (int i = 0; i < repeats; ++i) {
    c.barrier();
    load = carry_out(kind, c, buffers);
  }
  CollectiveTiming sample;
  sample.collective = collective_names[static_cast<int>(kind == CollectiveKind::receive ? CollectiveKind::send : kind)];
  sample.ranks = c.size();
  fill_amounts(load, buffers, c.size(), sample);
  sample.seconds = sample.flight_seconds =
      typical_seconds(device.spans().spans(), first, collective_names[static_cast<int>(kind)]);
  return sample;
}

/// One message between ranks 0 and 1: half of the median round trip. Between hosts, a span's waiting time includes the
/// way of a notice, so only a round trip contains the whole time of a message.
CollectiveTiming measure_message(Device& device, Communicator& c, const Buffers& buffers) {
  CollectiveTiming sample;
  sample.collective = message_name;
  sample.ranks = c.size();
  sample.bytes = static_cast<double>(buffers.all.bytes());
  sample.messages = 1;
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {  // the first one warms buffers and links
    c.barrier();
    const double begin = device.now();
    if (c.rank() == 0) c.send(buffers.all, 1, 0, Traffic::other);
    if (c.rank() == 1) c.receive(buffers.other, 0, 0, Traffic::other);
    if (c.rank() == 1) c.send(buffers.all, 0, 0, Traffic::other);
    if (c.rank() == 0) c.receive(buffers.other, 1, 0, Traffic::other);
    if (i > 0) seconds.push_back((device.now() - begin) / 2);
  }
  sample.seconds = sample.flight_seconds = median(seconds);
  return sample;
}

}  // namespace

std::vector<CollectiveTiming> collective_timings(const std::string& communicator, const LaunchRequest& request,
                                                 std::uint64_t largest_bytes) {
  std::vector<CollectiveTiming> samples;
  if (request.ranks < 2) return samples;
  const auto& comm = CommunicatorRegistry::instance().find(communicator, "--comm").value;
  constexpr CollectiveKind kinds[] = {CollectiveKind::all_to_all_v, CollectiveKind::all_reduce,
                                      CollectiveKind::all_gather_v, CollectiveKind::reduce_scatter,
                                      CollectiveKind::broadcast,    CollectiveKind::receive};
  comm.launch(request, [&](Device& device, Communicator& c) {
    const auto keep = [&](const CollectiveTiming& sample) {
      if (c.rank() == 0 && sample.seconds > 0) samples.push_back(sample);
    };
    for (std::uint64_t bytes = 8; bytes <= largest_bytes; bytes *= 8) {
      const std::int64_t part = bytes / 8;
      Buffers buffers{part, device.allocate(part, 1, ElementType::f64),
                      device.allocate(part * c.size(), 1, ElementType::f64),
                      device.allocate(part * c.size(), 1, ElementType::f64)};
      for (const Tensor& tensor : {buffers.own, buffers.all, buffers.other}) device.run(Fill{tensor, 0.0});
      for (const CollectiveKind kind : kinds) keep(measure(kind, device, c, buffers));
      keep(measure_message(device, c, buffers));
      if (bytes == 8) keep(measure(CollectiveKind::barrier, device, c, buffers));
    }
  });
  return samples;
}

}  // namespace strobe
