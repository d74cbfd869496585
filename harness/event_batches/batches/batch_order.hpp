// Who trains what when i ranks share a batch, j batches of a memory are in training at a time and k copies of the
// memory are in different parts of the events (DistTGL, section 3.2; decisions 7.4, 7.5). A pure function of the
// numbers.
//
// Ranks [m i j, (m + 1) i j) share copy m, and of these the i ranks of subgroup s one batch after the other. A batch is
// read once, trained on in j consecutive iterations with other negatives each, and written once, after the first. In
// iteration n the copy's subgroup n mod j begins a batch, so reads and writes follow each other: R(b) W(b) R(b+1)
// W(b+1).
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

  /// Fills in what is 0: i = 1, j = 1, k = ranks / (i j). Throws InvalidRequest("/strategy/...") where they do not give
  /// `ranks`, with what would.
  static TrainingGroups of(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t ranks);
};

/// What a rank does in one iteration.
struct TrainerTurn {
  std::int64_t copy = 0;
  std::int64_t sequence = 0;  // batches that the copy began before this one
  std::int64_t sweep = 0;     // of the copy; the first one of copies that begin amid the events is short
  std::int64_t batch = 0;     // of the sweep
  std::int64_t set = 0;       // of negatives: 0 .. j - 1; reads and writes are those of set 0
  std::int64_t group = 0;     // of negatives
  EdgeId batch_first = 0;     // events of the batch of all i ranks
  std::int64_t batch_count = 0;
  EdgeId first = 0;           // events of this rank
  std::int64_t count = 0;     // may be 0
  bool begins_sweep = false;  // memory is reset before it is read
};

class BatchOrder {
 public:
  /// `events` are trained on, `local_batch` of them on a rank and iteration.
  BatchOrder(TrainingGroups groups, std::int64_t events, std::int64_t local_batch, std::int64_t negative_groups);

  const TrainingGroups& groups() const { return groups_; }
  /// Batches of a sweep, of i times `local_batch` events but the last.
  std::int64_t batches() const { return batches_; }
  std::int64_t batch_count(std::int64_t batch) const;
  /// Events of a batch that is not the last.
  std::int64_t whole_batch() const { return groups_.i * local_batch_; }
  /// The batch that a copy begins `sequence`-th.
  std::int64_t batch_at(std::int64_t copy, std::int64_t sequence) const;

  /// Whether memory is reset before that batch is read.
  bool begins_sweep(std::int64_t copy, std::int64_t sequence) const {
    return sequence == 0 || batch_at(copy, sequence) == 0;
  }

  /// Iterations before epoch `epoch`: j k batches are in training at a time, so epoch `epoch` ends with the iteration
  /// in which the ranks have trained on as many batches as so many sweeps have. With j = k = 1 epochs are sweeps. With
  /// i = 1 this is the count of decisions 7.5, which counts batches of a rank, as if batches of i ranks could be cut in
  /// two.
  std::int64_t first_iteration(std::int64_t epoch) const;
  /// What `rank` does in `iteration`; empty while its subgroup has not begun.
  std::optional<TrainerTurn> turn(std::int64_t iteration, int rank) const;
  /// Events that all ranks together train on in `iteration`.
  std::int64_t events_in(std::int64_t iteration) const;

 private:
  TrainingGroups groups_;
  std::int64_t events_, local_batch_, negative_groups_, batches_;
};

}  // namespace strobe
