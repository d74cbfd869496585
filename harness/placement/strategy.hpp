// Strategy: a way of parallelising, as a pure function from a graph to placements, a schedule and a staleness policy.
// A full-batch strategy is one such function in one file of harness/full_batch/strategies/.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/registry.hpp"
#include "harness/placement/cut_states.hpp"
#include "harness/placement/placement.hpp"
#include "harness/placement/staleness.hpp"
#include "workloads/partitioners/share_holders.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

struct LayerShape;       // models/snapshots/model.hpp
struct PlacedChunks;     // harness/placement/chunks/placed_chunks.hpp
struct VertexLoads;      // workloads/partitioners/load_aware.hpp
struct DeviceRates;      // harness/placement/chunks/chunk_workload.hpp
struct CellOwners;       // harness/files/placement_file.hpp
struct Samples;          // models/tasks/task.hpp
class NodeStore;         // workloads/storage/node_store.hpp
struct LearnedWorkload;  // harness/placement/chunks/learned/learned_workload.hpp

/// Inputs that a strategy's parameters may name in addition to the graph. The caller of the strategy reads the files,
/// so that the plan follows from the input alone. Empty when no case names them.
struct NamedInputs {
  /// A file of learned workloads that suits the case. "" means the file next to the cluster's. Throws InvalidRequest.
  std::function<std::shared_ptr<const LearnedWorkload>(const std::string& file)> workloads = {};
  /// Rates of a cluster's accelerator, by the cluster's name or file. Throws InvalidRequest.
  std::function<DeviceRates(const std::string& cluster)> rates = {};
  /// A file of owners, by its path. Throws InvalidRequest.
  std::function<std::shared_ptr<const CellOwners>(const std::string& file)> owners = {};
};

/// The input of a strategy.
struct StrategyInput {
  const PreparedGraph& graph;  // steps, vertices, structure
  int ranks = 1;
  std::uint64_t seed = 1;
  /// Step ranges that are visited one after the other, or one range of all steps (ESDG section 3.1). A rank must have
  /// its part of each range.
  std::vector<Run> blocks;
  const std::vector<LayerShape>* layers = nullptr;  // of the model, where it is known
  bool fp64 = false;                                // precision of what moves
  NamedInputs named = {};
  ShareHolders holders = {};  // the processes that plan together, where a partitioner runs in parts
  /// Matrices of layers that go step by step (Preparation::supports), and the training samples; null where unknown.
  const std::vector<std::shared_ptr<const PreparedGraph>>* supports = nullptr;
  const Samples* samples = nullptr;
  /// Where each rank is a process: its rank, and a store for what all processes of a node compute alike, under a name
  /// of the case.
  std::optional<Rank> only_rank = std::nullopt;
  const NodeStore* node = nullptr;
  std::string name = "";
};

/// The decisions of a strategy. `approximations` is empty for an exact strategy (law 3).
struct StrategyPlan {
  Placement spatial, temporal;
  std::vector<Run> blocks;  // step ranges that are visited one after the other; one range: all steps together
  Staleness staleness;
  std::vector<std::string> approximations;
  std::shared_ptr<const PlacedChunks> chunks = nullptr;  // of the strategy that makes them
  std::shared_ptr<const VertexLoads> loads = nullptr;    // of vertices, if ranks were assigned by load
  CutStates states = CutStates::exact;                   // of timelines that the temporal placement cuts
};

/// On one rank all strategies of full-batch training are the same program, `sequential`.
struct StrategyTag {
  static constexpr const char* kind = "strategy";
  /// Throws InvalidRequest when the graph cannot be divided among this number of ranks in this way.
  using Plan = StrategyPlan (*)(const StrategyInput& input, const Json& parameters);
  /// Whether a strategy with these parameters differs from all others at this number of ranks. A search tries no
  /// others.
  using Distinct = bool (*)(const Json& parameters, std::int64_t ranks);
  /// Parameters that a search tries at a number of ranks. `implied` follow from the others there: they are named and
  /// not set, so that the case can go to other ranks.
  struct Searched {
    std::vector<std::pair<std::string, std::int64_t>> chosen, implied;
  };
  /// The settings that a search tries at a number of ranks, `ranks_of_node` of them on each node, in addition to the
  /// given parameters.
  using SearchedAt = std::vector<Searched> (*)(const Json& parameters, std::int64_t ranks, std::int64_t ranks_of_node);
  /// A strategy of full-batch training is given as its plan alone. {plan, true} says that placements depend on sizes
  /// only, so a graph's shapes are enough. A strategy of another kind of training is given by the kind's name
  /// (ScheduleTag). That kind's planner reads its parameters.
  struct Value {
    Value() = default;
    Value(Plan makes, bool sizes_suffice = false, Distinct is_distinct = several_ranks)
        : plan(makes), from_sizes(sizes_suffice), distinct(is_distinct) {}
    explicit Value(std::string kind, bool sizes_suffice = false)
        : from_sizes(sizes_suffice), schedule(std::move(kind)) {}
    StrategyPlan operator()(const StrategyInput& input, const Json& parameters) const {
      return plan(input, parameters);
    }
    /// The same strategy for models of events, trained by `kind`. Only that kind has the parameters named in `only`.
    Value with_events(std::string kind, std::vector<std::string> only) && {
      events = std::move(kind), events_only = std::move(only);
      return std::move(*this);
    }
    Value searching(SearchedAt tries) && {
      searched_at = tries;
      return std::move(*this);
    }
    /// Marks another strategy of the registry with other defaults, or one that needs a file of the user's. A search
    /// over all strategies leaves it out.
    Value as_preset() && {
      preset = true;
      return std::move(*this);
    }
    /// The kind of training that it plans for models of a family.
    const std::string& schedule_for(const std::string& family) const {
      return family == "events" && !events.empty() ? events : schedule;
    }
    Plan plan = nullptr;  // null for other kinds
    bool from_sizes = false;
    Distinct distinct = several_ranks;
    SearchedAt searched_at = nullptr;  // null: the same at every number of ranks
    bool preset = false;
    std::string schedule = "full_batch";
    std::string events;                    // the kind that trains models of events, where it differs
    std::vector<std::string> events_only;  // parameters that a case has with such a model only
  };
  static bool several_ranks(const Json& /*parameters*/, std::int64_t ranks) { return ranks > 1; }
};
using StrategyRegistry = Registry<StrategyTag>;

/// Divides [0, steps) into `count` ranges; the first steps % count ranges have one step more (decisions E10).
std::vector<Run> even_blocks(std::int64_t steps, std::int64_t count);

/// Owner of each step when every block is divided evenly and in order among `owners`: [T] (ESDG section 4.2, checkpoint
/// setting).
std::vector<Rank> step_owners(const std::vector<Run>& blocks, int owners);

/// Refuses more ranks than there are items to divide ("steps", "vertices").
void require_at_least(std::int64_t items, int ranks, const std::string& what, const std::string& strategy);

/// Refuses blocks with fewer steps than there are owners to divide them among.
void require_steps(const std::vector<Run>& blocks, int owners, const std::string& strategy);

}  // namespace strobe
