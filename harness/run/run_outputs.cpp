#include "harness/run/run_outputs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace strobe {

void check_outputs(const Case& c, const ModelOutputs& outputs) {
  if (c.numerics == "none" && (!outputs.weights.empty() || !outputs.embeddings.empty() || !outputs.memory.empty() ||
                               !outputs.ranks.empty() || !outputs.samples.empty() || !outputs.checkpoint.empty())) {
    throw InvalidRequest("/numerics", "numerics none draws no samples and computes no weights and embeddings to write");
  }
  if (c.repeat > 1 && !outputs.checkpoint.empty()) {
    throw InvalidRequest("/repeat",
                         "a checkpoint is of one training run, not of " + std::to_string(c.repeat) + "; set repeat=1");
  }
  if (outputs.checkpoint.empty() && (outputs.resume_training || outputs.checkpoint_every > 0)) {
    throw InvalidRequest("--checkpoint", "name the file that training is resumed from or kept in");
  }
}

void check_offered(const PlannedCase& plan, const ModelOutputs& outputs) {
  const OutputKinds offered = plan.schedule->outputs();
  struct Flag {
    const char* flag;
    const std::string& path;
    bool has;
    const char *what, *instead;
  };
  for (const Flag& asked :
       {Flag{"--dump-embeddings", outputs.embeddings, offered.embeddings, "embeddings", "a workload with values"},
        {"--dump-memory", outputs.memory, offered.memory, "memory of vertices", "a model of events with memory"},
        {"--dump-ranks", outputs.ranks, offered.ranks, "ranks", "a model of events and task future-links"},
        {"--dump-samples", outputs.samples, offered.samples, "samples", "a task that draws some"},
        {"--dump-schedule", outputs.schedule, offered.schedule, "schedule of batches", "a model of events"},
        {"--dump-placement", outputs.placement, offered.placement, "cells to place", "a model of snapshots"}}) {
    if (asked.path.empty() || asked.has) continue;
    throw InvalidRequest(asked.flag, fmt::format("model {} with task {} has no {}; leave the flag out, or take {}",
                                                 plan.request.model.value("name", ""),
                                                 plan.request.task.value("name", ""), asked.what, asked.instead));
  }
}

void write_outputs(const PlannedCase& plan, const RankOutcome& rank, const ModelOutputs& outputs,
                   Divergence& divergence) {
  if (!outputs.weights.empty()) {
    if (all_finite(rank.weights))
      save_weights(outputs.weights, plan.request, plan.schedule->parameters(), rank.weights, rank.epochs_trained);
    else
      divergence.leave_out(outputs.weights);
  }
  if (!outputs.samples.empty()) plan.schedule->write_samples(outputs.samples);
  if (!outputs.placement.empty()) plan.schedule->write_placement(outputs.placement);
  if (!outputs.schedule.empty()) plan.schedule->write_schedule(outputs.schedule);
  if (!outputs.embeddings.empty()) plan.schedule->write_embeddings(outputs.embeddings, rank.embeddings);
  if (!outputs.memory.empty()) plan.schedule->write_memory(outputs.memory, rank.memory);
  if (!outputs.ranks.empty()) plan.schedule->write_ranks(outputs.ranks, rank.ranks);
}

}  // namespace strobe
