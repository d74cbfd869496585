#include "harness/event_batches/batches/batch_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.hpp"

namespace strobe {

TrainingGroups TrainingGroups::of(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t ranks) {
  TrainingGroups groups{i == 0 ? 1 : i, j == 0 ? 1 : j, k};
  if (groups.in_group() > ranks || ranks % groups.in_group() != 0) {
    throw InvalidRequest(
        "/strategy/i",
        fmt::format("i x j = {} x {} ranks share a memory, but {} ranks are not a multiple of {}; change ranks, i or j",
                    groups.i, groups.j, ranks, groups.in_group()));
  }
  const std::int64_t copies = ranks / groups.in_group();
  if (groups.k == 0) groups.k = copies;
  if (groups.k != copies) {
    throw InvalidRequest("/strategy/k",
                         fmt::format("i x j x k = {} x {} x {} is not the number of ranks, {}; k = {} fits, "
                                     "or leave it out",
                                     groups.i, groups.j, groups.k, ranks, copies));
  }
  return groups;
}

BatchOrder::BatchOrder(TrainingGroups groups, std::int64_t events, std::int64_t local_batch,
                       std::int64_t negative_groups)
    : groups_(groups),
      events_(events),
      local_batch_(local_batch),
      negative_groups_(negative_groups),
      batches_((events + groups.i * local_batch - 1) / (groups.i * local_batch)) {}

std::int64_t BatchOrder::batch_count(std::int64_t batch) const {
  const std::int64_t whole = whole_batch();
  return std::min(whole, events_ - batch * whole);
}

std::int64_t BatchOrder::batch_at(std::int64_t copy, std::int64_t sequence) const {
  return (copy * batches_ / groups_.k + sequence) % batches_;
}

std::int64_t BatchOrder::first_iteration(std::int64_t epoch) const {
  const std::int64_t at_a_time = groups_.j * groups_.k;
  return (epoch * batches_ + at_a_time - 1) / at_a_time;
}

std::optional<TrainerTurn> BatchOrder::turn(std::int64_t iteration, int rank) const {
  const std::int64_t subgroup = groups_.subgroup_of(rank), part = groups_.part_of(rank);
  if (iteration < subgroup) return std::nullopt;
  TrainerTurn turn;
  turn.copy = groups_.copy_of(rank);
  turn.set = (iteration - subgroup) % groups_.j;
  turn.sequence = iteration - turn.set;
  const std::int64_t position = turn.copy * batches_ / groups_.k + turn.sequence;
  turn.sweep = position / batches_;
  turn.batch = position % batches_;
  turn.begins_sweep = turn.sequence == 0 || turn.batch == 0;
  // Each sweep, copy and set visits the same events again and draws other negatives.
  turn.group = ((turn.sweep * groups_.k + turn.copy) * groups_.j + turn.set) % negative_groups_;
  turn.batch_first = turn.batch * groups_.i * local_batch_;
  turn.batch_count = batch_count(turn.batch);
  const std::int64_t begin = turn.batch_count * part / groups_.i, end = turn.batch_count * (part + 1) / groups_.i;
  turn.first = turn.batch_first + begin;
  turn.count = end - begin;
  return turn;
}

std::int64_t BatchOrder::events_in(std::int64_t iteration) const {
  std::int64_t events = 0;
  for (std::int64_t copy = 0; copy < groups_.k; ++copy) {
    for (std::int64_t age = 0; age < std::min(groups_.j, iteration + 1); ++age)
      events += batch_count(batch_at(copy, iteration - age));
  }
  return events;
}

}  // namespace strobe
