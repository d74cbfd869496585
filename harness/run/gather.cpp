#include "harness/run/gather.hpp"

#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>

namespace strobe {
namespace {

static_assert(std::is_trivially_copyable_v<EpochSample>);

/// A span whose name travels by value.
struct WireSpan {
  char name[40];
  Span span;
};
static_assert(std::is_trivially_copyable_v<WireSpan>);

/// Text that lives as long as the process.
std::string_view kept_text(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> kept;
  const std::lock_guard lock(mutex);
  return *kept.insert(text).first;
}

/// Each rank's records, in rank order.
template <class Record>
std::vector<std::vector<Record>> gather_records(Communicator& communicator, const std::vector<Record>& own) {
  Device& device = communicator.device();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<PeerRows> one_each;
  for (std::size_t q = 0; q < ranks; ++q) one_each.push_back({static_cast<std::int64_t>(q), 1});
  const std::int64_t own_count = static_cast<std::int64_t>(own.size());
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
  const auto width = static_cast<std::int64_t>(sizeof(Record));
  const Tensor send = device.move_in(own.data(), own_count, width, ElementType::u8);
  const Tensor all = device.allocate(total, width, ElementType::u8);
  communicator.all_gather_v(send, all, rows, Traffic::other);
  std::vector<std::vector<Record>> records(ranks);
  for (std::size_t q = 0; q < ranks; ++q) {
    records[q].resize(static_cast<std::size_t>(count[q]));
    device.move_out(all.slice_rows(rows[q].first, rows[q].count), records[q].data());
  }
  return records;
}

std::vector<WireSpan> to_wire(const std::vector<Span>& spans) {
  std::vector<WireSpan> wire(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    std::memset(wire[i].name, 0, sizeof wire[i].name);
    spans[i].name.copy(wire[i].name, sizeof wire[i].name - 1);
    wire[i].span = spans[i];
    wire[i].span.name = {};
  }
  return wire;
}

}  // namespace

void share_last_sample(Communicator& communicator, std::vector<RankOutcome>& outcomes) {
  Device& device = communicator.device();
  const auto own = static_cast<std::size_t>(communicator.rank());
  std::vector<PeerRows> one_each;
  for (std::int64_t q = 0; q < communicator.size(); ++q) one_each.push_back({q, 1});
  constexpr auto width = static_cast<std::int64_t>(sizeof(EpochSample));
  const Tensor last = device.move_in(&outcomes[own].samples.back(), 1, width, ElementType::u8);
  const Tensor all = device.allocate(communicator.size(), width, ElementType::u8);
  communicator.all_gather_v(last, all, one_each, Traffic::other);
  std::vector<EpochSample> samples(outcomes.size());
  device.move_out(all, samples.data());
  for (std::size_t q = 0; q < outcomes.size(); ++q)
    if (q != own) outcomes[q].samples.push_back(samples[q]);
}

void complete_outcomes(Communicator& communicator, std::vector<RankOutcome>& outcomes) {
  const RankOutcome& own = outcomes[static_cast<std::size_t>(communicator.rank())];
  const auto spans = gather_records(communicator, to_wire(own.last_spans));
  outcomes.front().loss = own.loss;
  outcomes.front().metrics = own.metrics;
  outcomes.front().epochs_trained = own.epochs_trained;
  outcomes.front().until_reached = own.until_reached;
  outcomes.front().finite_weights = own.finite_weights;
  for (std::size_t q = 0; q < outcomes.size(); ++q) {
    outcomes[q].last_spans.clear();
    for (const WireSpan& wire : spans[q]) {
      outcomes[q].last_spans.push_back(wire.span);
      outcomes[q].last_spans.back().name = kept_text(wire.name);
    }
  }
}

}  // namespace strobe
