// Inputs of DistTGL's rule: the losses of batches, the saturation of a GPU, and the copies of the memory that a host
// holds.
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

/// The loss of batches of one size: shares of mails that never reach a memory.
struct BatchLoss {
  std::int64_t batch = 0;  // events
  double missing_share = 0;
  double hub_missing_share = 0;  // of the vertices with most mails
};

/// The allowed loss. The paper prints no threshold, but calls 600 Wikipedia's largest batch (section 4.0.1). With 0.75,
/// 600 is the largest of 600, 1200, ...: it misses 0.730 of the training events, and 1200 misses 0.776.
struct LossLimits {
  double missing_share = 0.75;
  std::optional<double> hub_missing_share;  // nothing: not limited

  bool allow(const BatchLoss& loss) const {
    return loss.missing_share <= missing_share && (!hub_missing_share || loss.hub_missing_share <= *hub_missing_share);
  }
};

/// Share of the vertices with mails that count as hubs, at least one vertex: those with most mails. Ties go to lower
/// numbers.
inline constexpr double hub_share = 0.01;

/// The first `events` events of a graph, cut into batches of any size. Cost of a loss: O(events + vertices).
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

/// The largest batch within the limits among `start` times powers of two, up to all events. If `start` itself is
/// outside the limits, `smaller` allows halving it, as long as it is even. Batches that combine whole smaller ones
/// never capture more than these, so the search ends at the first batch outside the limits.
struct LargestBatch {
  std::int64_t batch = 0;        // the smallest tried if none is within the limits
  bool allowed = true;           // whether it is within them
  std::vector<BatchLoss> tried;  // ascending
};
LargestBatch largest_batch(const CapturedEvents& captured, const LossLimits& limits, std::int64_t start, bool smaller);

/// The rate at which one GPU trains with a batch.
struct BatchRate {
  std::int64_t batch = 0;
  double events_per_second = 0;  // 0: it could not be simulated, for the reason in `reason`
  std::string reason;
};

/// A GPU is saturated when doubling the batch raises its events per second by less than this factor.
inline constexpr double least_gain = 1.1;

struct Saturation {
  std::int64_t batch = 0;        // 0: the first batch could not be simulated
  std::vector<BatchRate> tried;  // ascending
  std::string why;
};

/// The smallest of `batches` (ascending, at least one) that saturates a GPU. The next batch gains less than
/// `least_gain` per doubling, or cannot be simulated, for example because it does not fit the device. `rate_of` is not
/// called for later batches.
Saturation find_saturation(const std::vector<std::int64_t>& batches,
                           const std::function<BatchRate(std::int64_t)>& rate_of);

/// The number of copies that fit a host of `host_bytes` in addition to `data_bytes`. i ranks share a batch, and all q
/// ranks of the machine are in groups. It is the largest divisor of q / i that fits, or 0. With more copies, groups are
/// smaller and have shorter buffers.
std::int64_t copies_within(std::uint64_t host_bytes, std::uint64_t data_bytes, const MemoryShape& shape, std::int64_t i,
                           std::int64_t gpus);

}  // namespace strobe
