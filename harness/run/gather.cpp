#include "harness/run/gather.hpp"

#include <string_view>
#include <type_traits>

#include "core/kept_text.hpp"

namespace strobe {
namespace {

static_assert(std::is_trivially_copyable_v<EpochNumbers>);

/// A name by value, because a pointer to text means nothing to another process.
struct WireName {
  char text[40];
};

WireName to_wire(std::string_view name) {
  WireName wire{};
  name.copy(wire.text, sizeof wire.text - 1);
  return wire;
}

struct WireSpan {
  WireName name;
  Span span;
};
static_assert(std::is_trivially_copyable_v<WireSpan>);

struct WireOperation {
  WireName name;
  double seconds, flops, bytes;
};
static_assert(std::is_trivially_copyable_v<WireOperation>);

/// Each rank's records, in rank order.
template <class Record>
std::vector<std::vector<Record>> gather_records(Communicator& communicator, const std::vector<Record>& own) {
  Device& device = communicator.device();
  const PartScope part(device, MemoryPart::buffers);
  const std::size_t ranks = communicator.size();
  std::vector<PeerRows> one_each;
  for (std::size_t q = 0; q < ranks; ++q) one_each.push_back({static_cast<std::int64_t>(q), 1});
  const std::int64_t own_count = own.size();
  const Tensor counts = device.allocate(communicator.size(), 1, ElementType::i64);
  communicator.all_gather_v(device.move_in(&own_count, 1, 1, ElementType::i64), counts, one_each, Traffic::other);
  std::vector<std::int64_t> count(ranks);
  device.move_out(counts, count.data());
  std::vector<PeerRows> rows;
  std::int64_t total = 0;
  for (const std::int64_t n : count) {
    rows.push_back({total, n});
    total += n;
  }
  const std::int64_t width = sizeof(Record);
  const Tensor send = device.move_in(own.data(), own_count, width, ElementType::u8);
  const Tensor all = device.allocate(total, width, ElementType::u8);
  communicator.all_gather_v(send, all, rows, Traffic::other);
  std::vector<std::vector<Record>> records(ranks);
  for (std::size_t q = 0; q < ranks; ++q) {
    records[q].resize(count[q]);
    device.move_out(all.slice_rows(rows[q].first, rows[q].count), records[q].data());
  }
  return records;
}

std::vector<WireSpan> to_wire(const std::vector<Span>& spans) {
  std::vector<WireSpan> wire(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    wire[i] = {to_wire(spans[i].name), spans[i]};
    wire[i].span.name = {};
  }
  return wire;
}

/// Each rank's operations, in rank order. All ranks must call it.
std::vector<std::vector<OperationTotals>> gather_operations(Communicator& communicator,
                                                            const std::vector<OperationTotals>& own) {
  std::vector<WireOperation> wire;
  for (const OperationTotals& operation : own)
    wire.push_back({to_wire(operation.name), operation.seconds, operation.flops, operation.bytes});
  std::vector<std::vector<OperationTotals>> operations;
  for (const auto& of_rank : gather_records(communicator, wire)) {
    std::vector<OperationTotals>& read = operations.emplace_back();
    for (const WireOperation& operation : of_rank)
      read.push_back({kept_text(operation.name.text), operation.seconds, operation.flops, operation.bytes});
  }
  return operations;
}

}  // namespace

void share_last_sample(Communicator& communicator, std::vector<RankOutcome>& outcomes) {
  Device& device = communicator.device();
  const PartScope part(device, MemoryPart::buffers);
  const std::size_t own = communicator.rank();
  std::vector<PeerRows> one_each;
  for (std::int64_t q = 0; q < communicator.size(); ++q) one_each.push_back({q, 1});
  constexpr std::int64_t width = sizeof(EpochNumbers);
  const EpochNumbers& numbers = outcomes[own].samples.back();
  const Tensor last = device.move_in(&numbers, 1, width, ElementType::u8);
  const Tensor all = device.allocate(communicator.size(), width, ElementType::u8);
  communicator.all_gather_v(last, all, one_each, Traffic::other);
  std::vector<EpochNumbers> samples(outcomes.size());
  device.move_out(all, samples.data());
  auto operations = gather_operations(communicator, outcomes[own].samples.back().operations);
  for (std::size_t q = 0; q < outcomes.size(); ++q)
    if (q != own) outcomes[q].samples.push_back({samples[q], std::move(operations[q])});
}

std::vector<std::vector<std::uint64_t>> share_numbers(Communicator& communicator,
                                                      const std::vector<std::uint64_t>& own) {
  return gather_records(communicator, own);
}

void complete_outcomes(Communicator& communicator, std::vector<RankOutcome>& outcomes) {
  const RankOutcome& own = outcomes[communicator.rank()];
  const auto spans = gather_records(communicator, to_wire(own.last_spans));
  const auto loads = gather_records(communicator, std::vector<double>{own.load_seconds});
  outcomes.front().loss = own.loss;
  outcomes.front().metrics = own.metrics;
  outcomes.front().epochs_trained = own.epochs_trained;
  outcomes.front().until_reached = own.until_reached;
  outcomes.front().finite_weights = own.finite_weights;
  for (std::size_t q = 0; q < outcomes.size(); ++q) {
    outcomes[q].load_seconds = loads[q].front();
    outcomes[q].last_spans.clear();
    for (const WireSpan& wire : spans[q]) {
      outcomes[q].last_spans.push_back(wire.span);
      outcomes[q].last_spans.back().name = kept_text(wire.name.text);
    }
  }
}

}  // namespace strobe
