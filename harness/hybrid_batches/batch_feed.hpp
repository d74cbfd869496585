// Where a trainer's batches come from (DynaHB, VLDB'24, section 5.2, Algorithm 3): made by the host when they are
// asked for, or beside training by generators of their sizes; used once, or kept in a reservoir and used again.
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

/// Batches of one rank. The plan must outlive it and all work of the device. Which batch comes may depend on what the
/// host has made by then; what is in a batch depends on its number alone.
class BatchFeed {
 public:
  BatchFeed(const HybridPlan& plan, Device& device);

  /// A batch of that size for the `iteration`-th update of this rank.
  SharedBatch take(std::size_t action, std::uint64_t iteration);

  /// Batches kept of each size, [actions].
  std::vector<double> kept() const;
  /// These, and behind them batches begun of each size; and the other way, which makes them anew.
  std::vector<double> state() const;
  void restore(const std::vector<double>& kept);

 private:
  /// A batch that the host is making.
  struct Pending {
    std::size_t action = 0;
    std::shared_ptr<SharedBatch> batch;  // filled in when `ready` has come
    Event ready;
  };
  /// Makes batches of some sizes on a lane of the host stream of its own.
  struct Generator {
    std::shared_ptr<BatchMaker> maker;  // of the host's work, which may end later than this
    std::size_t turn = 0;               // the size that it makes next
  };
  /// Batches of one size: begun so far, and of these those that are kept.
  struct Store {
    std::uint64_t begun = 0;
    std::vector<SharedBatch> batches;
  };

  /// Gives work for a batch of a size to the generator that makes those.
  Pending give(std::size_t action, double times, std::function<SharedBatch(BatchMaker&)> make);
  Pending start(std::size_t action, std::uint64_t number);
  Pending start_snapshots(std::size_t action, std::uint64_t number);
  SharedBatch finish(Pending pending);
  SharedBatch make(std::size_t action, std::uint64_t number) { return finish(start(action, number)); }
  SharedBatch next_in_line(std::size_t action);
  SharedBatch from_reservoir(std::size_t action, std::uint64_t iteration);
  /// The selector's other choices: a batch of all own vertices where it fits, else a new one of the size.
  SharedBatch new_batch(std::size_t action, std::uint64_t iteration);
  void keep(const Pending& pending);
  void take_in_finished();
  /// Makes all that the reservoir may hold.
  void fill();
  void begin_more();
  /// Begins the next batch of one of a generator's sizes, in turn; whether there is room for any.
  bool begin_one(std::size_t generator);
  bool has_room(std::size_t action) const;
  /// Whose size it is: sizes are dealt to generators in turn.
  std::size_t generator_of(std::size_t action) const { return action % generators_.size(); }
  bool snapshots_fit(std::size_t action) const;

  const HybridPlan& plan_;
  Device& device_;
  std::vector<Generator> generators_;
  std::vector<Store> stores_;    // [actions]
  std::deque<Pending> pending_;  // in the order in which generators were given them
  std::uint64_t kept_bytes_ = 0;
  bool fills_ = false;  // before the first batch is taken
};

/// Batches of a size that a rank's reservoir holds at most: Eq. 4's denominator, at least 1 (decisions D6).
std::int64_t most_kept(const HybridPlan& plan, Rank rank, std::size_t action);

/// The host's work of making a batch: the name of its spans, and of its fit in a calibrated cluster.
inline constexpr std::string_view making_batches = "make_batch";

/// Generators beside a rank's training: one for each size, or as many as asked for; unless they are, no more than the
/// cores that the rank has of its node, or of this machine.
int generator_count(const HybridPlan& plan);

/// What making a batch of a size takes, as the host states it; `times` as large as a typical one.
Work making_work(const HybridPlan& plan, std::size_t action, double times = 1);

}  // namespace strobe
