#include "harness/run/run_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/request/output_files.hpp"

namespace strobe {

void check_outputs(const Case& c, const ModelOutputs& outputs) {
  const std::vector<AskedFile> asked = asked_files(outputs);
  const bool of_values = std::any_of(asked.begin(), asked.end(), [](const AskedFile& file) { return !file.of_plan; });
  if (c.numerics == "none" && of_values) {
    throw InvalidRequest(
        "/numerics", "numerics none draws no samples and computes no weights or embeddings to write; set numerics=cpu");
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
  for (const auto& [flag, path] :
       {std::pair{"--save-model", &outputs.weights}, std::pair{"--checkpoint", &outputs.checkpoint}}) {
    if (plan.schedule->is_outside() && !path->empty())
      throw InvalidRequest(flag, "another program trains, and it writes its own files; leave the flag out");
  }
  std::set<std::string> offered;
  for (const OutputFile& file : plan.schedule->outputs()) offered.insert(file.name);
  for (const auto& [name, path] : outputs.files) {
    if (path.empty() || offered.count(name) != 0) continue;
    const OutputFileTag::Value& file = OutputFileRegistry::instance().find(name).value;
    throw InvalidRequest(output_flag(name),
                         fmt::format("model {} with task {} has no {}; leave the flag out, or take {}",
                                     plan.request.model.value("name", ""), plan.request.task.value("name", ""),
                                     file.what, file.instead));
  }
}

void write_planned_outputs(const PlannedCase& plan, const ModelOutputs& outputs) {
  for (const OutputFile& file : plan.schedule->outputs()) {
    const auto asked = outputs.files.find(file.name);
    if (asked == outputs.files.end() || asked->second.empty()) continue;
    if (OutputFileRegistry::instance().find(file.name).value.of_plan) file.write(asked->second, {});
  }
}

std::set<std::string> files_of_training(const ModelOutputs& outputs) {
  std::set<std::string> names;
  for (const auto& [name, path] : outputs.files)
    if (!path.empty() && !OutputFileRegistry::instance().find(name).value.of_plan) names.insert(name);
  return names;
}

void write_outputs(const PlannedCase& plan, const RankOutcome& rank, const ModelOutputs& outputs,
                   Divergence& divergence) {
  if (!outputs.weights.empty()) {
    if (all_finite(rank.weights))
      save_weights(outputs.weights, plan.request, plan.schedule->summary().parameters, rank.weights,
                   rank.epochs_trained);
    else
      divergence.leave_out(outputs.weights);
  }
  const OutputContent none;
  for (const OutputFile& file : plan.schedule->outputs()) {
    const auto asked = outputs.files.find(file.name);
    if (asked == outputs.files.end() || asked->second.empty()) continue;
    const auto content = rank.outputs.find(file.name);
    // A reference: a copy would take memory that a limit of host memory does not plan.
    file.write(asked->second, content == rank.outputs.end() ? none : content->second);
  }
}

}  // namespace strobe
