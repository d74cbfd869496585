#include "harness/event_batches/groups/group_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "harness/event_batches/groups/distributed_memory.hpp"

namespace strobe {
namespace {

void check_batch(const EventCase& c, const TrainingGroups& groups) {
  if (groups.i * c.options.batch <= c.training_events()) return;
  throw InvalidRequest(
      "/strategy/batch",
      fmt::format("a batch of {} ranks x {} events, but only {} are trained on; take a smaller batch or "
                  "i, or a larger share for training",
                  groups.i, c.options.batch, c.training_events()));
}

/// If more batches were in training at a time than a sweep has, an epoch could have no iteration, and so no loss.
void check_ranks(const EventCase& c, const BatchOrder& order) {
  const TrainingGroups& groups = order.groups();
  if (groups.j * groups.k <= order.batches()) return;
  throw InvalidRequest("/strategy/batch",
                       fmt::format("{} training events are {} batches of {}, fewer than j x k = {} that are trained on "
                                   "at a time, so that some epochs would have no update; take a smaller batch, or "
                                   "fewer ranks",
                                   c.training_events(), order.batches(), order.whole_batch(), groups.j * groups.k));
}

/// Ranks can share a memory only on the host.
void check_place(const EventCase& c, const TrainingGroups& groups) {
  if (c.options.memory_on != "device" || groups.in_group() == 1) return;
  throw InvalidRequest("/strategy/memory_on",
                       fmt::format("i x j = {} ranks share a copy of the memory, which must then be on the host; take "
                                   "memory_on=host, or i=1,j=1",
                                   groups.in_group()));
}

/// A group shares memory on the host of its node, so it must lie within one node.
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

/// The number of nodes of a distributed memory. By default, the nodes that the ranks need on the case's cluster.
std::int64_t nodes_of(const EventCase& c) {
  if (c.options.nodes > 0) return c.options.nodes;
  if (c.request.cluster.empty()) return 1;
  const std::int64_t of_node = load_cluster(c.request.cluster)->gpus_per_node;
  return (c.request.ranks + of_node - 1) / of_node;
}

/// The copies of a node's groups must fit its host memory, with the buffers between daemons and ranks.
void check_host(const GroupPlan& plan) {
  const EventCase& c = *plan.events;
  const TrainingGroups& groups = plan.order.groups();
  if (!c.grouped() || plan.memory.width == 0 || plan.on_device()) return;
  std::int64_t copies = groups.k;
  auto room = static_cast<std::uint64_t>(usable_memory_bytes());
  std::string whose = "this machine";
  if (!c.request.cluster.empty()) {
    const std::shared_ptr<const Cluster> cluster = load_cluster(c.request.cluster);
    copies =
        std::max<std::int64_t>(1, std::min<std::int64_t>(groups.ranks(), cluster->gpus_per_node) / groups.in_group());
    room = cluster->host.memory_bytes;
    whose = fmt::format("a node of {}", c.request.cluster);
  } else if (!in_one_process(c.request)) {
    copies = 1;  // the number of copies on this machine is not known before the launch
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(copies) * bytes_of_copy(groups, plan.memory);
  if (room == 0 || bytes <= room) return;
  throw InvalidRequest("/strategy/k",
                       fmt::format("{} {} of the memory take {} on the host, with what daemons and ranks pass each "
                                   "other, and {} has {}; take fewer copies (more i or j), a smaller batch or memory "
                                   "of the model, or memory_on=device",
                                   copies, copies == 1 ? "copy" : "copies", format_bytes(static_cast<double>(bytes)),
                                   whose, format_bytes(static_cast<double>(room))));
}

/// To simulate reads from disk, the cluster file must state the disk's speed.
void check_disk(const EventCase& c) {
  if (c.options.presample != "disk" || c.request.cluster.empty()) return;
  if (load_cluster(c.request.cluster)->host.disk_bytes_per_second > 0) return;
  throw InvalidRequest("/strategy/presample",
                       fmt::format("cluster {} does not say how fast its disks read; add it, as in --cluster "
                                   "{}:host.disk_bytes_per_second=5e9, or take presample=memory",
                                   c.request.cluster, c.request.cluster));
}

void check_distributed(const EventCase& c, const TrainingGroups& groups, std::int64_t nodes) {
  const auto refuse = [](const char* where, const std::string& why) { throw InvalidRequest(where, why); };
  const bool has_memory = c.model->traits().memory > 0;
  if (!has_memory && c.options.presample != "none")
    refuse("/strategy/memory_layout",
           fmt::format("nothing would lie by node: model {} has no memory, and with presample each rank draws from all "
                       "events; take presample=none, or memory_layout=copy",
                       c.request.model.at("name").get<std::string>()));
  if (groups.k != 1)
    refuse("/strategy/k", fmt::format("memory_layout=distributed is one memory for all nodes, not {} copies; take i={} "
                                      "and k=1, or memory_layout=copy",
                                      groups.k, groups.i * groups.k));
  if (has_memory && c.options.memory_on == "device")
    refuse("/strategy/memory_on", "a distributed memory lies on hosts; take memory_on=host");
  if (c.options.evaluate == "copy0")
    refuse("/strategy/evaluate",
           "evaluate=copy0 cannot read a distributed memory, which lies on several hosts; take evaluate=replay");
  if (nodes > 1 && c.data.task->pair_history > 0)
    refuse("/task/pair_history",
           "it reads events of any two vertices, and with a distributed memory each node holds a part of them; take "
           "memory_layout=copy, or pair_history=0");
  if (groups.ranks() % nodes != 0)
    refuse("/strategy/nodes", fmt::format("{} ranks are not a multiple of {} nodes", groups.ranks(), nodes));
}

/// Ranks that are threads of one process share all events; a process of its own copies what its node holds.
std::shared_ptr<const EventPart> part_of_process(const EventCase& c, const EventData& data, const RemoteRows& remote) {
  const auto& comm = CommunicatorRegistry::instance().find(c.request.comm, "/comm").value;
  if (comm.world_size() == 0) return std::make_shared<const EventPart>(data, 0, remote.nodes(), false);
  return std::make_shared<const EventPart>(data, remote.node_of(comm.process_rank()), remote.nodes(), true);
}

/// Draws all that the ranks train on, to count what they send each other. Then it takes the own part of the events.
void plan_for_nodes(GroupPlan& plan, std::int64_t nodes) {
  const EventCase& c = *plan.events;
  const std::int64_t iterations = plan.order.first_iteration(c.planned_epochs());
  plan.remote = std::make_shared<const RemoteRows>(c, plan.order, nodes, iterations);
  plan.evaluation.order = std::make_shared<const EvaluationOrder>(whole_evaluation(c));
  plan.evaluation.rows = std::make_shared<const EvaluationRows>(plan.evaluation.order, c.request.ranks, nodes);
  if (c.options.presample != "none") return;
  plan.part = part_of_process(c, c.training, *plan.remote);
  plan.evaluation.part = c.training.graph == c.data.graph ? plan.part : part_of_process(c, c.data, *plan.remote);
}

/// A node's shape with room for the steps of an evaluation. A step reads for what it scores and for what it writes.
/// This is a bound, because the exact numbers take all draws of the evaluation.
MemoryShape with_evaluation(const EventCase& c, MemoryShape shape) {
  const EventTaskData& task = *c.data.task;
  const std::int64_t scored = std::min(task.evaluation_batch, events_scored_at_once(c, task.evaluation_candidates));
  const std::int64_t asked = scored * asked_by_event(c, task.evaluation_candidates), ends = 2 * task.evaluation_batch;
  const auto distinct = [&](std::int64_t rows) { return std::min(rows, shape.vertices); };
  const std::int64_t read = c.model->traits().mail_dt_of_asker ? asked + ends : distinct(asked) + distinct(ends);
  shape.read_rows = std::max(shape.read_rows, read);
  shape.write_rows = std::max(shape.write_rows, distinct(ends));
  return shape;
}

void check_evaluation(const EventCase& c) {
  if (c.options.evaluate != "copy0") return;
  if (c.options.evaluate_batches > 0)
    throw InvalidRequest("/strategy/evaluate_batches",
                         "evaluate=copy0 continues with the memory as it is, but evaluate_batches begins with an empty "
                         "one; leave one of them out");
  if (c.model->traits().memory == 0)
    throw InvalidRequest("/strategy/evaluate", "the model has no memory to begin with; take evaluate=replay");
}

}  // namespace

MemoryShape memory_shape(const EventCase& c) {
  const EventModelTraits traits = c.model->traits();
  MemoryShape shape;
  shape.vertices = c.training.graph->vertices;
  shape.width = traits.memory;
  shape.type = c.fp64() ? ElementType::f64 : ElementType::f32;
  shape.values = c.request.numerics != "none";
  std::int64_t asked = c.options.batch * (2 + c.training.task->training_negatives);
  for (int level = 0; level < traits.levels; ++level) asked *= 1 + traits.neighbours;
  // A vertex is read once, unless its mail depends on the time of the root that asks.
  shape.read_rows = traits.mail_dt_of_asker ? asked : std::min(asked, shape.vertices);
  shape.write_rows = std::min(2 * c.options.batch, shape.vertices);
  return shape;
}

GroupPlan plan_of_groups(const std::shared_ptr<const EventCase>& c) {
  const EventBatchOptions& options = c->options;
  const TrainingGroups groups = TrainingGroups::of(options.i, options.j, options.k, c->request.ranks);
  check_batch(*c, groups);
  const BatchOrder order(groups, c->training_events(), options.batch, c->training.task->negative_groups);
  check_ranks(*c, order);
  if (c->grouped()) check_place(*c, groups);
  if (c->grouped()) check_evaluation(*c), check_disk(*c);
  GroupPlan plan{c, order, memory_shape(*c), {}, nullptr, nullptr, {}};
  if (options.memory_layout != "distributed") {
    if (options.nodes > 0)
      throw InvalidRequest("/strategy/nodes",
                           "nodes is for a distributed memory, but memory_layout is copy; leave nodes out, or "
                           "take memory_layout=distributed");
    check_nodes(*c, groups);
    check_host(plan);
    return plan;
  }
  const std::int64_t nodes = nodes_of(*c);
  check_distributed(*c, groups, nodes);
  if (nodes > 1) plan_for_nodes(plan, nodes);
  return plan;
}

bool GroupPlan::evaluates_after(std::int64_t epoch) const {
  const std::int64_t every = events->options.evaluate_every;
  if (events->options.evaluate != "copy0") return (epoch + 1) % every == 0;
  return sweeps_before(epoch + 1) / every > sweeps_before(epoch) / every;
}

std::vector<HelperRequest> memory_daemons(const GroupPlan& plan) {
  std::vector<HelperRequest> all;
  if (!plan.events->grouped() || plan.memory.width == 0 || plan.on_device()) return all;
  const auto threads = static_cast<int>(plan.events->request.host_threads);
  if (plan.remote != nullptr) {
    for (std::int64_t node = 0; node < plan.remote->nodes(); ++node) {
      const MemoryShape shape = with_evaluation(*plan.events, shape_of_node(plan.memory, *plan.remote, node));
      all.push_back(memory_daemon(daemons_of_nodes(*plan.remote), node, shape, threads));
    }
    return all;
  }
  for (std::int64_t copy = 0; copy < plan.order.groups().k; ++copy)
    all.push_back(memory_daemon(plan.order.groups(), copy, plan.memory, threads));
  return all;
}

std::vector<double> groups_to_keep(const GroupPlan& plan) {
  const TrainingGroups& groups = plan.order.groups();
  std::vector<double> kept{static_cast<double>(groups.i), static_cast<double>(groups.j), static_cast<double>(groups.k),
                           static_cast<double>(plan.order.whole_batch())};
  // Refuses old checkpoints with i > 1, whose epochs ended at other iterations.
  if (groups.i > 1) kept.push_back(static_cast<double>(plan.order.batches()));
  if (plan.remote != nullptr) kept.push_back(static_cast<double>(plan.remote->nodes()));
  return kept;
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
