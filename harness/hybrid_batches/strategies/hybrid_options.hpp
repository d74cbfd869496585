// Parameters of strategies that train in hybrid batches: a window of steps times a set of a rank's own vertices
// (DynaHB, VLDB'24, Definition 3).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// The defaults of hybrid batches: the paper's sizes and its generator, with gradients summed before every update.
struct HybridDefaults {
  static constexpr const char* vertices = "5%";
  static constexpr const char* snapshots = "20%";
  static constexpr const char* averaging = "sync";
  static constexpr const char* generator = "pipelined";
  static constexpr bool reservoir = true;
  static constexpr const char* adjuster = "none";
  static constexpr const char* cut = "vertices";
};

/// The parameters, with the defaults of a system. Baselines have other defaults.
template <class Defaults>
struct HybridOptionsOf {
  std::string vertices = Defaults::vertices;    // of a rank's own vertices, in one batch
  std::string snapshots = Defaults::snapshots;  // of the training steps, in one batch
  std::string cut = Defaults::cut;              // vertices | steps
  std::string partitioner = "load_aware";
  std::int64_t groups = 10;                     // groups of similar load from which a rank's vertices are drawn evenly
  std::string averaging = Defaults::averaging;  // sync | async | never
  std::string interval = "10";                  // iterations, or seconds ("2s"), between two averagings
  std::string average = "parameters";           // parameters | moments
  std::string frontier = "exact";               // exact | layers
  std::string normalise = "whole";              // whole | batch
  std::string loss = "pooled";                  // pooled | per_step
  std::string generator = Defaults::generator;  // pipelined | inline
  std::int64_t generators = 0;                  // of a rank; 0: one for each size, as long as there are cores
  bool reservoir = Defaults::reservoir;
  double reservoir_gib = 1;
  std::string reservoir_start = "empty";      // empty | full
  std::string adjuster = Defaults::adjuster;  // none | dqn | random | bandit | best_fixed | cost | marginal
  std::string watch = "auto";                 // auto | batches | fixed
  std::string vertex_sizes = "1%/5%/10%/20%";
  std::string snapshot_sizes = "1%/5%/10%/20%";
  std::string reward = "bounded";                                                   // bounded | printed
  double exploration_decay = 0.95, least_exploration = 0.1, learning_rate = 0.005;  // of dqn
  std::int64_t evaluate_every = 10;                                                 // iterations

  /// Whether the adjuster goes by losses.
  bool watches_loss() const { return adjuster != "none" && adjuster != "random" && adjuster != "cost"; }
  /// Whether these are the losses of one fixed batch.
  bool watches_fixed_batch() const {
    return watches_loss() && (watch == "fixed" || (watch == "auto" && adjuster == "marginal"));
  }
  /// Whether the adjuster reads the expected seconds of an update.
  bool knows_costs() const { return adjuster == "cost" || adjuster == "marginal"; }
};
using HybridOptions = HybridOptionsOf<HybridDefaults>;

// Values that a search tries for `hybrid_batch`, the defaults first. It leaves the paper's systems as they are.
inline std::vector<std::string> searched_vertices(bool /*sizes_only*/) { return {"5%", "1%", "20%"}; }
inline std::vector<std::string> searched_snapshots(bool /*sizes_only*/) { return {"20%", "5%", "50%"}; }
inline std::vector<std::string> searched_averagings(bool /*sizes_only*/) { return {"sync", "async"}; }

