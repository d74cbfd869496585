// Value cases. Sums are of numbers whose rounding depends on the order of addition, and are compared bit for bit with
// the sum in rank order, so a communicator that adds in another order fails.
#include "tests/conformance/collectives/collectives.hpp"

#include <algorithm>

#include "tests/conformance/collectives/values.hpp"

namespace strobe::conformance {
namespace {

/// Rows that rank `from` sends to rank `to`: uneven, with zeros.
std::int64_t uneven_rows(int from, int to) { return from == to ? 0 : (3 * from + 2 * to) % 4; }

std::vector<PeerRows> consecutive(const std::vector<std::int64_t>& counts) {
  std::vector<PeerRows> rows;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    rows.push_back({first, count});
    first += count;
  }
  return rows;
}

std::int64_t total(const std::vector<PeerRows>& rows) { return rows.back().first + rows.back().count; }

struct Exchange {
  Tensor send, receive;
  std::vector<PeerRows> send_rows, receive_rows;
};

template <class T>
Exchange uneven_exchange(Device& device, Communicator& c, std::int64_t columns) {
  std::vector<std::int64_t> out, in;
  for (int q = 0; q < c.size(); ++q) {
    out.push_back(uneven_rows(c.rank(), q));
    in.push_back(uneven_rows(q, c.rank()));
  }
  Exchange exchange{{}, {}, consecutive(out), consecutive(in)};
  exchange.send = filled<T>(device, total(exchange.send_rows), columns, c.rank());
  exchange.receive = device.allocate(total(exchange.receive_rows), columns, element_type_of<T>);
  return exchange;
}

template <class T>
void check_exchange(const Exchange& exchange, Communicator& c) {
  const std::int64_t columns = exchange.receive.columns();
  for (int q = 0; q < c.size(); ++q) {
    std::int64_t first_of_peer = 0;  // where rank q's rows for this rank begin in its send buffer
    for (int before = 0; before < c.rank(); ++before) first_of_peer += uneven_rows(q, before);
    const PeerRows& rows = exchange.receive_rows[q];
    const T* received = exchange.receive.slice_rows(rows.first, rows.count).data<T>();
    expect_values(c, received, rows.count * columns, fmt::format("rows from rank {}", q),
                  [&](std::int64_t i) { return sample<T>(q, first_of_peer * columns + i); });
  }
}

template <class T>
void all_to_all_v(Device& device, Communicator& c) {
  const Exchange exchange = uneven_exchange<T>(device, c, 3);
  c.all_to_all_v(exchange.send, exchange.send_rows, exchange.receive, exchange.receive_rows, Traffic::redistribute);
  check_exchange<T>(exchange, c);
}

template <class T>
void all_to_all_v_of_listed_peers(Device& device, Communicator& c) {
  const Exchange exchange = uneven_exchange<T>(device, c, 3);
  Request request = c.start_all_to_all_v(exchange.send, listed_peers(exchange.send_rows), exchange.receive,
                                         listed_peers(exchange.receive_rows), Traffic::redistribute);
  c.wait(request);
  check_exchange<T>(exchange, c);
}

void all_to_all_v_of_nothing(Device& device, Communicator& c) {
  const Tensor empty = device.allocate(0, 4, ElementType::f32);
  const std::vector<PeerRows> none(c.size());
  c.all_to_all_v(empty, none, empty, none, Traffic::redistribute);
}

/// Exchanges parts of one tensor. Empty parts begin at the same place. Some exchanges are empty for all ranks,
/// others for some.
void all_to_all_v_within_one_tensor(Device& device, Communicator& c) {
  const Tensor all = filled<float>(device, 2 + c.size(), 2, c.rank());
  const bool first = c.rank() == 0;  // sends its first two rows to all others, which send nothing
  std::vector<PeerRows> out(c.size()), in(out.size());
  const std::vector<PeerRows> none(out.size());
  for (std::size_t q = 1; first && q < out.size(); ++q) out[q] = {0, 2};
  if (!first) in[0] = {0, 2};
  const Tensor send = all.slice_rows(0, first ? 2 : 0), receive = all.slice_rows(0, first ? 0 : 2);
  c.all_to_all_v(all.slice_rows(2, 0), none, all.slice_rows(first ? 2 : 1, 0), none, Traffic::memory);
  std::vector<PeerRows> to_last = none;
  if (first && c.size() > 1) to_last.back() = {0, 2};
  c.all_to_all_v(send, to_last, receive, c.rank() + 1 == c.size() ? in : none, Traffic::memory);
  c.all_to_all_v(send, out, receive, in, Traffic::memory);
  expect_values(c, all.data<float>(), 4, "rows of rank 0", [&](std::int64_t i) { return sample<float>(0, i); });
}

/// Receive parts in another order than the ranks, with rows between them that must keep their values.
void all_to_all_v_leaves_other_rows(Device& device, Communicator& c) {
  const Tensor send = filled<double>(device, 1, 2, c.rank());
  Tensor receive = device.allocate(2 * c.size(), 2, ElementType::f64);
  std::fill_n(receive.data<double>(), receive.elements(), -7.0);
  std::vector<PeerRows> out, in;
  for (int q = 0; q < c.size(); ++q) {
    out.push_back({0, q == c.rank() ? 0 : 1});  // the same row to everyone
    in.push_back({2 * (c.size() - 1 - q), q == c.rank() ? 0 : 1});
  }
  c.all_to_all_v(send, out, receive, in, Traffic::halo);
  for (std::int64_t row = 0; row < receive.rows(); ++row) {
    const int from = c.size() - 1 - static_cast<int>(row / 2);
    const bool written = row % 2 == 0 && from != c.rank();
    expect_values(c, receive.data<double>() + row * 2, 2, fmt::format("row {}", row),
                  [&](std::int64_t k) { return written ? sample<double>(from, k) : -7.0; });
  }
}

template <class T>
void check_all_reduce(Device& device, Communicator& c, std::int64_t rows, std::int64_t columns) {
  const Tensor tensor = filled<T>(device, rows, columns, c.rank());
  c.all_reduce(tensor, Traffic::gradient);
  expect_values(c, tensor.data<T>(), tensor.elements(), fmt::format("all_reduce of {} x {}", rows, columns),
                [&](std::int64_t i) { return sum_in_rank_order<T>(c.size(), i); });
}

/// Rank r has three rows for everyone else, in two pieces, and takes theirs into pieces of another cut, last rows
/// first.
struct PieceLists {
  std::vector<PeerRows> rows;
  ExchangePieces pieces;
  explicit PieceLists(Communicator& c) : rows(static_cast<std::size_t>(c.size())) {
    PeerPieces out(rows.size()), in(rows.size());
    for (std::int64_t q = 0; q < c.size(); ++q) {
      if (q == c.rank()) continue;
      const std::size_t peer = q;
      rows[peer].count = 3;
      out[peer] = {{4 * q + 1, 1}, {4 * q + 2, 2}};
      in[peer] = {{4 * q + 2, 2}, {4 * q, 1}};
    }
    pieces.send = std::make_shared<const PeerPieces>(std::move(out));
    pieces.receive = std::make_shared<const PeerPieces>(std::move(in));
  }
};

void all_to_all_v_in_pieces(Device& device, Communicator& c) {
  const Tensor send = filled<float>(device, 4 * c.size(), 2, c.rank());
  Tensor receive = device.allocate(4 * c.size(), 2, ElementType::f32);
  std::fill_n(receive.data<float>(), receive.elements(), -7.0f);
  const PieceLists lists(c);
  const auto exchange = [&](const ExchangePieces& pieces) {
    Request request = c.start_all_to_all_v(send, lists.rows, receive, lists.rows, Traffic::redistribute, pieces);
    const std::uint64_t bytes = 3 * 8 * (c.size() - 1);
    expect(request.collective.sent_bytes == bytes, c, "pieces send other bytes than their rows");
    c.wait(request);
  };
  const auto refused = [&](const ExchangePieces& pieces, std::string_view what) {
    try {
      c.start_all_to_all_v(send, lists.rows, receive, lists.rows, Traffic::redistribute, pieces);
    } catch (const Error&) {
      return;
    }
    expect(false, c, fmt::format("{} are not refused", what));
  };
  if (!c.moves_pieces()) return refused(lists.pieces, "pieces where they do not move");
  PeerPieces beyond = *lists.pieces.send, fewer = beyond;
  beyond[c.rank()] = {{4 * c.size(), 1}};
  fewer[c.rank()] = {{0, 1}};
  refused({std::make_shared<const PeerPieces>(beyond), nullptr}, "pieces beyond the tensor");
  refused({nullptr, std::make_shared<const PeerPieces>(fewer)}, "pieces of another number of rows");
  refused({std::make_shared<const PeerPieces>(), nullptr}, "pieces for other ranks");
  exchange(lists.pieces);
  for (std::int64_t q = 0; q < c.size(); ++q) {
    constexpr std::int64_t unwritten = -1;
    const std::int64_t first = 4 * c.rank() + 1;  // of the peer's rows for this rank
    const std::int64_t from[] = {first + 2, unwritten, first, first + 1};
    for (std::int64_t row = 0; row < 4; ++row) {
      const std::int64_t source = q == c.rank() ? unwritten : from[row];
      const auto wanted = [&](std::int64_t k) {
        return source < 0 ? -7.0f : sample<float>(static_cast<int>(q), source * 2 + k);
      };
      expect_values(c, receive.data<float>() + (4 * q + row) * 2, 2, fmt::format("piece row {} of {}", row, q), wanted);
    }
  }
}

template <class T>
void all_reduce(Device& device, Communicator& c) {
  check_all_reduce<T>(device, c, 0, 3);
  check_all_reduce<T>(device, c, 1, 1);  // fewer elements than ranks
  check_all_reduce<T>(device, c, 5, 1);
  check_all_reduce<T>(device, c, 701, 3);
}

void all_reduce_of_megabytes(Device& device, Communicator& c) { check_all_reduce<double>(device, c, 140003, 5); }

template <class T>
void check_reduce_scatter(Device& device, Communicator& c, std::int64_t unit) {
  std::vector<std::int64_t> counts;
  for (int q = 0; q < c.size(); ++q) counts.push_back(unit * ((q + 2) % 3));  // 2, 0, 1, 2, 0, ... units
  const std::vector<PeerRows> rows = consecutive(counts);
  const Tensor send = filled<T>(device, total(rows), 2, c.rank());
  const PeerRows own = rows[c.rank()];
  const Tensor receive = device.allocate(own.count, 2, element_type_of<T>);
  c.reduce_scatter(send, rows, receive, Traffic::gradient);
  expect_values(c, receive.data<T>(), receive.elements(), "reduce_scatter",
                [&](std::int64_t i) { return sum_in_rank_order<T>(c.size(), own.first * 2 + i); });
}

void reduce_scatter(Device& device, Communicator& c) {
  check_reduce_scatter<float>(device, c, 3);
  check_reduce_scatter<double>(device, c, 1);
  check_reduce_scatter<std::int64_t>(device, c, 2);
  check_reduce_scatter<double>(device, c, 60001);  // megabytes
}

template <class T>
void all_gather_v(Device& device, Communicator& c) {
  std::vector<std::int64_t> counts;
  for (int q = 0; q < c.size(); ++q) counts.push_back((q * 2 + 1) % 4 == 3 ? 0 : q + 1);
  const std::vector<PeerRows> rows = consecutive(counts);
  const Tensor send = filled<T>(device, counts[c.rank()], 3, c.rank());
  const Tensor receive = device.allocate(total(rows), 3, element_type_of<T>);
  c.all_gather_v(send, receive, rows, Traffic::state);
  for (int q = 0; q < c.size(); ++q) {
    const PeerRows& part = rows[q];
    expect_values(c, receive.data<T>() + part.first * 3, part.count * 3, fmt::format("part of rank {}", q),
                  [&](std::int64_t i) { return sample<T>(q, i); });
  }
}

void broadcast(Device& device, Communicator& c) {
  for (int root = 0; root < c.size(); ++root) {
    for (const std::int64_t rows : {0, 1, 1000}) {
      const Tensor tensor = filled<float>(device, rows, 7, c.rank(), root);
      c.broadcast(tensor, root, Traffic::state);
      expect_values(c, tensor.data<float>(), tensor.elements(), fmt::format("broadcast from rank {}", root),
                    [&](std::int64_t i) { return sample<float>(root, root + i); });
    }
  }
}

/// Three messages each way round a ring, two of them with the same tag, waited for in the order of their start.
void send_receive_ring(Device& device, Communicator& c) {
  if (c.size() == 1) return;
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  const int tags[] = {5, 5, 2};
  std::vector<Tensor> in;
  std::vector<Request> requests;
  for (int m = 0; m < 3; ++m) {
    requests.push_back(
        c.start_send(filled<double>(device, 40 + m, 5, c.rank(), 1000 * m), next, tags[m], Traffic::halo));
  }
  for (int m = 0; m < 3; ++m) {
    in.push_back(device.allocate(40 + m, 5, ElementType::f64));
    requests.push_back(c.start_receive(in.back(), previous, tags[m], Traffic::halo));
  }
  for (Request& request : requests) c.wait(request);
  for (int m = 0; m < 3; ++m) {
    const Tensor& received = in[m];
    expect_values(c, received.data<double>(), received.elements(), fmt::format("message {} from rank {}", m, previous),
                  [&](std::int64_t i) { return sample<double>(previous, 1000 * m + i); });
  }
}

/// Blocking messages from rank 0 outwards, received by each rank with its own tag.
void send_receive_blocking(Device& device, Communicator& c) {
  Tensor token = filled<std::int64_t>(device, 1, 1, 0);
  if (c.rank() == 0) {
    for (int q = 1; q < c.size(); ++q) c.send(token, q, 100 + q, Traffic::state);
    return;
  }
  token.data<std::int64_t>()[0] = 0;
  c.receive(token, 0, 100 + c.rank(), Traffic::state);
  expect(token.data<std::int64_t>()[0] == sample<std::int64_t>(0, 0), c, "the token is wrong");
}

/// Two collectives under way at once, waited for in both orders.
void two_at_once(Device& device, Communicator& c) {
  for (const bool in_order : {true, false}) {
    const Exchange exchange = uneven_exchange<float>(device, c, 6);
    const Tensor sum = filled<double>(device, 33, 1, c.rank());
    Request first = c.start_all_to_all_v(exchange.send, exchange.send_rows, exchange.receive, exchange.receive_rows,
                                         Traffic::redistribute);
    Request second = c.start_all_reduce(sum, Traffic::gradient);
    c.wait(in_order ? first : second);
    c.wait(in_order ? second : first);
    check_exchange<float>(exchange, c);
    expect_values(c, sum.data<double>(), sum.elements(), "overlapped sum",
                  [&](std::int64_t i) { return sum_in_rank_order<double>(c.size(), i); });
  }
}

/// Buffers may be used again as soon as wait has returned.
void buffers_are_reusable(Device& device, Communicator& c) {
  const Tensor tensor = device.allocate(3, 1, ElementType::i64);
  for (std::int64_t round = 0; round < 50; ++round) {
    for (std::int64_t i = 0; i < 3; ++i) tensor.data<std::int64_t>()[i] = sample<std::int64_t>(c.rank(), round + i);
    c.all_reduce(tensor, Traffic::gradient);
    expect_values(c, tensor.data<std::int64_t>(), 3, fmt::format("sum of round {}", round),
                  [&](std::int64_t i) { return sum_in_rank_order<std::int64_t>(c.size(), round + i); });
    c.broadcast(tensor, static_cast<int>(round) % c.size(), Traffic::state);
    c.barrier();
  }
}

constexpr CollectiveCase cases[] = {
    {"all_to_all_v f32", all_to_all_v<float>},
    {"all_to_all_v f64", all_to_all_v<double>},
    {"all_to_all_v i64", all_to_all_v<std::int64_t>},
    {"all_to_all_v of listed peers", all_to_all_v_of_listed_peers<float>},
    {"all_to_all_v of nothing", all_to_all_v_of_nothing},
    {"all_to_all_v within one tensor", all_to_all_v_within_one_tensor},
    {"all_to_all_v leaves other rows", all_to_all_v_leaves_other_rows},
    {"all_to_all_v in pieces", all_to_all_v_in_pieces},
    {"all_reduce f32", all_reduce<float>},
    {"all_reduce f64", all_reduce<double>},
    {"all_reduce i32", all_reduce<std::int32_t>},
    {"all_reduce i64", all_reduce<std::int64_t>},
    {"all_reduce of megabytes", all_reduce_of_megabytes},
    {"reduce_scatter", reduce_scatter},
    {"all_gather_v f32", all_gather_v<float>},
    {"all_gather_v i32", all_gather_v<std::int32_t>},
    {"broadcast", broadcast},
    {"send and receive in a ring", send_receive_ring},
    {"send and receive, blocking", send_receive_blocking},
    {"two collectives at once", two_at_once},
    {"buffers are reusable", buffers_are_reusable},
};

}  // namespace

std::span<const CollectiveCase> value_cases() {
  static const std::vector<CollectiveCase> all = [] {
    std::vector<CollectiveCase> joined(std::begin(cases), std::end(cases));
    for (const auto more : {max_cases(), group_cases()}) joined.insert(joined.end(), more.begin(), more.end());
    return joined;
  }();
  return all;
}

void expect(bool holds, Communicator& communicator, std::string_view message) {
  if (!holds) throw ConformanceFailure(fmt::format("rank {}: {}", communicator.rank(), message));
}

void check_collectives(Device& device, Communicator& communicator) {
  for (const CollectiveCase& c : value_cases()) c.program(device, communicator);
  for (const CollectiveCase& c : span_cases()) c.program(device, communicator);
}

}  // namespace strobe::conformance
