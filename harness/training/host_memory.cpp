#include "harness/training/host_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>

#include "backends/communicator.hpp"
#include "backends/launch_wait.hpp"
#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/system/process_memory.hpp"
#include "core/units.hpp"
#include "harness/event_batches/event_memory.hpp"
#include "harness/full_batch/block_pages.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/full_batch/plan/host_parts.hpp"
#include "harness/full_batch/plan/transfer_plan.hpp"
#include "harness/hybrid_batches/graph_bytes.hpp"
#include "harness/hybrid_batches/hybrid_memory.hpp"
#include "harness/process/narrate.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/schedule/file_content.hpp"
#include "harness/training/host_room.hpp"

namespace strobe {
namespace {

/// The memory of a node that a case may take, at most what a simulated node has; 0 without a limit.
double limit_bytes(const Case& c) {
  const double limit = c.host_memory_limit_gib * 1024 * 1024 * 1024;
  if (limit <= 0 || c.cluster.empty()) return limit;
  const auto memory = static_cast<double>(load_cluster(c.cluster)->host.memory_bytes);
  return memory > 0 ? std::min(limit, memory) : limit;
}

/// Whether tensors lie in the memory of the host.
bool has_tensors_on_host(const Case& c) {
  return is_on_host(c.device) || (!c.cluster.empty() && load_cluster(c.cluster)->shared_host_memory);
}

/// The fullest node of a case: a simulated one, or `here`.
NodeRanks node_of(const Case& c, const NodeRanks& here) {
  if (c.cluster.empty()) return here;
  const std::int64_t beside = std::min<std::int64_t>(c.ranks, load_cluster(c.cluster)->gpus_per_node);
  NodeRanks node;
  node.program_bytes = here.program_bytes;
  node.files = here.files;
  node.nodes = (c.ranks + beside - 1) / beside;
  if (node.nodes == 1) return node;
  node.processes = beside;
  node.ranks.resize(static_cast<std::size_t>(beside));
  std::iota(node.ranks.begin(), node.ranks.end(), 0);
  return node;
}

double sum_of(const PerMemoryPart<std::uint64_t>& parts) {
  return static_cast<double>(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}));
}

/// A process takes this as soon as it trains, for graphs of every size: stacks, operations, tables of libraries.
constexpr double started_bytes = 1 << 20;

/// Mean of the node's ranks of what `bytes_of` takes from the parts of a rank's planned peak.
template <class BytesOf>
double mean_of_node(const PlannedPeak& peak, const NodeRanks& here, const BytesOf& bytes_of) {
  const std::vector<PerMemoryPart<std::uint64_t>>& peaks = peak.parts;
  double sum = 0;
  for (const Rank rank : here.ranks) sum += bytes_of(peaks.at(rank));
  if (!here.ranks.empty()) return sum / static_cast<double>(here.ranks.size());
  for (const auto& parts : peaks) sum += bytes_of(parts);
  return sum / static_cast<double>(peaks.size());
}