/// Fields that define batches, and how models are updated with them.
template <class S>
FieldTableBuilder<S> batch_fields() {
  return make_fields<S>()
      .text("vertices", &S::vertices, "vertices in a batch: a percentage of each rank's own vertices, or a number")
      .searched(std::is_same_v<S, HybridOptions> ? searched_vertices : nullptr)
      .text("snapshots", &S::snapshots, "steps in a batch's window: a percentage of the training steps, or a number")
      .searched(std::is_same_v<S, HybridOptions> ? searched_snapshots : nullptr)
      .choice("cut", &S::cut, {"vertices", "steps"},
              "what ranks divide: vertices; or windows of steps, each rank then training all vertices in its own "
              "windows, which are no longer than its share of the steps")
      .text("partitioner", &S::partitioner, "how vertices are assigned to ranks; see strobe list partitioners")
      .integer("groups", &S::groups, "",
               "groups of vertices of similar load on a rank; a batch takes the same share of each", 1, 1 << 20)
      .choice("averaging", &S::averaging, {"sync", "async", "never"},
              "gradients are summed before every update; or ranks update alone, and their models are averaged after "
              "`interval`, or never")
      .searched(std::is_same_v<S, HybridOptions> ? searched_averagings : nullptr)
      .text("interval", &S::interval, "iterations (10), or seconds (2s), from one averaging of models to the next")
      .choice("average", &S::average, {"parameters", "moments"},
              "what is averaged: the weights, or also the optimiser's vectors")
      .choice("frontier", &S::frontier, {"exact", "layers"},
              "cells computed for a batch: all that its targets depend on, or those within the hops of one step")
      .choice("normalise", &S::normalise, {"whole", "batch"},
              "degrees of D^-1/2 (A + I) D^-1/2: those of the whole graph, or counted inside a batch's own graph")
      .choice("loss", &S::loss, {"pooled", "per_step"},
              "mean over the batch's samples, or mean over steps of each step's mean");
}

/// A table of the parameters above for `S`, which must have them as members.
template <class S>
FieldTable hybrid_fields() {
  return batch_fields<S>()
      .choice("generator", &S::generator, {"pipelined", "inline"},
              "batches are made during training, or each when it is needed")
      .integer("generators", &S::generators, "",
               "threads that make batches during a rank's training; sizes are dealt among them; 0: one for each "
               "size, but no more than the rank has cores",
               0, 1 << 10)
      .boolean("reservoir", &S::reservoir, "batches are kept and used again (Eq. 4)")
      .real("reservoir_gib", &S::reservoir_gib, "GiB", "most memory of a rank's kept batches", 0, 1 << 20)
      .choice("reservoir_start", &S::reservoir_start, {"empty", "full"},
              "the reservoir fills during training, or is filled before the first update, as after a long run")
      .choice("adjuster", &S::adjuster, {"none", "dqn", "random", "bandit", "best_fixed", "cost", "marginal"},
              "who chooses the sizes of batches: nobody, deep Q-learning, chance, a bandit, the best size of a "
              "trial, a cost model, or the marginal loss per second with its confidence bound")
      .choice(
          "watch", &S::watch, {"auto", "batches", "fixed"},
          "loss that an adjuster watches: that of the batches just trained, or that of one fixed batch of the first "
          "size on each rank, computed after them; auto: fixed for marginal, batches for others")
      .text("vertex_sizes", &S::vertex_sizes, "sizes of `vertices` from which an adjuster chooses, separated by /")
      .text("snapshot_sizes", &S::snapshot_sizes, "sizes of `snapshots` from which an adjuster chooses, separated by /")
      .choice("reward", &S::reward, {"bounded", "printed"},
              "reward of an adjuster: Eq. 3 with its loss part divided by |previous loss reduction| and kept "
              "within [-1, 1], or as printed")
      .real("exploration_decay", &S::exploration_decay, "",
            "for dqn: factor by which each choice lowers the probability of a random choice, which is 1 at "
            "first",
            0, 1)
      .real("least_exploration", &S::least_exploration, "", "for dqn: lowest probability of a random choice", 0, 1)
      .real("learning_rate", &S::learning_rate, "", "for dqn: learning rate of its gradient descent", 0, 1e6)
      .integer("evaluate_every", &S::evaluate_every, "",
               "iterations between two evaluations; the last weights are always evaluated", 1, 1 << 30);
}

}  // namespace strobe
