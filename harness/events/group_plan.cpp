#include "harness/events/group_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cluster.hpp"

namespace strobe {
namespace {

MemoryShape shape_of(const EventCase& c) {
  const EventModelTraits traits = c.model->traits();
  MemoryShape shape;
  shape.vertices = c.training.graph->vertices;
  shape.width = traits.memory;
  shape.type = c.fp64() ? ElementType::f64 : ElementType::f32;
  shape.values = c.request.numerics != "none";
  std::int64_t asked = c.options.batch * (2 + c.training.task->training_negatives);
  for (int level = 0; level < traits.levels; ++level) asked *= 1 + traits.neighbours;
  // A vertex is read once, unless its mail depends on when it is asked.
  shape.read_rows = traits.mail_dt_of_asker ? asked : std::min(asked, shape.vertices);
  shape.write_rows = std::min(2 * c.options.batch, shape.vertices);
  return shape;
}

void check_batch(const EventCase& c, const TrainingGroups& groups) {
  if (groups.i * c.options.batch <= c.training_events()) return;
  throw InvalidRequest(
      "/strategy/batch",
      fmt::format("a batch of {} ranks x {} events, but only {} are trained on; take a smaller batch or "
                  "i, or a larger share for training",
                  groups.i, c.options.batch, c.training_events()));
}

/// An epoch is as many iterations as visit every event once on average: with more ranks than a rank's batches it could
/// have none, and no loss.
void check_ranks(const EventCase& c, const TrainingGroups& groups) {
  const std::int64_t local_batches = (c.training_events() + c.options.batch - 1) / c.options.batch;
  if (groups.ranks() <= local_batches) return;
  throw InvalidRequest("/strategy/batch",
                       fmt::format("{} training events are {} batches of {}, fewer than {} ranks, so that some epochs "
                                   "would have no update; take a smaller batch, or fewer ranks",
                                   c.training_events(), local_batches, c.options.batch, groups.ranks()));
}

/// Ranks that share a memory share it on the host.
void check_place(const EventCase& c, const TrainingGroups& groups) {
  if (c.options.memory_on != "device" || groups.in_group() == 1) return;
  throw InvalidRequest("/strategy/memory_on",
                       fmt::format("i x j = {} ranks share a copy of the memory, which lies on the host then; take "
                                   "memory_on=host, or i=1,j=1",
                                   groups.in_group()));
}

/// A group shares a memory of its node's host, so it lies within one.
void check_nodes(const EventCase& c, const TrainingGroups& groups) {
  if (c.request.cluster.empty() || c.model->traits().memory == 0) return;
  const std::int64_t of_node = load_cluster(c.request.cluster)->gpus_per_node;
  if (groups.ranks() <= of_node || of_node % groups.in_group() == 0) return;
  std::int64_t within = std::min(groups.in_group(), of_node);
  while (of_node % within != 0 || groups.ranks() % within != 0) --within;
  throw InvalidRequest(
      "/strategy/k", fmt::format("a group of i x j = {} consecutive ranks shares a memory, and nodes of {} GPUs would "
                                 "cut groups in two; k = {} fits, with i x j = {}",
                                 groups.in_group(), of_node, groups.ranks() / within, within));
}

}  // namespace

GroupPlan plan_of_groups(const std::shared_ptr<const EventCase>& c) {
  const EventBatchOptions& options = c->options;
  const TrainingGroups groups = TrainingGroups::of(options.i, options.j, options.k, c->request.ranks);
  check_batch(*c, groups);
  check_ranks(*c, groups);
  if (c->grouped()) check_place(*c, groups);
  check_nodes(*c, groups);
  return {
      c, BatchOrder(groups, c->training_events(), options.batch, c->training.task->negative_groups), shape_of(*c), {}};
}

std::vector<double> groups_to_keep(const GroupPlan& plan) {
  const TrainingGroups& groups = plan.order.groups();
  return {static_cast<double>(groups.i), static_cast<double>(groups.j), static_cast<double>(groups.k),
          static_cast<double>(plan.order.whole_batch())};
}

std::vector<std::string> approximations_of(const TrainingGroups& groups) {
  std::vector<std::string> all;
  if (groups.j > 1) all.push_back(fmt::format("epoch parallelism: memory is read once for {} iterations", groups.j));
  if (groups.k > 1)
    all.push_back(
        fmt::format("memory parallelism: {} copies of the memory in different parts of the events", groups.k));
  return all;
}

}  // namespace strobe
