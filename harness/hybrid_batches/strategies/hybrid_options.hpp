// Parameters of strategies that train in hybrid batches: a window of steps times a set of a rank's own vertices
// (DynaHB, VLDB'24, Definition 3).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Of hybrid batches where nothing else is asked for: the paper's sizes and its generator, updated together.
struct HybridDefaults {
  static constexpr const char* vertices = "5%";
  static constexpr const char* snapshots = "20%";
  static constexpr const char* averaging = "sync";
  static constexpr const char* generator = "pipelined";
  static constexpr bool reservoir = true;
  static constexpr const char* adjuster = "none";
};

/// The parameters, with the defaults of a system: the baselines are the same with others.
template <class Defaults>
struct HybridOptionsOf {
  std::string vertices = Defaults::vertices;    // of a rank's own vertices, in one batch
  std::string snapshots = Defaults::snapshots;  // of the training steps, in one batch
  std::string partitioner = "load_aware";
  std::int64_t groups = 10;                     // of like load, a rank's vertices are drawn evenly from
  std::string averaging = Defaults::averaging;  // sync | async | never
  std::string interval = "10";                  // iterations, or seconds ("2s"), between two averagings
  std::string average = "parameters";           // parameters | moments
  std::string frontier = "exact";               // exact | layers
  std::string normalise = "whole";              // whole | batch
  std::string loss = "pooled";                  // pooled | per_step
  std::string generator = Defaults::generator;  // pipelined | inline
  std::int64_t generators = 0;                  // of a rank; 0: one for each size, while there are cores
  bool reservoir = Defaults::reservoir;
  double reservoir_gib = 1;
  std::string reservoir_start = "empty";      // empty | full
  std::string adjuster = Defaults::adjuster;  // none | dqn | random | bandit | best_fixed | cost
  std::string vertex_sizes = "1%/5%/10%/20%";
  std::string snapshot_sizes = "1%/5%/10%/20%";
  std::string reward = "bounded";                                                   // bounded | printed
  double exploration_decay = 0.95, least_exploration = 0.1, learning_rate = 0.005;  // of dqn
  std::int64_t evaluate_every = 10;                                                 // iterations
};
using HybridOptions = HybridOptionsOf<HybridDefaults>;

// What a search tries for `hybrid_batch`, the defaults first; the systems of the paper are what they are.
inline std::vector<std::string> searched_vertices(bool /*sizes_only*/) { return {"5%", "1%", "20%"}; }
inline std::vector<std::string> searched_snapshots(bool /*sizes_only*/) { return {"20%", "5%", "50%"}; }
inline std::vector<std::string> searched_averagings(bool /*sizes_only*/) { return {"sync", "async"}; }

/// What batches are, and how models are updated with them.
template <class S>
FieldTableBuilder<S> batch_fields() {
  return make_fields<S>()
      .text("vertices", &S::vertices, "of each rank's own vertices, those in a batch: a percentage, or a number")
      .searched(std::is_same_v<S, HybridOptions> ? searched_vertices : nullptr)
      .text("snapshots", &S::snapshots, "of the training steps, those in a batch's window: a percentage, or a number")
      .searched(std::is_same_v<S, HybridOptions> ? searched_snapshots : nullptr)
      .text("partitioner", &S::partitioner, "how vertices are assigned to ranks; see strobe list partitioners")
      .integer("groups", &S::groups, "",
               "groups of vertices of like load on a rank, from each of which a batch takes as many", 1, 1 << 20)
      .choice("averaging", &S::averaging, {"sync", "async", "never"},
              "gradients are summed before every update; or ranks update alone, and their models are averaged after "
              "`interval`, or never")
      .searched(std::is_same_v<S, HybridOptions> ? searched_averagings : nullptr)
      .text("interval", &S::interval, "iterations (10), or seconds (2s), from one averaging of models to the next")
      .choice("average", &S::average, {"parameters", "moments"},
              "what is averaged: the weights, or the optimiser's vectors too")
      .choice("frontier", &S::frontier, {"exact", "layers"},
              "cells computed for a batch: all that its targets depend on, or those within the hops of one step")
      .choice("normalise", &S::normalise, {"whole", "batch"},
              "degrees of D^-1/2 (A + I) D^-1/2: those of the whole graph, or counted inside a batch's own graph")
      .choice("loss", &S::loss, {"pooled", "per_step"},
              "mean over the batch's samples, or mean over steps of each step's mean");
}

/// A table of the parameters above for `S`, which has them as members of its own.
template <class S>
FieldTable hybrid_fields() {
  return batch_fields<S>()
      .choice("generator", &S::generator, {"pipelined", "inline"},
              "batches are made beside training, or each when it is needed")
      .integer("generators", &S::generators, "",
               "threads that make batches beside a rank's training, among which sizes are dealt; 0: one for each size, "
               "but no more than the rank has cores",
               0, 1 << 10)
      .boolean("reservoir", &S::reservoir, "batches are kept and used again (Eq. 4)")
      .real("reservoir_gib", &S::reservoir_gib, "GiB", "what the kept batches of a rank may take", 0, 1 << 20)
      .choice("reservoir_start", &S::reservoir_start, {"empty", "full"},
              "the reservoir fills while training goes on, or is filled before the first update: the long run at once")
      .choice(
          "adjuster", &S::adjuster, {"none", "dqn", "random", "bandit", "best_fixed", "cost"},
          "who chooses the sizes of batches: nobody, deep Q-learning, chance, a bandit, the best size of a trial, or a "
          "model of costs")
      .text("vertex_sizes", &S::vertex_sizes, "sizes of `vertices` that an adjuster chooses from, with / between them")
      .text("snapshot_sizes", &S::snapshot_sizes, "likewise of `snapshots`")
      .choice("reward", &S::reward, {"bounded", "printed"},
              "of an adjuster: Eq. 3 with |loss reduction before| below and within [-1, 1], or as printed")
      .real("exploration_decay", &S::exploration_decay, "",
            "of dqn: by which its probability of choosing by chance, 1 at first, is multiplied with every choice", 0, 1)
      .real("least_exploration", &S::least_exploration, "", "of dqn: what that probability falls to", 0, 1)
      .real("learning_rate", &S::learning_rate, "", "of dqn: of its steps of gradient descent", 0, 1e6)
      .integer("evaluate_every", &S::evaluate_every, "",
               "iterations between two evaluations; the last weights are always evaluated", 1, 1 << 30);
}

}  // namespace strobe