/// Mean of the node's ranks of a value of each rank.
double mean_of_ranks(const std::vector<double>& values, const NodeRanks& here) {
  double sum = 0;
  for (const Rank rank : here.ranks) sum += values.at(static_cast<std::size_t>(rank));
  if (!here.ranks.empty()) return sum / static_cast<double>(here.ranks.size());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Mean peak of tensors of the node's ranks; 0 when their devices have memory of their own.
double tensor_bytes(const PlannedCase& plan, const PlannedPeak& peak, const NodeRanks& here) {
  return has_tensors_on_host(plan.request) ? mean_of_node(peak, here, sum_of) : 0;
}

/// About what a rank takes on the host to compute metrics of snapshots, next to its tensors: outputs in fp64, and with
/// them scores, labels, baselines and their order.
double evaluation_bytes(const PlannedCase& plan) {
  if (family_of(plan.request.model) != "snapshots") return 0;
  std::int64_t most = 0;
  for (const auto& [name, samples] : plan.schedule->summary().metrics.samples) most = std::max(most, samples);
  return 64.0 * static_cast<double>(most);
}

/// Mean of the node's ranks of the arrays on the host that tensors of inputs are copied from. Tensors hold a matrix and
/// its transpose, and the host one of both.
double copied_bytes(const PlannedPeak& peak, const NodeRanks& here) {
  return mean_of_node(peak, here, [](const PerMemoryPart<std::uint64_t>& parts) {
    return static_cast<double>(parts[MemoryPart::graph]) / 2 +
           static_cast<double>(parts[MemoryPart::features] + parts[MemoryPart::samples]);
  });
}

/// Bytes of the embeddings that rank 0 gathers for their file, and of one step, both in fp64, as a mean of the node's
/// ranks. Freed tensors may still be kept for reuse then, and serve for what ranks pass each other.
double embedding_bytes(const PlannedCase& plan, const FullBatchPlan& full, const NodeRanks& here) {
  if (here.files.count("embeddings") == 0 || plan.request.numerics == "none") return 0;
  const Placement& placement = full.strategy.spatial;
  const std::int64_t of_step = placement.vertices * full.model.layers.back().temporal_width;
  std::vector<double> bytes(static_cast<std::size_t>(plan.ranks()), 0.0);
  bytes.front() = static_cast<double>(sizeof(double)) * static_cast<double>(of_step) +
                  content_bytes(full.node.get(), static_cast<std::size_t>(placement.steps() * of_step));
  return mean_of_ranks(bytes, here);
}

/// Bytes that a rank of hybrid batches takes when it evaluates its weights, or gathers embeddings of `gathered` bytes.
double judging_bytes(const PlannedCase& plan, const NodeRanks& here, double gathered) {
  if (plan.request.numerics == "none") return 0;
  const PlannedPeak peak = *planned_evaluation_peak(plan);
  return tensor_bytes(plan, peak, here) + std::max(evaluation_bytes(plan), gathered);
}

/// Bytes that a rank of hybrid batches takes at its most.
double hybrid_rank_bytes(const PlannedCase& plan, const HybridMemory& hybrid, const PlannedPeak& peak,
                         const NodeRanks& here) {
  PlannedCase evaluated = plan;
  evaluated.schedule = hybrid.evaluated;
  const double gathered = embedding_bytes(plan, full_batch(evaluated), here);
  const double feed = std::accumulate(hybrid.feed.begin(), hybrid.feed.end(), 0.0);
  return std::max(tensor_bytes(plan, peak, here) + copied_bytes(peak, here), judging_bytes(plan, here, gathered)) +
         feed / static_cast<double>(hybrid.feed.size());
}

/// Bytes that a rank takes at its most.
double rank_bytes(const PlannedCase& plan, const PlannedPeak& peak, const NodeRanks& here) {
  const double tensors = tensor_bytes(plan, peak, here);
  if (const std::optional<EventMemory> events = event_memory(*plan.schedule, here.files))
    return std::max(mean_of_ranks(events->start, here),
                    tensors + mean_of_ranks(events->bytes, here) + mean_of_ranks(peak.span_bytes, here));
  if (const std::optional<HybridMemory> hybrid = hybrid_memory(*plan.schedule))
    return hybrid_rank_bytes(plan, *hybrid, peak, here);
  const FullBatchPlan* const full = full_batch_or_null(plan);
  return tensors + std::max(evaluation_bytes(plan), full == nullptr ? 0 : embedding_bytes(plan, *full, here));
}

/// Bytes that a process of `node` holds for the plan. Those of a simulated job have graph and samples in files, and
/// each of several its part of the rest.
double held_bytes(const PlannedCase& plan, const NodeRanks& node) {
  const double whole = sum_of(plan.schedule->host_parts());
  const FullBatchPlan* const full = full_batch_or_null(plan);
  if (plan.request.cluster.empty() || full == nullptr) return whole;
  const double rest = whole - sum_of(host_parts(full->data));
  return node.nodes > 1 ? rest / static_cast<double>(plan.ranks()) : rest;
}

/// Bytes of one process.
struct ProcessBytes {
  std::string host;
  double program = 0, held = 0, planning = 0, rank = 0;  // planning: what it took more at its most
};

/// Gathers the bytes of every process, by rank. Processes measure differently, but all get the same list here.
std::vector<ProcessBytes> bytes_of_processes(const PlannedCase& plan, PlanUse use, const NodeRanks& here,
                                             const ProcessBytes& own) {
  const auto& comm = CommunicatorRegistry::instance().find(plan.request.comm, "/comm").value;
  if (comm.in_one_process() || comm.world_size() <= 1 || use == PlanUse::report)
    return std::vector<ProcessBytes>(static_cast<std::size_t>(here.processes), own);
  std::vector<ProcessBytes> all;
  const Json sent{own.host, own.program, own.held, own.planning, own.rank};
  for (const std::string& received : comm.gather(sent.dump(), launch_wait_seconds())) {
    const Json words = Json::parse(received, nullptr, false);
    if (!words.is_array() || words.size() != sent.size())
      throw Error("another process does not say how much memory it takes; it stopped planning");
    all.push_back({words[0].get<std::string>(), words[1].get<double>(), words[2].get<double>(), words[3].get<double>(),
                   words[4].get<double>()});
  }
  return all;
}

/// The bytes that the processes of one node take.
struct NodeBytes {
  std::int64_t processes = 0, ranks = 0;
  double program = 0, held = 0, rank = 0;  // sums
  double more_to_plan = 0;                 // of the process that plans with the most memory, next to what it keeps

  double planning() const { return program + held + more_to_plan; }
  double training() const { return program + held + rank; }
  double most() const { return std::max(planning(), training()); }
};

/// The node that takes the most. `threads`: ranks of each process.
NodeBytes fullest_node(const std::vector<ProcessBytes>& processes, std::int64_t threads) {
  std::map<std::string, NodeBytes> nodes;
  for (const ProcessBytes& process : processes) {
    NodeBytes& node = nodes[process.host];
    ++node.processes, node.ranks += threads;
    node.program += process.program, node.held += process.held;
    node.rank += static_cast<double>(threads) * process.rank;
    node.more_to_plan = std::max(node.more_to_plan, process.planning - process.held);
  }
  NodeBytes fullest;
  for (const auto& [host, node] : nodes)
    if (node.most() > fullest.most()) fullest = node;
  return fullest;
}

/// How many nodes have room both to plan and to train.
std::string nodes_with_room(const NodeBytes& node, std::int64_t ranks, std::int64_t nodes, double limit) {
  const double process = (node.program + node.held) / static_cast<double>(node.processes);
  HostRoom room = host_room({node.more_to_plan, process, 0, 0}, ranks, nodes, limit);
  const HostRoom training =
      host_room({0, process, node.rank / static_cast<double>(node.ranks), 0}, ranks, nodes, limit);
  room.nodes = room.nodes == 0 || training.nodes == 0 ? 0 : std::max(room.nodes, training.nodes);
  return enough_nodes(room, ranks);
}

std::string reason_of_training(const NodeBytes& node, double limit) {
  const auto ranks = static_cast<double>(node.ranks), processes = static_cast<double>(node.processes);
  return fmt::format(
      "training takes {} of a node's memory ({} for each of {}, {} held by its plan and {} of program for each of {} "
      "{}), and the limit is {}",
      format_bytes(node.training()), format_bytes(node.rank / ranks), counted(node.ranks, "rank"),
      format_bytes(node.held / processes), format_bytes(node.program / processes), node.processes,
      node.processes == 1 ? "process" : "processes", format_bytes(limit));
}

/// Says that a simulated node with `room` for pages reads blocks from the disk again; "" if it does not.
std::string note_on_pages(const PlannedCase& plan, const FullBatchPlan& full, double room) {
  const double file = file_bytes(full.data, full.model.fp64);
  if (file <= room) return "";
  const std::string& cluster = plan.request.cluster;
  if (load_cluster(cluster)->host.disk_bytes_per_second <= 0)
    throw InvalidRequest("/cluster",
                         fmt::format("{} does not state how fast a node reads its disk, and of the graph's "
                                     "file of {} only {} have room in memory; type {}:host.disk_bytes_per_"
                                     "second=5e9, or take a higher limit",
                                     cluster, format_bytes(file), format_bytes(std::max(0.0, room)), cluster));
  return fmt::format("; that leaves {} for the graph's file of {}, so blocks are read from the disk again",
                     format_bytes(std::max(0.0, room)), format_bytes(file));
}

}  // namespace

