// What DistTGL's rule is given: what batches lose, where a GPU saturates, how many copies of the memory a host holds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/event_batches/groups/memory_daemon.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {

/// What batches of one size lose: shares of mails that never reach a memory.
struct BatchLoss {
  std::int64_t batch = 0;  // events
  double missing_share = 0;
  double hub_missing_share = 0;  // of the vertices with most mails
};

/// How much may be missing. The paper prints no threshold. With 0.75 Wikipedia's batch of 600, which it calls the
/// largest one (section 4.0.1), is the largest of 600, 1200, ...: it misses 0.730 of the training events, 1200 misses
/// 0.776.
struct LossLimits {
  double missing_share = 0.75;
  std::optional<double> hub_missing_share;  // nothing: not asked for

  bool allow(const BatchLoss& loss) const {
    return loss.missing_share <= missing_share && (!hub_missing_share || loss.hub_missing_share <= *hub_missing_share);
  }
};

/// Share of the vertices with mails that count as hubs, at least one vertex: those with most mails, of equal ones those
/// with lower numbers.
inline constexpr double hub_share = 0.01;

/// The first `events` events of a graph in batches of any size. Cost: O(events + vertices) each time.
class CapturedEvents {
 public:
  CapturedEvents(std::shared_ptr<const EventGraph> graph, EdgeId events);
  EdgeId events() const { return events_; }
  BatchLoss loss(std::int64_t batch) const;

 private:
  std::shared_ptr<const EventGraph> graph_;
  EdgeId events_;
  std::vector<std::int64_t> mails_;  // of each vertex
  std::vector<VertexId> hubs_;
};

/// The largest batch within the limits among `start` times powers of two, up to all events; below `start`, where
/// `smaller` batches may be taken, down to the last one that is even. Batches that are made of whole smaller ones never
/// capture more than these, so the search ends at the first one beyond the limits.
struct LargestBatch {
  std::int64_t batch = 0;        // the smallest tried where none is within the limits
  bool allowed = true;           // whether it is within them
  std::vector<BatchLoss> tried;  // ascending
};
LargestBatch largest_batch(const CapturedEvents& captured, const LossLimits& limits, std::int64_t start, bool smaller);

/// How fast one GPU trains with a batch.
struct BatchRate {
  std::int64_t batch = 0;
  double events_per_second = 0;  // 0: it could not be simulated, because of `reason`
  std::string reason;
};

/// A GPU is saturated where twice the batch trains fewer than this times as many events a second.
inline constexpr double least_gain = 1.1;

struct Saturation {
  std::int64_t batch = 0;        // 0: not even the first could be simulated
  std::vector<BatchRate> tried;  // ascending
  std::string why;
};

/// The smallest of `batches` (ascending, one at least) from which the next one gains less than `least_gain` for each
/// doubling, or cannot be simulated, as when it does not fit the device. Batches behind it are not asked for.
Saturation find_saturation(const std::vector<std::int64_t>& batches,
                           const std::function<BatchRate(std::int64_t)>& rate_of);

/// How many copies fit a host of `host_bytes` beside `data_bytes`, where i ranks share a batch and all of the machine's
/// q ranks are in groups: the largest divisor of q / i that fits, 0 where none does. More copies have smaller groups,
/// with shorter buffers each.
std::int64_t copies_within(std::uint64_t host_bytes, std::uint64_t data_bytes, const MemoryShape& shape, std::int64_t i,
                           std::int64_t gpus);

}  // namespace strobe
