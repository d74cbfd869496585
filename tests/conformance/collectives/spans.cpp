// Span cases. The bytes and messages wanted here are written out again from the conventions in communicator.hpp, not
// taken from its code, and the sums over ranks are checked with the communicator itself.
#include <fmt/format.h>

#include <algorithm>

#include "tests/conformance/collectives/collectives.hpp"

namespace strobe::conformance {
namespace {

struct Wanted {
  std::string_view name;
  Traffic traffic;
  std::uint64_t bytes = 0;  // sent by this rank
  std::uint32_t messages = 0;
};

/// The spans that were appended since `from` hold the one blocking communicate span of the collective, at most one
/// wait span directly before it, and nothing else that blocks.
void check_spans(Device& device, Communicator& c, std::size_t from, const Wanted& wanted) {
  int communicates = 0;
  double waited_until = -1;
  for (std::size_t s = from; s < device.spans().size(); ++s) {
    const Span& span = device.spans().spans()[s];
    const auto say = [&](std::string_view what) { return fmt::format("{} span: {}", wanted.name, what); };
    expect(span.end_seconds >= span.begin_seconds, c, say("ends before it begins"));
    expect(span.name == wanted.name && span.traffic == wanted.traffic, c, say("has another name or traffic"));
    expect(span.stream == Stream::communicate, c, say("is not on the communicate stream"));
    if (!span.blocking) continue;
    if (span.phase == Phase::wait) {
      expect(span.sent_bytes == 0 && communicates == 0 && waited_until < 0, c, say("waits twice, late, or with bytes"));
      waited_until = span.end_seconds;
      continue;
    }
    expect(span.phase == Phase::communicate, c, say("is neither wait nor communicate"));
    expect(waited_until < 0 || span.begin_seconds == waited_until, c, say("does not begin where waiting ended"));
    expect(span.sent_bytes == wanted.bytes, c, say(fmt::format("{} bytes, not {}", span.sent_bytes, wanted.bytes)));
    expect(span.messages == wanted.messages, c,
           say(fmt::format("{} messages, not {}", span.messages, wanted.messages)));
    ++communicates;
  }
  expect(communicates == 1, c, fmt::format("{}: {} communicate spans, not 1", wanted.name, communicates));
}

template <class Call>
void check_call(Device& device, Communicator& c, const Wanted& wanted, const Call& call) {
  const std::size_t before = device.spans().size();
  const double begin = device.now();
  call();
  check_spans(device, c, before, wanted);
  for (std::size_t s = before; s < device.spans().size(); ++s) {
    const Span& span = device.spans().spans()[s];
    expect(span.begin_seconds >= begin && span.end_seconds <= device.now(), c, "a span lies outside its call");
  }
}

void spans_of_exchange(Device& device, Communicator& c) {
  // Rank r sends r + 1 rows of 5 floats to each rank with an even number, none to the odd ones.
  std::vector<PeerRows> out, in;
  std::uint64_t bytes = 0;
  std::uint32_t messages = 0;
  for (int q = 0; q < c.size(); ++q) {
    const bool sends = q != c.rank() && q % 2 == 0;
    out.push_back({0, sends ? c.rank() + 1 : 0});
    in.push_back({0, q != c.rank() && c.rank() % 2 == 0 ? q + 1 : 0});
    bytes += sends ? static_cast<std::uint64_t>(c.rank() + 1) * 20 : 0;
    messages += sends ? 1 : 0;
  }
  // Parts may land on the same rows: only counts are looked at here, so each peer gets its own region.
  std::int64_t next = 0;
  for (PeerRows& rows : in) {
    rows.first = next;
    next += rows.count;
  }
  const Tensor send = device.allocate(c.rank() + 1, 5, ElementType::f32);
  const Tensor receive = device.allocate(next, 5, ElementType::f32);
  check_call(device, c, {"all_to_all_v", Traffic::redistribute, bytes, messages},
             [&] { c.all_to_all_v(send, out, receive, in, Traffic::redistribute); });
}

/// Elements of n that fall to rank r, written out: the first n mod P ranks have one more.
std::uint64_t share(std::uint64_t n, int ranks, int r) {
  const std::uint64_t p = ranks;
  return n / p + (static_cast<std::uint64_t>(r) < n % p ? 1 : 0);
}

void spans_of_reductions(Device& device, Communicator& c) {
  const auto peers = static_cast<std::uint32_t>(c.size() - 1);
  const Tensor tensor = device.allocate(23, 1, ElementType::f64);
  const std::uint64_t reduced = 2 * 8 * (23 - share(23, c.size(), c.rank()));
  check_call(device, c, {"all_reduce", Traffic::gradient, reduced, 2 * peers},
             [&] { c.all_reduce(tensor, Traffic::gradient); });
  check_call(device, c, {"all_reduce", Traffic::other, reduced, 2 * peers},
             [&] { c.all_reduce(tensor, Traffic::other, Reduction::max); });
  std::vector<PeerRows> rows;
  for (int q = 0; q < c.size(); ++q) rows.push_back({3 * q, 3});
  const Tensor send = device.allocate(3 * c.size(), 2, ElementType::f32);
  const Tensor receive = device.allocate(3, 2, ElementType::f32);
  check_call(device, c, {"reduce_scatter", Traffic::gradient, 24ull * peers, peers},
             [&] { c.reduce_scatter(send, rows, receive, Traffic::gradient); });
}

void spans_of_copies(Device& device, Communicator& c) {
  const auto peers = static_cast<std::uint32_t>(c.size() - 1);
  std::vector<PeerRows> rows;
  for (int q = 0; q < c.size(); ++q) rows.push_back({q, q == 0 ? 0 : 1});  // rank 0 brings nothing
  const std::int64_t own = c.rank() == 0 ? 0 : 1;
  const Tensor part = device.allocate(own, 6, ElementType::i64);
  const Tensor whole = device.allocate(c.size(), 6, ElementType::i64);
  check_call(device, c,
             {"all_gather_v", Traffic::memory, 48ull * static_cast<std::uint64_t>(own) * peers, own == 0 ? 0 : peers},
             [&] { c.all_gather_v(part, whole, rows, Traffic::memory); });
  const int root = c.size() - 1;
  const bool sends = c.rank() == root;
  check_call(device, c, {"broadcast", Traffic::state, sends ? whole.bytes() * peers : 0, sends ? peers : 0},
             [&] { c.broadcast(whole, root, Traffic::state); });
  check_call(device, c, {"barrier", Traffic::other, 0, 0}, [&] { c.barrier(); });
}

void spans_of_messages(Device& device, Communicator& c) {
  if (c.size() == 1) return;
  const Tensor tensor = device.allocate(9, 3, ElementType::f32);
  if (c.rank() == 0) {
    check_call(device, c, {"send", Traffic::halo, 108, 1}, [&] { c.send(tensor, 1, 0, Traffic::halo); });
  } else if (c.rank() == 1) {
    check_call(device, c, {"receive", Traffic::halo, 0, 0}, [&] { c.receive(tensor, 0, 0, Traffic::halo); });
  }
}

/// A group counts as a communicator of its own size; splitting leaves the span of a barrier.
void spans_of_groups(Device& device, Communicator& c) {
  RankGroups groups(1);
  for (int r = c.size() > 2 ? 1 : 0; r < c.size(); ++r) groups[0].push_back(r);
  std::unique_ptr<Communicator> group;
  check_call(device, c, {"barrier", Traffic::other, 0, 0}, [&] { group = c.split(groups); });
  if (group == nullptr) return;
  spans_of_exchange(device, *group);
  spans_of_reductions(device, *group);
  spans_of_copies(device, *group);
  spans_of_messages(device, *group);
}

/// A collective under way leaves a span that does not block and lies between start and end, and the blocking spans lie
/// within the call of wait.
void spans_of_overlap(Device& device, Communicator& c) {
  const Tensor tensor = device.allocate(1000, 1, ElementType::f32);
  for (float& value : tensor.values<float>()) value = 0;
  const std::size_t before = device.spans().size();
  Request request = c.start_all_reduce(tensor, Traffic::gradient);
  const double started = request.started_seconds;
  double clock = device.now();
  for (int spin = 0; spin < 1000000 && clock <= started; ++spin) clock = device.now();
  c.wait(request);
  const auto peers = static_cast<std::uint32_t>(c.size() - 1);
  check_spans(device, c, before,
              {"all_reduce", Traffic::gradient, 2 * 4 * (1000 - share(1000, c.size(), c.rank())), 2 * peers});
  int covering = 0;
  for (std::size_t s = before; s < device.spans().size(); ++s) {
    const Span& span = device.spans().spans()[s];
    if (span.blocking) {
      expect(span.begin_seconds >= clock, c, "a blocking span begins before wait was called");
    } else {
      const bool inside = span.begin_seconds >= started && span.end_seconds <= device.now();
      expect(inside && span.sent_bytes == 0, c, "the covering span is wrong");
      ++covering;
    }
  }
  // On a virtual clock nothing may have passed between start and wait.
  expect(covering == (clock > started ? 1 : 0), c, "an overlapped collective has one covering span");
}

/// Sent bytes summed over ranks follow the ring volumes.
void volumes_over_ranks(Device& device, Communicator& c) {
  const std::size_t before = device.spans().size();
  const Tensor tensor = device.allocate(31, 1, ElementType::f64);
  for (double& value : tensor.values<double>()) value = 0;
  c.all_reduce(tensor, Traffic::gradient);
  std::int64_t sent = 0;
  for (std::size_t s = before; s < device.spans().size(); ++s) {
    sent += static_cast<std::int64_t>(device.spans().spans()[s].sent_bytes);
  }
  const Tensor sum = device.allocate(1, 1, ElementType::i64);
  sum.data<std::int64_t>()[0] = sent;
  c.all_reduce(sum, Traffic::other);
  expect(sum.data<std::int64_t>()[0] == 2 * 248 * (c.size() - 1), c, "all_reduce does not send 2 E (P - 1) in all");
}

void wrong_calls(Device& device, Communicator& c) {
  const auto refused = [&](const auto& call, std::string_view what) {
    try {
      call();
    } catch (const Error&) {
      return;
    }
    expect(false, c, fmt::format("{} is not refused", what));
  };
  const std::size_t ranks = c.size();
  const Tensor tensor = device.allocate(2, 2, ElementType::f32);
  std::vector<PeerRows> own(ranks), none(ranks), beyond(ranks);
  own[c.rank()] = {0, 1};
  beyond.back() = {1, 2};
  refused([&] { c.all_to_all_v(tensor, own, tensor, none, Traffic::halo); }, "sending own rows");
  refused([&] { c.all_to_all_v(tensor, beyond, tensor, none, Traffic::halo); }, "sending rows that are not there");
  refused([&] { c.all_gather_v(tensor, tensor, none, Traffic::halo); }, "gathering another number of rows");
  refused([&] { c.broadcast(tensor, c.size(), Traffic::state); }, "a root outside the ranks");
  refused([&] { c.send(tensor, c.rank(), 0, Traffic::state); }, "a message to oneself");
  Request request = c.start_broadcast(tensor, 0, Traffic::state);
  c.wait(request);
  refused([&] { c.wait(request); }, "waiting twice");
}

constexpr CollectiveCase cases[] = {
    {"spans of all_to_all_v", spans_of_exchange}, {"spans of reductions", spans_of_reductions},
    {"spans of copies", spans_of_copies},         {"spans of messages", spans_of_messages},
    {"spans of groups", spans_of_groups},         {"spans of an overlapped collective", spans_of_overlap},
    {"volumes over ranks", volumes_over_ranks},   {"wrong calls", wrong_calls},
};

}  // namespace

std::span<const CollectiveCase> span_cases() { return cases; }

}  // namespace strobe::conformance