NodeRanks ranks_of_node(const Ranks& ranks) {
  NodeRanks here;
  here.program_bytes = static_cast<double>(process_memory_bytes()) + started_bytes;
  if (!ranks.several()) return here;
  const std::vector<std::string>& hosts = ranks.hosts();
  const std::string own = host_name();
  here.nodes = static_cast<std::int64_t>(std::set<std::string>(hosts.begin(), hosts.end()).size());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (hosts[rank] == own) here.ranks.push_back(static_cast<Rank>(rank));
  here.processes = std::max<std::int64_t>(1, static_cast<std::int64_t>(here.ranks.size()));
  return here;
}

double least_host_limit(const std::vector<Case>& cases) {
  double least = 0;
  for (const Case& c : cases)
    if (limit_bytes(c) > 0) least = least > 0 ? std::min(least, limit_bytes(c)) : limit_bytes(c);
  return least;
}

bool any_lies_by_node(const std::vector<Case>& cases) {
  return std::any_of(cases.begin(), cases.end(),
                     [](const Case& c) { return c.strategy.value("memory_layout", "copy") == "distributed"; });
}

void check_room_to_read(const Case& request) {
  if (request.host_memory_limit_gib <= 0 || family_of(request.model) != "snapshots") return;
  if (schedule_of(request).name == "external") return;  // the other program reads its own data
  const auto counts = foreseen_counts(request.workload);
  if (!counts) return;
  const ModelChoice choice = choose_model(request);
  const double raw = graph_bytes(*counts, choice.equations->preparation(), choice.fp64).raw;
  if (raw <= limit_bytes(request)) return;
  throw InvalidRequest(host_limit_place,
                       fmt::format("the graph takes at least {} while it is made or read, and the limit is {}; more "
                                   "nodes do not help",
                                   format_bytes(raw), format_bytes(limit_bytes(request))));
}

