// The source of a trainer's batches (DynaHB, VLDB'24, section 5.2, Algorithm 3). The host makes them on request, or
// generators for their sizes make them during training. They are used once, or kept in a reservoir and used again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/device.hpp"
#include "harness/hybrid_batches/batch_maker.hpp"

namespace strobe {

/// Batches of one rank. The plan must outlive it and all work of the device. The choice of the next batch may depend on
/// which batches the host has finished. The content of a batch depends on its number alone.
class BatchFeed {
 public:
  BatchFeed(const HybridPlan& plan, Device& device);

  /// A batch of that size for the `iteration`-th update of this rank.
  SharedBatch take(std::size_t action, std::uint64_t iteration);

  /// Number of kept batches of each size, [actions].
  std::vector<double> kept() const;
  /// These numbers, followed by the number of batches begun of each size. restore() makes the batches of such a state
  /// again.
  std::vector<double> state() const;
  void restore(const std::vector<double>& kept);

 private:
  /// A batch that the host is making.
  struct Pending {
    std::size_t action = 0;
    std::shared_ptr<SharedBatch> batch;  // filled in when `ready` is reached
    DeviceEvent ready;
  };
  /// Makes batches of some sizes on a host channel of its own.
  struct Generator {
    std::shared_ptr<BatchMaker> maker;  // shared with the host's work, which may end after this object
    std::size_t turn = 0;               // the size that it makes next
  };
  /// Batches of one size: the number begun so far, and the batches that are kept.
  struct Store {
    std::uint64_t begun = 0;
    std::vector<SharedBatch> batches;
  };

  /// Gives the work for a batch to the generator of its size.
  Pending give(std::size_t action, double times, std::function<SharedBatch(BatchMaker&)> make);
  Pending start(std::size_t action, std::uint64_t number);
  Pending start_snapshots(std::size_t action, std::uint64_t number);
  SharedBatch finish(Pending pending);
  SharedBatch make(std::size_t action, std::uint64_t number) { return finish(start(action, number)); }
  SharedBatch next_in_line(std::size_t action);
  SharedBatch from_reservoir(std::size_t action, std::uint64_t iteration);
  /// A batch that is not from the reservoir: one of all own vertices if it fits, else a new one of the size.
  SharedBatch new_batch(std::size_t action, std::uint64_t iteration);
  void keep(const Pending& pending);
  void take_in_finished();
  /// Makes all batches that fit into the reservoir.
  void fill();
  void begin_more();
  /// Begins the next batch of one of a generator's sizes, in turn. Returns whether there is room for any.
  bool begin_one(std::size_t generator);
  bool has_room(std::size_t action) const;
  /// The generator of a size: sizes are dealt to generators in turn.
  std::size_t generator_of(std::size_t action) const { return action % generators_.size(); }
  bool snapshots_fit(std::size_t action) const;

  const HybridPlan& plan_;
  Device& device_;
  std::vector<Generator> generators_;
  std::vector<Store> stores_;    // [actions]
  std::deque<Pending> pending_;  // in the order in which generators received them
  std::uint64_t kept_bytes_ = 0;
  bool fills_ = false;  // before the first batch is taken
};

/// Most batches of a size that a rank's reservoir holds: Eq. 4's denominator, at least 1 (decisions D6).
std::int64_t most_kept(const HybridPlan& plan, Rank rank, std::size_t action);

/// Most bytes of the batches that a rank's feed keeps, or makes before their use, in a run of the plan's case. Batches
/// count as typical ones of their size. Generators have memory of their own.
double feed_bytes(const HybridPlan& plan, Rank rank);

/// The host's work of making a batch: the name of its spans, and of its fit in a calibrated cluster.
inline constexpr std::string_view making_batches = "make_batch";

/// Generators of a rank: one for inline generation, else the number that the case sets, at most one per size. By
/// default one per size, but not more than the rank's cores of its node or this machine.
int generator_count(const HybridPlan& plan);

/// The host's work for a batch `times` as large as a typical one of the size.
Work making_work(const HybridPlan& plan, std::size_t action, double times = 1);

}  // namespace strobe
