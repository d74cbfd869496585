#include "harness/advisor/training_groups/rule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strobe {
namespace {

/// The largest divisor of `number` that is at most `most`. `most` is at least 1.
std::int64_t divisor_within(std::int64_t number, std::int64_t most) {
  std::int64_t divisor = std::min(number, most);
  while (number % divisor != 0) --divisor;
  return divisor;
}

std::string counted_as(std::int64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string why_batch(const GroupLimits& limits) {
  if (limits.saturating_batch <= limits.largest_batch)
    return fmt::format("batch = {}: it saturates a GPU", limits.saturating_batch);
  return fmt::format("batch = {}: the largest allowed, below the {} that saturate a GPU", limits.largest_batch,
                     limits.saturating_batch);
}

std::string why_i(const GroupLimits& limits, std::int64_t i, std::int64_t local) {
  const std::int64_t parts = limits.largest_batch / local;
  const std::string whole = fmt::format("i = {}: the largest batch, {}, has {} of {}", i, limits.largest_batch,
                                        counted_as(parts, "whole part", "whole parts"), local);
  if (i == parts) return whole;
  return fmt::format("{}, and {} is the largest number up to that which divides the {} GPUs of a machine", whole, i,
                     limits.gpus);
}

std::string why_k(const GroupLimits& limits, std::int64_t k, std::int64_t of_machine, std::int64_t room) {
  std::string text =
      fmt::format("k = {}: memory parallelism converges best, and {} with {} {} room for {}", k,
                  counted_as(limits.machines, "machine", "machines"), counted_as(limits.gpus, "GPU", "GPUs"),
                  limits.machines == 1 ? "leaves" : "leave", counted_as(limits.machines * room, "copy", "copies"));
  if (!limits.copies) return text + "; a host's memory is not known, so it sets no bound";
  if (*limits.copies >= room) return text + fmt::format("; a host's memory holds {} or more each", room);
  text += fmt::format(", but a host's memory holds {} each", *limits.copies);
  if (of_machine == *limits.copies) return text;
  return text + fmt::format(", and {} is the largest number up to that which divides {}", of_machine, room);
}

}  // namespace

std::int64_t local_batch_of(const GroupLimits& limits) {
  return std::min(limits.saturating_batch, limits.largest_batch);
}

std::int64_t ranks_of_batch(const GroupLimits& limits) {
  return divisor_within(limits.gpus, limits.largest_batch / local_batch_of(limits));
}

GroupChoice choose_groups(const GroupLimits& limits) {
  GroupChoice choice;
  choice.local_batch = local_batch_of(limits);
  const std::int64_t i = ranks_of_batch(limits), room = limits.gpus / i;
  choice.why = {why_batch(limits), why_i(limits, i, choice.local_batch)};
  if (limits.copies == 0) {
    choice.why.push_back("k: a host's memory does not hold one copy of the node memory");
    return choice;
  }
  const std::int64_t of_machine = divisor_within(room, limits.copies.value_or(room));
  const std::int64_t k = limits.machines * of_machine, j = room / of_machine;
  choice.groups = TrainingGroups{i, j, k};
  choice.why.push_back(why_k(limits, k, of_machine, room));
  choice.why.push_back(fmt::format("j = {}: {} ranks / (i x k = {} x {})", j, limits.machines * limits.gpus, i, k));
  return choice;
}

}  // namespace strobe