HostVerdict judge_host_memory(const PlannedCase& plan, const PlannedPeak& peak, PlanUse use,
                              const NodeRanks& of_process, double planning_bytes, double also_held) {
  const double limit = limit_bytes(plan.request);
  if (limit <= 0 || plan.schedule->is_outside()) return {};
  const NodeRanks here = node_of(plan.request, of_process);
  // Invariant: every process calls these collectives, and all get the same verdict.
  const double rank = rank_bytes(plan, peak, here);
  const double held = held_bytes(plan, here) + also_held;
  const std::vector<ProcessBytes> processes =
      bytes_of_processes(plan, use, here, {host_name(), here.program_bytes, held, planning_bytes, rank});
  const std::int64_t ranks = plan.request.ranks;
  const NodeBytes node = fullest_node(processes, here.ranks.empty() ? ranks : 1);
  if (node.most() <= limit) return {node.most(), node.training(), ""};
  const std::string enough = nodes_with_room(node, ranks, here.nodes, limit);
  if (node.planning() > node.training())
    return {node.most(), node.training(),
            fmt::format("planning took {} of a node's memory, and the limit is {}; {}", format_bytes(node.planning()),
                        format_bytes(limit), enough)};
  const bool fixed = has_tensors_on_host(plan.request) && trains_full_batch(plan.request) && plan.request.nb != "auto";
  return {
      node.most(), node.training(),
      fmt::format("{}; {}{}", reason_of_training(node, limit), enough, fixed ? "; more blocks (nb) need less" : "")};
}

TrainingMemory check_host_memory(const PlannedCase& plan, const NodeRanks& here, double planning_bytes) {
  const double limit = limit_bytes(plan.request);
  if (limit <= 0 || plan.schedule->is_outside()) return {};
  const HostVerdict verdict = judge_host_memory(plan, planned_peak(plan), PlanUse::run, here, planning_bytes);
  if (!verdict.reason.empty()) throw InvalidRequest(host_limit_place, verdict.reason);
  const std::string note = host_limit_note + format_bytes(verdict.training) + " of a node's memory";
  const FullBatchPlan* const full = full_batch_or_null(plan);
  const bool visits = !plan.request.cluster.empty() && full != nullptr && !inputs_stay(*full);
  const std::string pages = visits ? note_on_pages(plan, *full, limit - verdict.training) : "";
  return {verdict.training, note + pages, !pages.empty()};
}

std::shared_ptr<const Cluster> with_page_cache(const Case& c, const std::shared_ptr<const Cluster>& cluster,
                                               double training_bytes) {
  const double limit = limit_bytes(c);
  if (limit <= 0 || cluster == nullptr) return cluster;
  const auto changed = std::make_shared<Cluster>(*cluster);
  changed->host.page_cache_bytes = std::max(0.0, limit - training_bytes);
  return changed;
}

std::string check_measuring_epoch(const PlannedCase& measuring, const PlannedCase& plan, const NodeRanks& here) {
  const HostVerdict verdict =
      judge_host_memory(measuring, planned_peak(measuring), PlanUse::run, here, 0, sum_of(plan.schedule->host_parts()));
  if (!verdict.reason.empty())
    throw InvalidRequest(host_limit_place, "in the epoch of fusion_memory=measured, which walks chunks one by one, " +
                                               verdict.reason + "; fusion_memory=planned needs no such epoch");
  return "; the epoch that measures chunks takes " + format_bytes(verdict.training);
}

}  // namespace strobe
