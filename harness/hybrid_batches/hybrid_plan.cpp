#include "harness/hybrid_batches/hybrid_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/system/machine_limits.hpp"
#include "harness/full_batch/plan/own_part.hpp"
#include "harness/hybrid_batches/batch_bytes.hpp"
#include "harness/hybrid_batches/batch_feed.hpp"
#include "harness/hybrid_batches/dealt_windows.hpp"
#include "harness/hybrid_batches/graph_bytes.hpp"
#include "harness/hybrid_batches/owned_cells.hpp"
#include "harness/hybrid_batches/update_cost.hpp"
#include "harness/placement/model_hops.hpp"
#include "workloads/partitioners/load_aware.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/storage/shared_columns.hpp"

namespace strobe {
namespace {

std::uint64_t plan_seed(const Case& c) { return static_cast<std::uint64_t>(c.seed); }

HybridOptions options_of(const Case& c) {
  HybridOptions options;
  Json known = Json::object();
  for (const std::string& name : hybrid_fields<HybridOptions>().names()) {
    if (c.strategy.contains(name)) known[name] = c.strategy.at(name);
  }
  static const FieldTable table = hybrid_fields<HybridOptions>();
  table.apply(&options, known, "/strategy");
  return options;
}

void check_adjuster(const HybridOptions& options, const Case& c) {
  if (!options.watches_loss() && options.watch == "fixed") {
    throw InvalidRequest(
        "/strategy/watch",
        fmt::format("adjuster {} watches no loss; take watch=auto, or adjuster=marginal, dqn, bandit or "
                    "best_fixed",
                    options.adjuster));
  }
  if (!options.watches_loss() || c.numerics != "none") return;
  throw InvalidRequest(
      "/strategy/adjuster",
      fmt::format("{} needs losses, but numerics=none computes none; take numerics=cpu, or adjuster=cost, random or "
                  "none",
                  options.adjuster));
}

/// Refuses a task without training samples. A shape never has sample lists.
void check_samples(const FullBatchCase& c) {
  if (c.data.samples->train.count() > 0 || !c.data.graph->has_structure()) return;
  throw InvalidRequest("/task",
                       "the task has no samples in its training steps, so batches would have no targets; take "
                       "another task, or a larger share for training");
}

/// Adds the sizes from which an adjuster chooses. Sizes that round to no vertex or no step are left out, with a note.
void add_choices(HybridPlan& plan, const Owned& owned) {
  const BatchAction first = plan.actions.front();
  std::vector<std::string> left_out;
  plan.actions.clear();
  for (const BatchShare& vertices : parse_shares(plan.options.vertex_sizes, "/strategy/vertex_sizes")) {
    for (const BatchShare& snapshots : parse_shares(plan.options.snapshot_sizes, "/strategy/snapshot_sizes")) {
      try {
        plan.actions.push_back(action_of(plan, vertices, snapshots, owned));
        const bool is_first = vertices.text == first.vertices.text && snapshots.text == first.snapshots.text;
        if (is_first) plan.first_action = plan.actions.size() - 1;
      } catch (const InvalidRequest&) {
        left_out.push_back(vertices.text + " x " + snapshots.text);
      }
    }
  }
  if (plan.actions.empty()) {
    throw InvalidRequest(
        "/strategy/vertex_sizes",
        "none of the sizes holds a vertex of every rank and a training step; take larger vertex_sizes or "
        "snapshot_sizes");
  }
  if (!left_out.empty())
    plan.notes.push_back(fmt::format("sizes that hold no vertex or no step{} are left out: {}",
                                     plan.cuts_steps() ? ", or more steps than a rank," : "",
                                     fmt::join(left_out, ", ")));
}

BatchSource source_of(const HybridPlan& plan) {
  BatchSource source;
  source.inputs = plan.full->data.graph.get();
  for (const auto& support : plan.full->data.supports) source.supports.push_back(support.get());
  source.layers = layer_reads(plan.layers());
  source.frontier = plan.options.frontier == "exact" ? FrontierKind::exact : FrontierKind::layers;
  return source;
}

double entries_of(const LayeredBatch& batch) {
  double sum = 0;
  for (const BatchLayer& layer : batch.layers) {
    sum += static_cast<double>(layer.a.columns.size()) + static_cast<double>(layer.entries);
    for (const auto& support : layer.steps) {
      for (const HostCsr& csr : support) sum += static_cast<double>(csr.columns.size());
    }
    for (const auto& support : layer.step_entries) {
      for (const std::int64_t entries : support) sum += static_cast<double>(entries);
    }
  }
  return sum;
}

/// Means over a few batches of different ranks. No training draws these numbers.
TypicalBatch typical_batch(const HybridPlan& plan, std::size_t action, BatchMaker& maker) {
  constexpr std::uint64_t first_number = std::uint64_t{1} << 31;
  const int count = std::clamp(plan.ranks(), 2, 4);
  TypicalBatch mean;
  for (int i = 0; i < count; ++i) {
    const SharedBatch batch = maker.make(i % plan.ranks(), action, first_number + static_cast<std::uint64_t>(i));
    const BatchLayer& first = batch->layers.layers.front();
    const double features =
        static_cast<double>(first.columns() * plan.graph().cell_width()) * (plan.full->model.fp64 ? 8.0 : 4.0);
    mean.cells += static_cast<double>(batch->layers.computed_cells) / count;
    mean.needed_cells += static_cast<double>(batch->layers.needed_cells) / count;
    mean.target_cells += static_cast<double>(batch->layers.target_cells()) / count;
    mean.entries += entries_of(batch->layers) / count;
    mean.bytes += (static_cast<double>(batch->bytes()) + features) / count;
  }
  return mean;
}

/// Divides each rank's vertices into groups of similar load. A rank with few vertices has fewer groups.
void own_vertices(HybridPlan& plan, const std::vector<double>& load) {
  const int groups = static_cast<int>(plan.options.groups);
  const std::vector<std::int32_t> group = balanced_groups(load, plan.owner, plan.ranks(), groups);
  plan.groups.assign(plan.ranks(), BalancedGroups(static_cast<std::size_t>(groups)));
  const std::vector<bool> missing = never_there(plan);
  for (std::size_t v = 0; v < plan.owner.size(); ++v)
    if (missing.empty() || !missing[v]) plan.groups[plan.owner[v]][group[v]].push_back(static_cast<VertexId>(v));
  for (BalancedGroups& of_rank : plan.groups)
    std::erase_if(of_rank, [](const std::vector<VertexId>& some) { return some.empty(); });
  plan.loads = std::make_shared<const VertexLoads>(VertexLoads{load, group});
  if (plan.cuts_steps()) share_all_vertices(plan, load, missing);
}

std::string frontier_note(const TypicalBatch& typical) {
  return fmt::format(
      "a batch has {:.0f} target cells; its layers compute {:.0f} cells, {:.1f} times as many; {:.0f} % "
      "of them are needed, and the others fill timelines up",
      typical.target_cells, typical.cells, typical.cells / typical.target_cells,
      100 * typical.needed_cells / typical.cells);
}

/// Whether an update covers all samples of the training steps, with everything on which they depend.
bool is_exact(const HybridPlan& plan, const Owned& owned) {
  bool exact = plan.sync() && !plan.adjusts() && plan.options.frontier == "exact" &&
               plan.options.normalise == "whole" && plan.options.loss == "pooled";
  for (std::size_t r = 0; r < owned.vertices.size(); ++r) {
    const BatchSize& size = plan.actions.front().of_rank[r];
    exact = exact && size.vertices == owned.vertices[r] && size.steps == plan.trained_steps();
  }
  return exact;
}

/// Counting takes too long with many ranks and entries, so it is then left out.
void add_caches(HybridPlan& plan) {
  constexpr std::int64_t most_visits = 2'000'000'000;
  if (!plan.graph().has_structure()) {
    plan.notes.emplace_back(
        "this workload is known by its shape only: batch sizes assume that every row has its step's mean "
        "number of entries, spread evenly over all vertices; vertices that ranks keep of each other were "
        "not counted");
    return;
  }
  if (plan.graph().nonzeros() > most_visits / plan.ranks()) {
    plan.notes.emplace_back(
        "the vertices that ranks hold of each other were not counted, and their memory was not checked: too "
        "many entries and ranks");
    return;
  }
  plan.caches = count_caches(plan);
  if (plan.ranks() < 2) return;
  std::uint64_t cached = 0, most = 0;
  for (std::size_t r = 0; r < plan.caches->own_bytes.size(); ++r) {
    cached += plan.caches->cached_bytes[r];
    most = std::max(most, plan.caches->own_bytes[r] + plan.caches->cached_bytes[r]);
  }
  plan.notes.push_back(fmt::format(
      "ranks hold {:.2f} times the {}; {:.1f} MB of others' move once, before training, and the largest rank holds "
      "{:.1f} MB",
      1 + plan.caches->duplication,
      plan.cuts_steps() ? "training steps, those that their windows reach"
                        : "vertices of the graph, those within the hops of their own",
      static_cast<double>(cached) / 1e6, static_cast<double>(most) / 1e6));
}

/// 1 + row sums of A as the model smooths it, [T * N].
std::vector<double> degrees_of(const DataPlan& data, Preprocessing what) {
  what.laplacian = what.keep_features = false;
  what.feature_scale = "none";
  const PreparedGraph plain = prepare(*data.raw, what, data.graph->steps, true, data.presence);
  std::vector<double> degrees(plain.row_offsets.size() - 1, 1.0);
  for (std::size_t row = 0; row < degrees.size(); ++row) {
    for (std::int64_t e = plain.row_offsets[row]; e < plain.row_offsets[row + 1]; ++e)
      degrees[row] += plain.values64[e];
  }
  return degrees;
}

void add_degrees(HybridPlan& plan) {
  if (plan.options.normalise == "whole") return;
  const Preparation what = plan.full->model.equations->preparation();
  if (plan.full->data.raw == nullptr)
    throw InvalidRequest("/strategy/normalise", "degrees are counted in a graph, and this workload is a shape alone");
  if (what.inputs.precompute_first_product) {
    throw InvalidRequest("/strategy/normalise",
                         "degrees are counted inside a batch, and this model's first product is made before there are "
                         "batches; take the model's precompute=false");
  }
  if (!what.inputs.laplacian || !what.supports.empty()) {
    throw InvalidRequest("/strategy/normalise",
                         "the degrees of a batch are those of D^-1/2 (A + I) D^-1/2, and this model's layers multiply "
                         "with something else; take normalise=whole");
  }
  plan.degrees = degrees_of(plan.full->data, what.inputs);
}

/// Adds a note if the cluster was measured before batch making was part of the calibration.
void note_calibration(HybridPlan& plan) {
  const std::string& name = plan.full->request.cluster;
  if (name.empty()) return;
  const auto cluster = load_cluster(name);
  if (cluster->calibration == nullptr) return;  // such a row is uncalibrated as a whole
  if (cluster->calibration->host_seconds(making_batches, making_work(plan, plan.first_action)) >= 0) return;
  plan.notes.emplace_back(
      "uncalibrated: the cluster file does not say what making batches takes (calibration/host_operations/make_batch), "
      "so phase host follows from the rates of its host; measure it again with strobe calibrate");
}

/// Owners by the partitioner, and each vertex's load. Vertices of a shape all have the same load and are dealt in turn.
std::vector<double> add_owners(HybridPlan& plan, const FullBatchCase& c) {
  const auto& partitioner = PartitionerRegistry::instance().find(plan.options.partitioner, "/strategy/partitioner");
  std::vector<double> load;
  if (!c.data.graph->has_structure()) {
    for (std::int64_t v = 0; v < c.data.graph->vertices; ++v) plan.owner.push_back(static_cast<Rank>(v % c.ranks()));
    return std::vector<double>(plan.owner.size(), 1.0);
  }
  const int hops = model_hops(&c.model.layers, c.data.graph->first_product_done);
  plan.owner = partitioner.value(*c.data.graph, c.ranks(), plan_seed(c.request), hops, &load, c.share_holders());
  return load.empty() ? walk_loads(*c.data.graph, hops) : load;
}

/// Owners, groups and sizes of batches.
void lay_out_batches(HybridPlan& plan, const FullBatchCase& c) {
  const std::vector<double> load = add_owners(plan, c);
  const Placement placement = by_vertex(plan.owner, c.data.graph->steps, c.ranks(), listed_owners(c.only_rank()));
  const StrategyPlan strategy{placement, placement, even_blocks(c.data.graph->steps, 1), {}, {}};
  plan.full = std::make_shared<FullBatchPlan>(FullBatchPlan{c, strategy, {}, {}, {}, {}, nullptr});
  plan.notes = c.data.notes;
  plan.source = source_of(plan);
  add_degrees(plan);
  plan.samples = index_samples(plan.full->data.samples->train, plan.trained_steps());
  own_vertices(plan, load);
  const Owned owned = count_owned(plan);
  plan.actions.push_back(action_of(plan, parse_share(plan.options.vertices, "/strategy/vertices"),
                                   parse_share(plan.options.snapshots, "/strategy/snapshots"), owned));
  plan.exact = is_exact(plan, owned);
  if (plan.adjusts()) add_choices(plan, owned);
}

/// Lays out the evaluation of weights: all cells, in blocks of steps. A rank's part of a block has at most the cells
/// that a layer of the largest update computes, or those of one step. So an evaluation takes about as much memory as an
/// update.
void lay_out_evaluation(HybridPlan& plan, FullBatchCase c) {
  double most = 0;
  for (const TypicalBatch& typical : plan.typical) most = std::max(most, typical.cells);
  const double of_layer = most / static_cast<double>(plan.layers().size());
  const double of_step = std::ceil(static_cast<double>(plan.graph().vertices) / plan.ranks());
  const std::int64_t steps = plan.graph().steps;
  const std::int64_t in_block = std::clamp(static_cast<std::int64_t>(of_layer / of_step), std::int64_t{1}, steps);
  StrategyPlan strategy = plan.full->strategy;
  c.options.blocks = (steps + in_block - 1) / in_block;
  c.options.from_file = true;  // the host keeps no copies of blocks
  strategy.blocks = even_blocks(steps, c.options.blocks);
  plan.full = lay_out(c, std::move(strategy));
}

/// Adds a note if the reservoir is still filling at the end, because seconds then differ from those of a long run.
void note_filling(HybridPlan& plan) {
  if (!plan.options.reservoir || plan.exact || plan.options.reservoir_start == "full" || plan.iterations() == 0) return;
  const Case& c = plan.full->request;
  std::int64_t most = 0;
  for (std::size_t a = 0; a < plan.actions.size(); ++a) most += most_kept(plan, 0, a);
  const std::int64_t updates = (c.warmup + c.epochs) * plan.iterations();
  if (updates >= most) return;
  plan.notes.push_back(fmt::format(
      "the reservoir of a rank may hold {} batches, more than the {} updates of this run: it is still filling, and "
      "seconds are not those of the long run; reservoir_start=full begins there",
      most, updates));
}

/// Drops what batches of other ranks are drawn from. Arrays of all vertices go into files of the node.
void keep_own_batches(HybridPlan& plan, Rank rank) {
  for (std::size_t r = 0; r < plan.groups.size(); ++r)
    if (static_cast<Rank>(r) != rank) plan.groups[r] = BalancedGroups();
  plan.samples =
      plan.cuts_steps() ? of_steps(plan.samples, held_steps(plan, rank)) : of_rank(plan.samples, plan.owner, rank);
  plan.owner = std::vector<Rank>();  // `= {}` would keep the memory
  const NodeStore* const node = plan.full->node.get();
  plan.loads = shared(*plan.loads, node);
  share_columns<double>(node, {&plan.degrees});
}

}  // namespace

std::shared_ptr<const HybridPlan> plan_hybrid(const Case& request, PlanUse use, const DataCache& cache) {
  auto plan = std::make_shared<HybridPlan>();
  plan->options = options_of(request);
  plan->interval = parse_interval(plan->options.interval, "/strategy/interval");
  check_adjuster(plan->options, request);
  check_foreseen(request, choose_model(request), usable_memory_bytes());
  const FullBatchCase c = begin_full_batch(request, use, cache);
  check_samples(c);
  require_at_least(c.data.graph->vertices, c.ranks(), "vertices", request.strategy.at("name").get<std::string>());
  lay_out_batches(*plan, c);
  {
    BatchMaker maker(*plan, false);
    for (std::size_t a = 0; a < plan->actions.size(); ++a) plan->typical.push_back(typical_batch(*plan, a, maker));
  }
  lay_out_evaluation(*plan, c);
  if (plan->options.knows_costs()) plan->update_seconds = expected_update_seconds(*plan);
  plan->notes.push_back(frontier_note(plan->typical[plan->first_action]));
  note_calibration(*plan);
  note_filling(*plan);
  add_caches(*plan);
  check_memory(*plan);
  if (const std::optional<Rank> own = c.only_rank()) keep_own_batches(*plan, *own);
  return plan;
}

}  // namespace strobe
