// The order of batches in DistTGL (section 3.2). i ranks share a batch. Each copy of the memory has j batches in
// training at a time. k copies train on different parts of the events. The order depends on these numbers alone.
//
// Ranks [m i j, (m + 1) i j) share copy m. They form j subgroups of i ranks; each subgroup trains on one batch at a
// time. It reads a batch once, trains on it in j consecutive iterations with other negatives in each, and writes it
// once, after the first iteration. In iteration n, subgroup n mod j of a copy begins a batch. So reads and writes of a
// copy alternate: R(b) W(b) R(b+1) W(b+1).
#pragma once

#include <cstdint>
#include <optional>

#include "core/ids.hpp"

namespace strobe {

struct TrainingGroups {
  std::int64_t i = 1, j = 1, k = 1;

  std::int64_t ranks() const { return i * j * k; }
  std::int64_t in_group() const { return i * j; }
  std::int64_t copy_of(int rank) const { return rank / in_group(); }
  std::int64_t subgroup_of(int rank) const { return rank % in_group() / i; }
  std::int64_t part_of(int rank) const { return rank % i; }

  /// Replaces numbers that are 0: i = 1, j = 1, k = ranks / (i j). Throws InvalidRequest("/strategy/...") if i j k is
  /// not `ranks`; the message proposes values that fit.
  static TrainingGroups of(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t ranks);
};

/// The work of a rank in one iteration.
struct TrainerTurn {
  std::int64_t copy = 0;
  std::int64_t sequence = 0;  // batches that the copy began before this one
  std::int64_t sweep = 0;     // of the copy; the first sweep is short if the copy begins amid the events
  std::int64_t batch = 0;     // of the sweep
  std::int64_t set = 0;       // of negatives: 0 .. j - 1; a batch is read and written with set 0
  std::int64_t group = 0;     // of negatives
  EdgeId batch_first = 0;     // events of the batch of all i ranks
  std::int64_t batch_count = 0;
  EdgeId first = 0;           // events of this rank
  std::int64_t count = 0;     // may be 0
  bool begins_sweep = false;  // memory is reset before this batch reads it
};

class BatchOrder {
 public:
  /// Trains on `events`, `local_batch` of them per rank and iteration.
  BatchOrder(TrainingGroups groups, std::int64_t events, std::int64_t local_batch, std::int64_t negative_groups);

  const TrainingGroups& groups() const { return groups_; }
  /// Batches of a sweep. All but the last have i times `local_batch` events.
  std::int64_t batches() const { return batches_; }
  std::int64_t batch_count(std::int64_t batch) const;
  /// Events of a batch that is not the last.
  std::int64_t whole_batch() const { return groups_.i * local_batch_; }
  /// The number in its sweep of the batch that a copy begins `sequence`-th.
  std::int64_t batch_at(std::int64_t copy, std::int64_t sequence) const;

  /// Whether memory is reset before that batch reads it.
  bool begins_sweep(std::int64_t copy, std::int64_t sequence) const {
    return sequence == 0 || batch_at(copy, sequence) == 0;
  }

  /// Iterations before epoch `epoch`. The ranks have then trained on as many batches as `epoch` sweeps have; each
  /// iteration trains on j k batches. With j = k = 1 epochs are sweeps.
  std::int64_t first_iteration(std::int64_t epoch) const;
  /// The work of `rank` in `iteration`; empty before its subgroup begins.
  std::optional<TrainerTurn> turn(std::int64_t iteration, int rank) const;
  /// Total events that all ranks train on in `iteration`.
  std::int64_t events_in(std::int64_t iteration) const;

 private:
  TrainingGroups groups_;
  std::int64_t events_, local_batch_, negative_groups_, batches_;
};

}  // namespace strobe
