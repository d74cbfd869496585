#include "harness/run/run_outputs.hpp"

#include <fmt/format.h>

#include <tuple>

#include "harness/request/schedule_tag.hpp"

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
  for (const auto& [flag, path, has] : {std::tuple{"--dump-embeddings", &outputs.embeddings, offered.embeddings},
                                        {"--dump-memory", &outputs.memory, offered.memory},
                                        {"--dump-ranks", &outputs.ranks, offered.ranks},
                                        {"--dump-samples", &outputs.samples, offered.samples},
                                        {"--dump-schedule", &outputs.schedule, offered.schedule},
                                        {"--dump-placement", &outputs.placement, offered.placement}}) {
    if (path->empty() || has) continue;
    throw InvalidRequest(flag, fmt::format("{} has none to write", schedule_of(plan.request).name));
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
